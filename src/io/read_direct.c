#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/batch.h"
#include "io/reader.h"

dm_status dm_reader_same_file(const dm_dataset *dataset, int fd) {
  struct stat info;
  if (fstat(fd, &info) < 0) return dm_fail_at(DM_E_IO, &dataset->at, "fstat: %s", strerror(errno));
  /* Not the device: every node of a cluster numbers its mounts for itself. */
  int64_t modified = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
  if (S_ISREG(info.st_mode) && (uint64_t)info.st_ino == dataset->inode &&
      (int64_t)info.st_size == dataset->file_bytes && modified == dataset->modified_ns)
    return DM_OK;
  return dm_hint(dm_fail_at(DM_E_IO, &dataset->at, "changed since it was inspected"),
                 "is another program writing it, or do the nodes see different files?");
}

dm_status dm_reader_open_direct(dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  reader->fd = open(d->at.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (reader->fd < 0) return dm_fail_at(DM_E_IO, &d->at, "cannot be opened: %s", strerror(errno));
  return dm_reader_same_file(d, reader->fd);
}

static int64_t offset_of(const dm_dataset *d, int64_t row, int64_t col) {
  return d->offset + (row * d->cols + col) * dm_dtype_size(d->dtype);
}

dm_status dm_reader_fetch_direct(dm_reader *reader, dm_rectangle part, void *memory) {
  dm_view whole = dm_view_row_major(memory, reader->dataset.dtype, part.rows, part.cols);
  return dm_reader_scatter(reader, part, &whole, 1);
}

dm_status dm_reader_scatter(dm_reader *reader, dm_rectangle part, const dm_view *views,
                            int64_t count) {
  const dm_dataset *d = &reader->dataset;
  dm_batch batch;
  dm_batch_start(&batch, reader->fd, false, d->at.file, reader->pulse);
  for (int64_t row = 0; row < part.rows; row++) {
    int64_t offset = offset_of(d, part.row + row, part.col);
    for (int64_t i = 0; i < count; i++) {
      int64_t bytes = views[i].cols * dm_dtype_size(d->dtype);
      DM_TRY(dm_batch_add(&batch, dm_view_at(views[i], row, 0), bytes, offset));
      offset += bytes;
    }
  }
  return dm_batch_flush(&batch);
}
