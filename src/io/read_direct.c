#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "dataset/file_system.h"
#include "io/batch.h"
#include "io/read_impl.h"
#include "io/zarr_chunks.h"

dm_status dm_reader_open_file(const dm_dataset *dataset, int *fd) {
  dm_members members;
  const bool split = dataset->members && dm_members_find(dataset->at.file, &members);
  *fd = open(split ? members.pattern : dataset->at.file,
             O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (*fd < 0) return dm_fail_at(DM_E_IO, &dataset->at, "cannot be opened: %s", strerror(errno));
  dm_status status = dm_reader_same_file(dataset, *fd);
  if (!status) return DM_OK;
  close(*fd);
  *fd = -1;
  return status;
}

static dm_status read_open_family(dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  dm_members members;
  if (!dm_members_find(d->at.file, &members) || members.kind != d->members)
    return dm_reader_changed(d);
  DM_TRY(dm_members_open(&d->at, &members, &reader->members));
  return dm_reader_same_file(d, -1);
}

dm_status dm_reader_open_direct(dm_reader *reader) {
  reader->raw = true;
  if (reader->dataset.members == DM_MEMBERS_FAMILY) return read_open_family(reader);
  return reader->owner || reader->dataset.memory.base
             ? DM_OK
             : dm_reader_open_file(&reader->dataset, &reader->fd);
}

dm_status dm_reader_take_file(const dm_reader *reader, int *fd) {
  *fd = reader->members ? dm_members_data(reader->members) : reader->fd;
  if (reader->members) return DM_OK;
  return reader->fd >= 0 ? DM_OK : dm_sources_take(reader->owner, reader, fd);
}

void dm_reader_give_file(const dm_reader *reader) {
  if (reader->fd < 0 && !reader->members) dm_sources_give(reader->owner, reader->number);
}

static int64_t read_offset_of(const dm_dataset *d, int64_t row, int64_t col) {
  return d->offset + (row * d->cols + col) * dm_dtype_size(d->dtype);
}

/* Whether all rows of PIECE are one run of the file and of the only view that has them. */
static bool reads_one_run(const dm_dataset *d, const dm_read_request *request,
                          const dm_rectangle *piece) {
  if (request->count != 1 || piece->cols != d->cols || request->rows.step != 1) return false;
  const dm_view view = dm_request_view(request, 0);
  return view.cols == d->cols && dm_view_is_packed(view);
}

/* Adds BYTES of MEMORY for OFFSET, which may be in several files of a family. */
static dm_status read_add(dm_batch *batch, const dm_reader *reader, char *memory, int64_t bytes,
                          int64_t offset) {
  if (!reader->members) return dm_batch_add(batch, memory, bytes, offset);
  for (int64_t done = 0, room; done < bytes; done += room) {
    int fd;
    int64_t place;
    if (!dm_members_place(reader->members, (uint64_t)(offset + done), &fd, &place, &room))
      return dm_fail_at(DM_E_IO, &reader->dataset.at, "its files end at byte %lld",
                        (long long)(offset + done));
    room = dm_min(room, bytes - done);
    if (fd != batch->fd) DM_TRY(dm_batch_flush(batch));
    batch->fd = fd;
    DM_TRY(dm_batch_add(batch, memory + done, room, place));
  }
  return DM_OK;
}

dm_status dm_reader_load(const dm_reader *reader, void *memory, int64_t bytes, int64_t offset) {
  dm_batch batch;
  int fd;
  DM_TRY(dm_reader_take_file(reader, &fd));
  dm_batch_start(&batch, fd, false, reader->dataset.at.file, NULL);
  dm_status status = read_add(&batch, reader, memory, bytes, offset);
  if (!status) status = dm_batch_flush(&batch);
  dm_reader_give_file(reader);
  dm_reader_count_calls(reader, batch.calls);
  return status;
}

/* Adds LINES's part in each view: a row, or all rows of one run; columns that are apart one by
 * one. */
static dm_status read_add_lines(dm_batch *batch, const dm_reader *reader,
                                const dm_read_request *request, const dm_rectangle *lines) {
  const dm_dataset *d = &reader->dataset;
  int64_t before = 0, at, col;
  dm_view part;
  for (int64_t i = 0; i < request->count; i++)
    if (dm_request_common(request, i, lines, &before, &part, &at, &col)) {
      const int64_t width = request->cols.step == 1 ? part.cols : 1;
      for (int64_t j = 0; j < part.cols; j += width)
        DM_TRY(read_add(
            batch, reader, dm_view_at(part, 0, j), part.rows * width * dm_dtype_size(d->dtype),
            read_offset_of(d, dm_line_at(request->rows, at), dm_line_at(request->cols, col + j))));
    }
  return DM_OK;
}

static dm_status scatter(const dm_reader *reader, const dm_read_request *request,
                         dm_rectangle piece, int fd, const dm_keepalive *keepalive) {
  const dm_dataset *d = &reader->dataset;
  dm_batch batch;
  dm_batch_start(&batch, fd, false, d->at.file, keepalive);
  const int64_t height = reads_one_run(d, request, &piece) ? piece.rows : 1;
  for (int64_t row = piece.row; row < piece.row + piece.rows; row += height) {
    const dm_rectangle lines = {row, piece.col, height, piece.cols};
    DM_TRY(read_add_lines(&batch, reader, request, &lines));
  }
  DM_TRY(dm_batch_flush(&batch));
  dm_reader_count_calls(reader, batch.calls);
  return DM_OK;
}

dm_status dm_reader_scatter(const dm_reader *reader, const dm_read_request *request,
                            dm_rectangle piece, const dm_keepalive *keepalive) {
  int fd;
  DM_TRY(dm_reader_take_file(reader, &fd));
  dm_status status = scatter(reader, request, piece, fd, keepalive);
  dm_reader_give_file(reader);
  return status;
}

dm_status dm_reader_fetch_run(const dm_reader *reader, int64_t row, int64_t col, int64_t count,
                              void *memory) {
  const dm_dataset *d = &reader->dataset;
  return dm_reader_load(reader, memory, count * dm_dtype_size(d->dtype),
                        read_offset_of(d, row, col));
}

/* ---- datasets that are multiplied directly from the page cache, without a copy and its memory
 * ---- */

enum {
  MOST_BANDS = 1 << 14, /* Linux allows a process 65530 mappings */
  POPULATED = 64 << 20  /* bytes of a thread's turn */
};

/* Whether rows of the file can be used as they are. */
static bool is_usable(const dm_dataset *d, dm_dtype dtype) {
  const int64_t size = dm_dtype_size(d->dtype), bytes = d->rows * d->cols * size;
  return d->offset >= 0 && !d->memory.base && d->members != DM_MEMBERS_FAMILY && !d->by_columns &&
         !d->genotypes && !d->compound.apart && !d->swapped && d->dtype == dtype &&
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
    const bool steps = patch[i].row_step != 1 || patch[i].col_step != 1 || patch[i].folded;
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

/* The dataset in file I of READER. */
static void read_dataset_of(const dm_reader *reader, int64_t i, dm_dataset *dataset) {
  if (reader->sources)
    dm_composite_source(reader->dataset.composite, i, dataset);
  else
    *dataset = reader->dataset;
}

/* No reader of a source is needed for this. */
static dm_status read_map_file(void *context, int64_t i) {
  const dm_reader *reader = context;
  dm_dataset d;
  int fd;
  if (reader->map[i].base) return DM_OK;
  read_dataset_of(reader, i, &d);
  DM_TRY(dm_reader_open_file(&d, &fd));
  void *base = mmap(NULL, (size_t)d.file_bytes, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (base == MAP_FAILED) return dm_fail_at(DM_E_IO, &d.at, "cannot be mapped");
  reader->map[i] = (dm_map){base, d.file_bytes};
  return DM_OK;
}

/* Of a mapped file. */
typedef struct read_pages {
  char *base;
  int64_t bytes;
} read_pages;

static dm_status populate(void *context, int64_t i) {
  const read_pages *of = context;
  const int64_t at = i * POPULATED;
  (void)dm_populate(of->base + at, dm_min(POPULATED, of->bytes - at), false);
  return DM_OK;
}

static dm_status map_band(void *context, int64_t i) {
  const dm_reader *reader = context;
  const int64_t page = sysconf(_SC_PAGESIZE), cols = reader->dataset.cols;
  dm_patch patch = {.rows = reader->dataset.rows, .cols = cols};
  if (reader->sources) patch = dm_composite_patches(reader->dataset.composite)[i];
  dm_dataset d;
  read_dataset_of(reader, patch.source, &d);
  const int64_t bytes = d.cols * dm_dtype_size(d.dtype);
  const int64_t first = d.offset + patch.source_row * bytes, start = first / page * page;
  char *base = reader->map[patch.source].base;
  const dm_view rows = dm_view_row_major(base + first, d.dtype, patch.rows, d.cols);
  reader->bands[i] =
      (dm_read_band){patch.row, dm_view_sub(rows, 0, patch.source_col, patch.rows, cols)};
  /* Otherwise products wait for pages. */
  read_pages of = {base + start, dm_round_up(first + patch.rows * bytes - start, page)};
  return dm_fork_each(dm_ceil_div(of.bytes, POPULATED), reader->sources ? 1 : 0, populate, &of);
}

void dm_reader_unmap(dm_reader *reader) {
  for (int64_t i = 0; i < reader->maps; i++)
    if (reader->map[i].base) (void)munmap(reader->map[i].base, (size_t)reader->map[i].bytes);
  free(reader->map);
  free(reader->bands);
}

void dm_reader_map(dm_reader *reader, const dm_read_band **bands, int64_t *count) {
  const dm_composite *c = reader->sources ? reader->dataset.composite : NULL;
  const int64_t files = c ? c->sources : 1, wanted = c ? c->patches : 1;
  dm_status status = reader->map ? DM_OK : dm_buffer_table(files, &reader->map);
  if (!status) reader->maps = files;
  if (!status && !reader->bands) status = dm_buffer_table(wanted, &reader->bands);
  if (!status) status = dm_fork_each(files, 0, read_map_file, reader);
  if (!status) status = dm_fork_each(wanted, 0, map_band, reader);
  *bands = reader->bands;
  *count = status ? 0 : wanted;
  dm_status_free(status); /* it is read instead, and whoever reads it meets the same error */
}

void dm_reader_note(dm_reader *reader, int64_t bytes) {
  reader->bytes += bytes;
}
