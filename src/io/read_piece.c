/* Pieces of a request, which are read one at a time: how large they are, and what of the file is
 * read for them. Calls cost time, so that what lies between wanted elements is read, too, where
 * these are close to each other. */
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "io/batch.h"
#include "io/read_impl.h"

/* Bytes read at once: directly into place; staged, in memory that fits in a cache; whole chunks if
 * HDF5 reads. Rows that are shorter than so many bytes are copied rather than listed. */
enum {
  PLAIN_PIECE = 1 << 22,
  STAGED_PIECE = 1 << 21,
  HDF5_PIECE = DM_READ_MEMORY,
  SHORT_ROW = 64,
  READ_PICKED_ROWS = 128
};

static bool read_is_direct(const dm_reader *reader) {
  return reader->dataset.offset >= 0;
}

/* Whether columns are so close that what is between them is read, too. */
static bool takes_between(const dm_reader *reader, const dm_read_request *request) {
  const int64_t step = request->cols.step;
  if (reader->dataset.genotypes || dm_reader_has_compounds(reader))
    return false; /* they are unpacked one by one */
  return step > 1 && step <= DM_READ_BETWEEN / dm_dtype_size(reader->dataset.dtype);
}

/* Elements from one column to the next in the memory that a piece is read to. */
static int64_t read_step_of(const dm_reader *reader, const dm_read_request *request) {
  return takes_between(reader, request) ? request->cols.step : 1;
}

/* Whether short rows of the file are to go to distant places: each would be a part of its own of a
 * call. */
static bool scatters_short(const dm_reader *reader, const dm_read_request *request) {
  const dm_dataset *d = &reader->dataset;
  const dm_view view = dm_request_view(request, 0);
  return request->count == 1 && !request->picks && !dm_view_is_packed(view) &&
         d->cols * dm_dtype_size(d->dtype) <= SHORT_ROW;
}

/* The same of rows: all elements of a run are read with one call. */
static bool takes_run(const dm_reader *reader, const dm_read_request *request) {
  const dm_dataset *d = &reader->dataset;
  const int64_t size = dm_dtype_size(d->dtype), wide = DM_READ_BETWEEN / size / request->rows.step;
  const bool apart = request->part.cols < d->cols || request->rows.step > 1 /* the rows */ ||
                     scatters_short(reader, request);
  return read_is_direct(reader) && !reader->reals && !d->genotypes && !d->compound.apart &&
         !d->memory.base && !reader->empty && request->part.rows > 1 && apart && d->cols <= wide &&
         (request->cols.step == 1 || takes_between(reader, request));
}

static bool needs_no_work(const dm_reader *reader, const dm_read_request *request) {
  dm_dtype dtype = reader->dataset.dtype;
  const bool steps = request->rows.step > 1 || request->cols.step > 1;
  if (request->cols.step > 1 || (steps && reader->missed)) return false;
  if (!read_is_direct(reader) || reader->empty || reader->dataset.genotypes ||
      reader->dataset.compound.apart || reader->dataset.swapped || reader->as != dtype ||
      reader->dataset.centering || !dm_meaning_only_scans(&reader->dataset.meaning) ||
      reader->through != DM_DTYPE_NONE || (request->conjugate && dm_dtype_is_complex(dtype)) ||
      request->picks || takes_run(reader, request))
    return false;
  for (int64_t i = 0; i < request->count; i++) {
    const dm_view view = dm_request_view(request, i);
    if (view.dtype != dtype || (view.col_stride != 1 && view.cols != 1)) return false;
  }
  return true;
}

/* Elements from row to row of what is read for the COLS columns of a piece. */
static int64_t row_read(const dm_reader *reader, const dm_read_request *request, int64_t cols) {
  return takes_run(reader, request) ? request->rows.step * reader->dataset.cols
                                    : (cols - 1) * read_step_of(reader, request) + 1;
}

