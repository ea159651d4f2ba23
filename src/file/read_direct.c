#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "file/batch.h"
#include "file/read_impl.h"

static int64_t modified_of(const struct stat *info) {
  return (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

void dm_io_identify(const struct stat *info, dm_dataset *dataset) {
  dataset->device = (uint64_t)info->st_dev;
  dataset->inode = (uint64_t)info->st_ino;
  dataset->file_bytes = (int64_t)info->st_size;
  dataset->modified_ns = modified_of(info);
}

dm_status dm_io_identity(dm_dataset *dataset) {
  struct stat info;
  if (stat(dataset->at.file, &info) < 0)
    return dm_fail(DM_E_IO, "%s: %s", dataset->at.file, strerror(errno));
  dm_io_identify(&info, dataset);
  return DM_OK;
}

static dm_status compare(const dm_dataset *dataset, const struct stat *info) {
  /* Not the device: every node of a cluster numbers its mounts itself. */
  const bool same = S_ISREG(info->st_mode) && (uint64_t)info->st_ino == dataset->inode;
  if (same && dataset->swmr && (int64_t)info->st_size >= dataset->file_bytes) return DM_OK;
  if (same && (int64_t)info->st_size == dataset->file_bytes &&
      modified_of(info) == dataset->modified_ns)
    return DM_OK;
  return dm_hint(dm_fail_at(DM_E_IO, &dataset->at, "changed since it was inspected"),
                 "is another program writing it, or do the nodes see different file systems?");
}

dm_status dm_reader_same_file(const dm_dataset *dataset, int fd) {
  struct stat info;
  if (fstat(fd, &info) < 0) return dm_fail_at(DM_E_IO, &dataset->at, "fstat: %s", strerror(errno));
  return compare(dataset, &info);
}

static dm_status unchanged(const dm_dataset *dataset) {
  struct stat info;
  if (dm_dataset_is_empty(dataset) || dataset->stack || dataset->memory.base)
    return DM_OK; /* nothing of a file was used */
  if (stat(dataset->at.file, &info) < 0)
    return dm_fail_at(DM_E_IO, &dataset->at, "cannot be found any more: %s", strerror(errno));
  return compare(dataset, &info);
}

dm_status dm_io_unchanged(const dm_dataset *dataset) {
  const dm_composite *composite = dataset->composite;
  DM_TRY(unchanged(dataset));
  dm_dataset source;
  for (int64_t i = 0; composite && i < composite->sources; i++) {
    dm_composite_source(composite, i, &source);
    DM_TRY(unchanged(&source));
  }
  return DM_OK;
}

dm_status dm_reader_open_file(const dm_dataset *dataset, int *fd) {
  *fd = open(dataset->at.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (*fd < 0) return dm_fail_at(DM_E_IO, &dataset->at, "cannot be opened: %s", strerror(errno));
  dm_status status = dm_reader_same_file(dataset, *fd);
  if (!status) return DM_OK;
  close(*fd);
  *fd = -1;
  return status;
}

dm_status dm_reader_open_direct(dm_reader *reader) {
  reader->raw = true;
  return reader->owner || reader->dataset.memory.base
             ? DM_OK
             : dm_reader_open_file(&reader->dataset, &reader->fd);
}

dm_status dm_reader_take_file(const dm_reader *reader, int *fd) {
  *fd = reader->fd;
  return reader->fd >= 0 ? DM_OK : dm_sources_take(reader->owner, reader, fd);
}

void dm_reader_give_file(const dm_reader *reader) {
  if (reader->fd < 0) dm_sources_give(reader->owner, reader->number);
}

static int64_t offset_of(const dm_dataset *d, int64_t row, int64_t col) {
  return d->offset + (row * d->cols + col) * dm_dtype_size(d->dtype);
}

/* Adds row ROW's part of PIECE in each view; columns that are apart one by one. */
static dm_status add_row(dm_batch *batch, const dm_dataset *d, const dm_request *request,
                         const dm_rectangle *piece, int64_t row) {
  const dm_rectangle line = {row, piece->col, 1, piece->cols};
  int64_t before = 0, at, col;
  dm_view part;
  for (int64_t i = 0; i < request->count; i++)
    if (dm_request_common(request, i, &line, &before, &part, &at, &col)) {
      const int64_t width = request->cols.step == 1 ? part.cols : 1;
      for (int64_t j = 0; j < part.cols; j += width)
        DM_TRY(dm_batch_add(
            batch, dm_view_at(part, 0, j), width * dm_dtype_size(d->dtype),
            offset_of(d, dm_line_at(request->rows, at), dm_line_at(request->cols, col + j))));
    }
  return DM_OK;
}

static dm_status scatter(const dm_reader *reader, const dm_request *request, dm_rectangle piece,
                         int fd, const dm_keepalive *keepalive) {
  const dm_dataset *d = &reader->dataset;
  dm_batch batch;
  dm_batch_start(&batch, fd, false, d->at.file, keepalive);
  for (int64_t row = piece.row; row < piece.row + piece.rows; row++)
    DM_TRY(add_row(&batch, d, request, &piece, row));
  return dm_batch_flush(&batch);
}

dm_status dm_reader_scatter(const dm_reader *reader, const dm_request *request, dm_rectangle piece,
                            const dm_keepalive *keepalive) {
  int fd;
  DM_TRY(dm_reader_take_file(reader, &fd));
  dm_status status = scatter(reader, request, piece, fd, keepalive);
  dm_reader_give_file(reader);
  return status;
}

/* ---- datasets that are multiplied directly from the page cache, without a copy and its memory
 * ---- */

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
