/* Datasets that are multiplied directly from the page cache, without a copy and its memory. */
#include <sys/mman.h>

#include "core/populate.h"
#include "file/reader.h"

bool dm_reader_may_map(const dm_reader *reader, dm_dtype dtype) {
  const dm_dataset *d = &reader->dataset;
  const int64_t size = dm_dtype_size(d->dtype), bytes = d->rows * d->cols * size;
  return d->offset >= 0 && !reader->owner && !d->by_columns && !d->swapped && !reader->missed &&
         d->dtype == dtype && reader->as == dtype && d->offset % size == 0 &&
         d->offset + bytes <= d->file_bytes;
}

void dm_reader_map(dm_reader *reader, dm_view *whole) {
  const dm_dataset *d = &reader->dataset;
  *whole = (dm_view){0};
  void *base = mmap(NULL, (size_t)d->file_bytes, PROT_READ, MAP_SHARED, reader->fd, 0);
  if (base == MAP_FAILED) return;
  reader->mapping = base;
  (void)dm_populate(base, d->file_bytes, false); /* otherwise products wait for pages */
  *whole = dm_view_strided((char *)base + d->offset, d->dtype, DM_HOST, d->rows, d->cols, d->cols);
}

void dm_reader_note(dm_reader *reader, int64_t bytes) {
  reader->bytes += bytes;
}
