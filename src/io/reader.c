#include "io/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"

/* Bytes that are staged at a time: what stays in a cache, and whole chunks where HDF5 reads. */
enum { DIRECT_PIECE = 1 << 21, HDF5_PIECE = 1 << 26 };

dm_status dm_reader_open(const dm_dataset *dataset, dm_dtype as, dm_reader **reader) {
  void *memory;
  if (access(dataset->at.file, F_OK) < 0 && errno == ENOENT)
    return dm_hint(
        dm_fail_at(DM_E_INPUT, &dataset->at, "is not there, but was when it was inspected"),
        "is it on a file system that all nodes see?");
  DM_TRY(dm_buffer_zeroed(1, sizeof(dm_reader), &memory));
  dm_reader *r = memory;
  r->dataset = *dataset;
  r->as = as == DM_DTYPE_NONE ? dataset->dtype : as;
  r->fd = -1;
  r->file = r->set = r->type = r->access = -1;
  dm_status status = dataset->offset >= 0 ? dm_reader_open_direct(r) : dm_reader_open_hdf5(r);
  if (status) {
    dm_reader_close(r);
    return status;
  }
  *reader = r;
  return DM_OK;
}

void dm_reader_close(dm_reader *reader) {
  if (!reader) return;
  if (reader->fd >= 0) close(reader->fd);
  dm_reader_close_hdf5(reader);
  free(reader->staging);
  free(reader->rounded);
  free(reader);
}

int64_t dm_reader_bytes(const dm_reader *reader) {
  return reader->bytes;
}

void dm_reader_pulse(dm_reader *reader, const dm_pulse *pulse) {
  reader->pulse = pulse;
}

static dm_status check(const dm_reader *reader, dm_rectangle part, const dm_view *views,
                       int64_t count) {
  const dm_dataset *d = &reader->dataset;
  bool fits = part.row >= 0 && part.col >= 0 && part.rows <= d->rows - part.row &&
              part.cols <= d->cols - part.col;
  for (int64_t i = 0; i < count && fits; i++)
    fits = views[i].space == DM_HOST && views[i].rows == part.rows;
  return fits ? DM_OK
              : dm_fail_at(DM_E_BUG, &d->at,
                           "%lld views of %lld x %lld elements at (%lld, %lld) do not fit",
                           (long long)count, (long long)part.rows, (long long)part.cols,
                           (long long)part.row, (long long)part.col);
}

static bool needs_no_work(const dm_reader *reader, const dm_view *views, int64_t count,
                          bool conjugate) {
  dm_dtype dtype = reader->dataset.dtype;
  if (reader->fd < 0 || reader->dataset.swapped || reader->as != dtype ||
      (conjugate && dm_dtype_is_complex(dtype)))
    return false;
  for (int64_t i = 0; i < count; i++)
    if (views[i].dtype != dtype || (views[i].col_stride != 1 && views[i].cols != 1)) return false;
  return true;
}

/* Rows and columns of a piece that is read at a time: whole chunks as long as they fit. */
static dm_rectangle piece_of(const dm_reader *reader, dm_rectangle part) {
  const dm_dataset *d = &reader->dataset;
  bool chunked = reader->fd < 0 && d->layout == DM_CHUNKED;
  int64_t room = (reader->fd < 0 ? HDF5_PIECE : DIRECT_PIECE) / dm_dtype_size(d->dtype);
  int64_t tall = chunked ? dm_min(d->chunk_rows, d->rows) : 1;
  int64_t wide = chunked ? dm_min(d->chunk_cols, d->cols) : 1;
  dm_rectangle piece = {.cols = dm_min(dm_max(1, room / tall / wide) * wide, room)};
  piece.rows = room / dm_min(piece.cols, part.cols);
  if (piece.rows > tall) piece.rows -= piece.rows % tall;
  return piece;
}

static dm_status grow(void **memory, int64_t *has, int64_t bytes) {
  if (*has >= bytes) return DM_OK;
  free(*memory);
  *memory = NULL;
  *has = 0;
  DM_TRY(dm_buffer_alloc(bytes, memory));
  *has = bytes;
  return DM_OK;
}

/* PART of the dataset in this machine's byte order and rounded to AS, in the reader's memory. */
static dm_status stage(dm_reader *reader, dm_rectangle part, dm_view *staged) {
  dm_dtype dtype = reader->dataset.dtype;
  int64_t count = part.rows * part.cols;
  DM_TRY(grow(&reader->staging, &reader->staging_bytes, count * dm_dtype_size(dtype)));
  DM_TRY(reader->fd >= 0 ? dm_reader_fetch_direct(reader, part, reader->staging)
                         : dm_reader_fetch_hdf5(reader, part, reader->staging));
  if (reader->dataset.swapped) dm_swap_bytes(reader->staging, dtype, count);
  *staged = dm_view_row_major(reader->staging, dtype, part.rows, part.cols);
  if (reader->as == dtype) return DM_OK;
  DM_TRY(grow(&reader->rounded, &reader->rounded_bytes, count * dm_dtype_size(reader->as)));
  dm_view rounded = dm_view_row_major(reader->rounded, reader->as, part.rows, part.cols);
  dm_copy(rounded, *staged, false);
  *staged = rounded;
  return DM_OK;
}

/* Spreads STAGED, which begins at (row, col) of the views' common rectangle, over the views. */
static void spread(dm_view staged, int64_t row, int64_t col, const dm_view *views, int64_t count,
                   bool conjugate) {
  int64_t left = 0; /* first column of the view */
  for (int64_t i = 0; i < count; left += views[i++].cols) {
    int64_t begin = dm_max(left, col), end = dm_min(left + views[i].cols, col + staged.cols);
    if (begin >= end) continue;
    dm_copy(dm_view_sub(views[i], row, begin - left, staged.rows, end - begin),
            dm_view_sub(staged, 0, begin - col, staged.rows, end - begin), conjugate);
  }
}

static dm_status read_in_pieces(dm_reader *reader, dm_rectangle part, const dm_view *views,
                                int64_t count, bool conjugate) {
  dm_rectangle size = piece_of(reader, part), piece;
  /* Pieces end where a piece of the whole dataset would: at the borders of chunks. */
  for (int64_t row = 0; row < part.rows; row += piece.rows) {
    piece.row = part.row + row;
    piece.rows = dm_min(size.rows - piece.row % size.rows, part.rows - row);
    for (int64_t col = 0; col < part.cols; col += piece.cols) {
      piece.col = part.col + col;
      piece.cols = dm_min(size.cols - piece.col % size.cols, part.cols - col);
      dm_view staged;
      DM_TRY(stage(reader, piece, &staged));
      spread(staged, row, col, views, count, conjugate);
      DM_TRY(dm_pulse_beat(reader->pulse));
    }
  }
  return DM_OK;
}

dm_status dm_reader_read(dm_reader *reader, int64_t row, int64_t col, const dm_view *views,
                         int64_t count, bool conjugate) {
  dm_rectangle part = {.row = row, .col = col, .rows = count > 0 ? views[0].rows : 0};
  for (int64_t i = 0; i < count; i++) part.cols += views[i].cols;
  DM_TRY(check(reader, part, views, count));
  if (part.rows == 0 || part.cols == 0) return DM_OK;
  DM_TRY(needs_no_work(reader, views, count, conjugate)
             ? dm_reader_scatter(reader, part, views, count)
             : read_in_pieces(reader, part, views, count, conjugate));
  reader->bytes += part.rows * part.cols * dm_dtype_size(reader->dataset.dtype);
  return DM_OK;
}