/* Rows and columns of a piece: whole chunks if they fit. */
static dm_rectangle size_of_piece(const dm_reader *reader, const dm_read_request *request) {
  const dm_dataset *d = &reader->dataset;
  bool chunked = !read_is_direct(reader) && d->layout == DM_CHUNKED;
  int64_t bytes = !read_is_direct(reader)          ? HDF5_PIECE
                  : needs_no_work(reader, request) ? PLAIN_PIECE
                                                   : STAGED_PIECE;
  int64_t room = bytes / dm_dtype_size(d->dtype);
  int64_t wanted = dm_max(1, room / read_step_of(reader, request));
  int64_t tall = chunked ? dm_min(d->chunk_rows, d->rows) : 1;
  int64_t wide = chunked ? dm_min(d->chunk_cols, d->cols) : 1;
  dm_rectangle piece = {.cols = dm_min(dm_max(1, wanted / tall / wide) * wide, wanted)};
  piece.rows = dm_max(1, room / row_read(reader, request, dm_min(piece.cols, request->part.cols)));
  if (piece.rows > tall) piece.rows -= piece.rows % tall;
  return piece;
}

/* Pieces end where pieces of the whole dataset would: at the borders of chunks. */
bool dm_reader_next_piece(const dm_reader *reader, const dm_read_request *request,
                          dm_rectangle *piece) {
  const dm_rectangle *part = &request->part;
  if (part->rows == 0 || part->cols == 0) return false;
  dm_rectangle size = size_of_piece(reader, request);
  if (piece->rows == 0) {
    piece->row = part->row;
    piece->col = part->col;
  } else {
    piece->col += piece->cols;
    if (piece->col == part->col + part->cols) {
      piece->col = part->col;
      piece->row += piece->rows;
    }
  }
  if (piece->row == part->row + part->rows) return false;
  piece->rows = dm_min(size.rows - piece->row % size.rows, part->row + part->rows - piece->row);
  piece->cols = dm_min(size.cols - piece->col % size.cols, part->col + part->cols - piece->col);
  return true;
}

/* Elements read for PIECE, from its first to its last one. */
static int64_t elements_read(const dm_reader *reader, const dm_read_request *request,
                             const dm_rectangle *piece) {
  const int64_t row = row_read(reader, request, piece->cols);
  const int64_t last = (piece->cols - 1) * read_step_of(reader, request) + 1;
  return takes_run(reader, request) ? (piece->rows - 1) * row + last : piece->rows * row;
}

int64_t dm_reader_piece_bytes(const dm_reader *reader, const dm_read_request *request,
                              const dm_rectangle *piece) {
  return elements_read(reader, request, piece) * dm_dtype_size(reader->dataset.dtype);
}

/* Looks for missing values where PIECE was read to. */
static void scan_missing(const dm_reader *reader, const dm_read_request *request,
                         dm_rectangle piece) {
  int64_t before = 0, row, col;
  dm_view view;
  for (int64_t i = 0; i < request->count && reader->missed; i++)
    if (dm_request_common(request, i, &piece, &before, &view, &row, &col))
      dm_meaning_scan(&reader->dataset.meaning, view, row, col, reader->dataset.cols,
                      reader->missed);
}

/* Reads what PIECE needs unconverted into the first memory of SCRATCH. */
static dm_status read_fetch(const dm_reader *reader, const dm_read_request *request,
                            dm_rectangle piece, dm_scratch *scratch,
                            const dm_keepalive *keepalive) {
  void *memory = scratch->memory[0];
  dm_crossings of = dm_request_crossings(request, &piece);
  if (reader->empty) {
    memset(memory, 0, (size_t)dm_reader_piece_bytes(reader, request, &piece));
    return DM_OK;
  }
  if (takes_run(reader, request))
    return dm_reader_fetch_run(reader, of.down.first, of.right.first,
                               elements_read(reader, request, &piece), memory);
  of.cols = row_read(reader, request, piece.cols);
  if (takes_between(reader, request)) of.right.step = 1;
  if (reader->reals) return dm_reader_fetch_parts(reader, of, memory);
  if (reader->dataset.genotypes) return dm_reader_fetch_genotypes(reader, of, scratch, memory);
  if (dm_reader_has_compounds(reader))
    return dm_reader_fetch_compounds(reader, of, scratch, memory);
  if (!read_is_direct(reader)) return dm_reader_fetch_hdf5(reader, of, memory);
  dm_view whole = dm_view_row_major(memory, reader->dataset.dtype, of.rows, of.cols);
  const dm_read_request alone = {.part = {0, 0, of.rows, of.cols},
                                 .rows = of.down,
                                 .cols = of.right,
                                 .views = &whole,
                                 .count = 1};
  return dm_reader_scatter(reader, &alone, alone.part, keepalive);
}

