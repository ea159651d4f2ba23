/* Datasets that are multiplied directly from the page cache, without a copy and its memory. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "file/read_impl.h"

enum { MOST_BANDS = 1 << 14 }; /* Linux allows a process 65530 mappings */

/* Whether rows of the file can be used as they are. */
static bool is_usable(const dm_dataset *d, dm_dtype dtype) {
  const int64_t size = dm_dtype_size(d->dtype), bytes = d->rows * d->cols * size;
  return d->offset >= 0 && !d->memory.base && !d->by_columns && !d->swapped && d->dtype == dtype &&
         !d->meaning.active && d->offset % size == 0 && d->offset + bytes <= d->file_bytes;
}

/* Whether the patches are bands of whole rows, which then cover the matrix. */
static bool has_usable_sources(const dm_dataset *d, dm_dtype dtype, int64_t least) {
  const dm_composite *c = d->composite;
  const dm_patch *patch = dm_composite_patches(c);
  if (c->missing > 0 || c->patches > MOST_BANDS || c->patches * least > d->rows) return false;
  for (int64_t i = 0; i < c->patches; i++) {
    dm_dataset source;
    dm_composite_source(c, patch[i].source, &source);
    const bool steps = patch[i].row_step != 1 || patch[i].col_step != 1;
    if (patch[i].cols != d->cols || steps || !is_usable(&source, dtype)) return false;
  }
  return true;
}

bool dm_reader_may_map(const dm_reader *reader, dm_dtype dtype, int64_t least) {
  const dm_dataset *d = &reader->dataset;
  if (reader->owner || reader->missed || d->centering || reader->as != dtype || d->dtype != dtype)
    return false;
  return reader->sources ? has_usable_sources(d, dtype, least) : is_usable(d, dtype);
}

static bool map_file(dm_reader *reader) {
  int fd;
  if (reader->mapping) return true;
  dm_status status = dm_reader_take_file(reader, &fd);
  if (status) { /* whoever reads it meets the same error */
    dm_status_free(status);
    return false;
  }
  void *base = mmap(NULL, (size_t)reader->dataset.file_bytes, PROT_READ, MAP_SHARED, fd, 0);
  dm_reader_give_file(reader);
  if (base == MAP_FAILED) return false;
  reader->mapping = base;
  return true;
}

/* Maps ROWS rows of READER's file from ROW on. */
static bool map_rows(dm_reader *reader, int64_t row, int64_t rows, dm_view *view) {
  const dm_dataset *d = &reader->dataset;
  const int64_t page = sysconf(_SC_PAGESIZE), bytes = d->cols * dm_dtype_size(d->dtype);
  const int64_t first = d->offset + row * bytes, start = first / page * page;
  if (!map_file(reader)) return false;
  char *base = reader->mapping;
  *view = dm_view_strided(base + first, d->dtype, DM_HOST, rows, d->cols, d->cols);
  /* Otherwise products wait for pages. */
  (void)dm_populate(base + start, dm_round_up(first + rows * bytes - start, page), false);
  return true;
}

/* Files and bands of a composite, which several threads map. */
typedef struct mapping {
  dm_reader *reader;
  bool (*map)(dm_reader *reader, int64_t i);
  int64_t count;
  atomic_int_fast64_t next;
  atomic_bool failed;
} mapping;

/* Only one thread asks for this source, and nothing but its file is opened. */
static bool map_source(dm_reader *reader, int64_t number) {
  dm_reader *source;
  dm_status status = dm_sources_reader(reader, number, &source);
  const bool good = !status && map_file(source);
  dm_status_free(status);
  return good;
}

static bool map_patch(dm_reader *reader, int64_t i) {
  const dm_patch *patch = dm_composite_patches(reader->dataset.composite) + i;
  dm_band *band = &reader->bands[i];
  dm_reader *source;
  dm_status status = dm_sources_reader(reader, patch->source, &source); /* it is there */
  dm_status_free(status);
  band->row = patch->row;
  if (status || !map_rows(source, patch->source_row, patch->rows, &band->view)) return false;
  band->view = dm_view_sub(band->view, 0, patch->source_col, patch->rows, patch->cols);
  return true;
}

static void take_part(void *context) {
  mapping *m = context;
  for (;;) {
    const int64_t i = atomic_fetch_add(&m->next, 1);
    if (i >= m->count || atomic_load(&m->failed)) return;
    if (!m->map(m->reader, i)) atomic_store(&m->failed, true);
  }
}

static bool map_each(dm_reader *reader, int64_t count, bool (*map)(dm_reader *, int64_t)) {
  mapping m = {.reader = reader, .map = map, .count = count};
  (void)dm_fork_join((int)dm_min(count, dm_cores()), take_part, &m);
  return !atomic_load(&m.failed);
}

static bool map_all(dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  if (!reader->sources) return map_rows(reader, 0, d->rows, &reader->bands[0].view);
  return map_each(reader, d->composite->sources, map_source) &&
         map_each(reader, d->composite->patches, map_patch);
}

void dm_reader_map(dm_reader *reader, const dm_band **bands, int64_t *count) {
  const int64_t wanted = reader->sources ? reader->dataset.composite->patches : 1;
  *count = 0;
  dm_status status = reader->bands ? DM_OK : dm_buffer_table(wanted, &reader->bands);
  const bool mapped = !status && map_all(reader);
  dm_status_free(status); /* it is read instead */
  if (!mapped) return;
  *bands = reader->bands;
  *count = wanted;
}

void dm_reader_note(dm_reader *reader, int64_t bytes) {
  reader->bytes += bytes;
}