/* PIECE of a dataset in memory. */
static dm_view memory_of(const dm_reader *reader, const dm_read_request *request,
                         dm_rectangle piece) {
  const dm_line *rows = &request->rows, *cols = &request->cols;
  dm_view part = reader->dataset.memory;
  part.base = dm_view_at(part, dm_line_at(*rows, piece.row), dm_line_at(*cols, piece.col));
  part.rows = piece.rows;
  part.cols = piece.cols;
  part.row_stride *= rows->step;
  part.col_stride *= cols->step;
  return part;
}

/* Copies from STAGED, which has PIECE of REQUEST, what PICK takes of it: of its columns all, of its
 * rows those of COUNT from FROM on that are in the piece. */
static void spread_pick(const dm_reader *reader, const dm_read_request *request, dm_view staged,
                        const dm_rectangle *piece, const dm_pick *pick, int64_t from,
                        int64_t count) {
  const dm_read_request *own = &pick->request;
  const int64_t step = request->rows.step, first = dm_line_at(request->rows, piece->row);
  const int64_t left = dm_line_at(request->cols, piece->col);
  const int64_t top = dm_max(first, pick->top);
  const int64_t bottom = dm_min(first + (piece->rows - 1) * step, pick->bottom);
  int64_t row = own->part.row + from, rows = dm_min(own->part.rows - from, count);
  int64_t col = own->part.col, cols = own->part.cols;
  if (top > bottom || rows <= 0) return;
  dm_line_clip(own->rows, top, bottom - top + 1, &row, &rows);
  dm_line_clip(own->cols, left, piece->cols, &col, &cols);
  if (rows <= 0 || cols <= 0) return;
  dm_view part = dm_view_sub(staged, (dm_line_at(own->rows, row) - first) / step,
                             dm_line_at(own->cols, col) - left, 1, 1);
  part.rows = rows;
  part.cols = cols;
  part.row_stride *= rows > 1 ? own->rows.step / step : 1;
  part.col_stride *= own->cols.step;
  dm_reader_spread(reader, own, part, row, col);
}

/* Copies what all picks take. Those of a single column become columns that are beside each other
 * in the views, so that some rows of all of them are copied before the next ones: these share cache
 * lines. */
static void spread_picks(const dm_reader *reader, const dm_read_request *request, dm_view staged,
                         const dm_rectangle *piece) {
  int64_t most = 0;
  for (int64_t i = 0; i < request->count; i++)
    most = dm_max(most, request->picks[i].request.part.rows);
  const int64_t each = reader->dataset.cols == 1 && request->count > 1 ? READ_PICKED_ROWS : most;
  for (int64_t row = 0; row < most; row += each)
    for (int64_t i = 0; i < request->count; i++)
      spread_pick(reader, request, staged, piece, &request->picks[i], row, each);
}

dm_status dm_reader_bring(const dm_reader *reader, const dm_read_request *request,
                          dm_rectangle piece, dm_scratch *scratch, const dm_keepalive *keepalive) {
  const dm_dtype dtype = reader->dataset.dtype;
  const int64_t count = elements_read(reader, request, &piece);
  if (reader->dataset.memory.base) {
    dm_reader_spread(reader, request, memory_of(reader, request, piece), piece.row, piece.col);
    return DM_OK;
  }
  if (dm_reader_looks_up(reader, request))
    return dm_reader_look_up(reader, request, piece, scratch);
  if (needs_no_work(reader, request)) {
    DM_TRY(dm_reader_scatter(reader, request, piece, keepalive));
    scan_missing(reader, request, piece);
    return DM_OK;
  }
  DM_TRY(dm_scratch_grow(scratch, 0, count * dm_dtype_size(dtype)));
  DM_TRY(read_fetch(reader, request, piece, scratch, keepalive));
  if (reader->dataset.swapped) dm_swap_bytes(scratch->memory[0], dtype, count);
  const dm_view staged = {.base = scratch->memory[0],
                          .dtype = dtype,
                          .space = DM_HOST,
                          .rows = piece.rows,
                          .cols = piece.cols,
                          .row_stride = row_read(reader, request, piece.cols),
                          .col_stride = read_step_of(reader, request)};
  if (request->picks)
    spread_picks(reader, request, staged, &piece);
  else
    dm_reader_spread(reader, request, staged, piece.row, piece.col);
  return DM_OK;
}
