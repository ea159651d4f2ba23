#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "dataset/chunk_facts.h"
#include "dataset/hdf5_compound.h"
#include "io/read_impl.h"
#include "io/zarr_chunks.h"

enum { MOST_STORED = 4 /* times the room of a chunk: blocks of Blosc2 that are not full */ };

struct dm_chunks {
  dm_axes axes;
  dm_chunk_filter filter;
  int64_t across;       /* chunks in a row */
  int64_t bytes;        /* bytes of a chunk */
  int64_t numbers;      /* bytes of its numbers, if they are inside of its elements */
  bool whole_only;      /* chunks across the border are stored without filters */
  void *fill;           /* an element of chunks that were never written, ... */
  int64_t each;         /* ... and its bytes */
  dm_zarr_chunks *zarr; /* or NULL */
};

/* An element of complex numbers whose parts are paired is two of the file. */
static void pair_fill(const dm_dataset *d, struct dm_chunks *chunks) {
  const size_t half = (size_t)dm_dtype_size(d->dtype) / 2;
  if (d->parts == DM_PARTS_PAIRED && d->compound.bytes == 0)
    memcpy((char *)chunks->fill + half, chunks->fill, half);
}

static dm_status read_zarr(dm_reader *reader, struct dm_chunks *chunks) {
  DM_TRY(dm_zarr_chunks_open(&reader->dataset, &chunks->zarr));
  const dm_zarr *zarr = dm_zarr_of(chunks->zarr);
  chunks->filter = zarr->filter;
  memcpy(chunks->fill, zarr->fill, (size_t)chunks->each);
  pair_fill(&reader->dataset, chunks);
  reader->raw = true;
  return DM_OK;
}

static dm_status read_properties(dm_reader *reader, struct dm_chunks *chunks) {
  const dm_dataset *d = &reader->dataset;
  const bool paired = d->parts == DM_PARTS_PAIRED;
  dm_axes axes = chunks->axes, stored = axes;
  unsigned options = 0;
  H5D_fill_value_t fill = H5D_FILL_VALUE_UNDEFINED;
  DM_H5_HELD hid_t creation = H5Dget_create_plist(reader->set);
  if (paired) axes.extent[axes.count - 1] = stored.chunk[stored.count - 1] = 2;
  if (creation < 0 || !dm_h5_matrix_chunks(d, creation, &axes) ||
      memcmp(axes.chunk, stored.chunk, sizeof axes.chunk) != 0)
    return dm_fail_at(DM_E_IO, &d->at, "changed since it was inspected");
  if (H5Pget_chunk_opts(creation, &options) < 0)
    return dm_h5_fail(DM_E_INPUT, &d->at, "its chunks cannot be read");
  chunks->whole_only = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
  if (H5Pfill_value_defined(creation, &fill) < 0)
    return dm_h5_fail(DM_E_IO, &reader->dataset.at, "its fill value cannot be read");
  if (dm_h5_compound_is_loose(d, reader->type)) { /* HDF5 has it as in memory */
    if (fill == H5D_FILL_VALUE_USER_DEFINED && d->no_data)
      return dm_fail_at(DM_E_INPUT, &d->at,
                        "has chunks without data, and a fill value with strings");
    return dm_chunk_filters(&d->at, creation, &chunks->filter);
  }
  if (fill != H5D_FILL_VALUE_UNDEFINED &&
      H5Pget_fill_value(creation, reader->type, chunks->fill) < 0)
    return dm_h5_fail(DM_E_INPUT, &d->at, "its fill value cannot be read");
  pair_fill(d, chunks);
  return dm_chunk_filters(&d->at, creation, &chunks->filter);
}

/* Opens a separate descriptor: pread at known places needs no HDF5. Not if links may have led to
 * another file. */
static dm_status open_raw(dm_reader *reader) {
  const bool known = reader->dataset.few.chunks > 0;
  return !known && (reader->dataset.elsewhere || !reader->observer) ? DM_OK
                                                                    : dm_reader_open_direct(reader);
}

dm_status dm_reader_open_chunks(dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  DM_TRY(dm_buffer_table(1, &reader->chunks));
  struct dm_chunks *chunks = reader->chunks;
  chunks->axes = dm_dataset_axes(d);
  chunks->across = dm_side_chunks(dm_axes_side(&chunks->axes, 1));
  if (!dm_dataset_stored(d, d->chunk_rows, d->chunk_cols, &chunks->bytes))
    return dm_fail_at(DM_E_BUG, &d->at, "has chunks of too many bytes");
  chunks->numbers = d->compound.apart ? d->chunk_rows * d->chunk_cols * dm_dtype_size(d->dtype) : 0;
  chunks->each = d->compound.bytes > 0 ? d->compound.bytes : dm_dtype_size(d->dtype);
  DM_TRY(dm_buffer_alloc(chunks->each, &chunks->fill));
  memset(chunks->fill, 0, (size_t)chunks->each);
  if (d->zarr) return read_zarr(reader, chunks);
  if (d->few.chunks > 0)
    dm_few_chunks_filter(&d->few, &chunks->filter);
  else
    DM_TRY(read_properties(reader, chunks));
  return open_raw(reader);
}

void dm_reader_close_chunks(dm_reader *reader) {
  if (reader->chunks) dm_zarr_chunks_close(reader->chunks->zarr);
  if (reader->chunks) free(reader->chunks->fill);
  free(reader->chunks);
}

/* The indices of the first element of the chunk at PLACE. */
static void indices_of(const dm_reader *reader, const dm_chunk_place *place,
                       int64_t first[DM_AXES]) {
  hsize_t at[DM_AXES] = {0};
  dm_h5_place(&reader->dataset, place->row, place->col, at);
  for (int i = 0; i < DM_AXES; i++) first[i] = (int64_t)at[i];
}

/* Finds the chunk at PLACE. */
static dm_status read_find_place(const dm_reader *reader, dm_chunk_place *place) {
  int64_t first[DM_AXES];
  if (!reader->chunks->zarr)
    return dm_chunk_find(&reader->dataset, reader->set, reader->raw ? reader->observer : NULL,
                         place);
  indices_of(reader, place, first);
  return dm_zarr_find(reader->chunks->zarr, first, &place->offset, &place->bytes);
}

static void fill_chunk(const dm_reader *reader, void *data) {
  size_t size = (size_t)reader->chunks->each;
  for (char *at = data, *end = at + reader->chunks->bytes; at < end; at += size)
    memcpy(at, reader->chunks->fill, size);
}

dm_rectangle dm_reader_chunks_of(const dm_reader *reader, const dm_read_request *request) {
  const dm_axes *axes = &reader->chunks->axes;
  const dm_rectangle *part = &request->part;
  dm_rectangle of = {0};
  if (part->rows == 0 || part->cols == 0) return of;
  if (request->folded) {
    of.rows = 1;
    dm_side_chunks_of(dm_axes_side(axes, 1), dm_request_folded_at(request, 0, 0),
                      dm_request_folded_at(request, part->rows - 1, part->cols - 1), &of.col,
                      &of.cols);
    return of;
  }
  dm_side_chunks_of(dm_axes_side(axes, 0), dm_line_at(request->rows, part->row),
                    dm_line_at(request->rows, part->row + part->rows - 1), &of.row, &of.rows);
  dm_side_chunks_of(dm_axes_side(axes, 1), dm_line_at(request->cols, part->col),
                    dm_line_at(request->cols, part->col + part->cols - 1), &of.col, &of.cols);
  return of;
}

/* RUN's part of REQUEST along SIDE: *from and *count in the request; false: it has none. */
static bool in_run(const dm_read_request *request, int side, const dm_stretch *run, int64_t *from,
                   int64_t *count) {
  *from = side == 0 ? request->part.row : request->part.col;
  *count = side == 0 ? request->part.rows : request->part.cols;
  dm_line_clip(side == 0 ? request->rows : request->cols, run->first, run->length, from, count);
  return *count > 0;
}

bool dm_reader_chunk_has(const dm_reader *reader, const dm_read_request *request, int side,
                         int64_t number) {
  const dm_side axes = dm_axes_side(&reader->chunks->axes, side);
  int64_t from, count, row = 0;
  dm_rectangle found;
  dm_stretch run;
  for (int64_t i = 0; dm_side_run(axes, number, i, &run); i++)
    if (!request->folded ? in_run(request, side, &run, &from, &count)
                         : side == 0 || dm_request_folded_next(request, &run, &row, &found, &from))
      return true;
  return false;
}

int64_t dm_reader_chunk_number(const dm_reader *reader, int64_t down, int64_t right) {
  return down * reader->chunks->across + right;
}

int64_t dm_reader_chunk_room(const dm_reader *reader) {
  return dm_max(dm_chunk_filter_room(&reader->chunks->filter, reader->chunks->bytes),
                reader->chunks->numbers);
}

dm_status dm_reader_find_chunk(const dm_reader *reader, int64_t number, dm_chunk_place *place) {
  DM_H5_ALONE;
  const dm_dataset *d = &reader->dataset;
  const struct dm_chunks *chunks = reader->chunks;
  const dm_side down = dm_axes_side(&chunks->axes, 0), right = dm_axes_side(&chunks->axes, 1);
  bool partial[2];
  *place = (dm_chunk_place){.row = dm_side_chunk_start(down, number / chunks->across),
                            .col = dm_side_chunk_start(right, number % chunks->across)};
  (void)dm_side_chunk_elements(down, number / chunks->across, &partial[0]);
  (void)dm_side_chunk_elements(right, number % chunks->across, &partial[1]);
  if (d->few.chunks > 0)
    dm_few_chunks_place(&d->few, number, place);
  else
    DM_TRY(read_find_place(reader, place));
  if (place->bytes == 0 && !d->no_data)
    return dm_fail_at(DM_E_INPUT, &d->at, "the chunk at (%lld, %lld) cannot be found",
                      (long long)place->row, (long long)place->col);
  if (place->bytes > MOST_STORED * dm_reader_chunk_room(reader))
    return dm_fail_at(DM_E_INPUT, &d->at, "a chunk says that it has %lld bytes",
                      (long long)place->bytes);
  if (place->offset > d->file_bytes - place->bytes && reader->raw && !d->swmr && !d->zarr)
    return dm_fail_at(DM_E_INPUT, &d->at,
                      "the chunk at (%lld, %lld) ends beyond the end of the file",
                      (long long)place->row, (long long)place->col);
  /* Chunks across the border of the matrix. */
  if (chunks->whole_only && (partial[0] || partial[1])) place->skipped = UINT32_MAX;
  return DM_OK;
}

/* Reads the chunk's bytes as stored; *skipped comes from HDF5. */
static dm_status read_stored(const dm_reader *reader, const dm_chunk_place *place, void *data,
                             uint32_t *skipped) {
  const dm_dataset *d = &reader->dataset;
  if (d->zarr) {
    int64_t first[DM_AXES];
    indices_of(reader, place, first);
    dm_reader_count_calls(reader, 1);
    return dm_zarr_load(reader->chunks->zarr, first, place->offset, place->bytes, data);
  }
  if (reader->raw) return dm_reader_load(reader, data, place->bytes, place->offset);
  DM_H5_ALONE;
  hsize_t offset[DM_AXES];
  dm_h5_place(d, place->row, place->col, offset);
  uint32_t mask = 0;
  if (H5Dread_chunk(reader->set, H5P_DEFAULT, offset, &mask, data) >= 0) {
    *skipped |= mask;
    return DM_OK;
  }
  return dm_h5_fail(DM_E_IO, &d->at, "the chunk at (%lld, %lld) cannot be read",
                    (long long)place->row, (long long)place->col);
}

static void read_exchange(dm_scratch *scratch) {
  void *memory = scratch->memory[0];
  const int64_t bytes = scratch->bytes[0];
  scratch->memory[0] = scratch->memory[1];
  scratch->bytes[0] = scratch->bytes[1];
  scratch->memory[1] = memory;
  scratch->bytes[1] = bytes;
}

/* Takes the numbers out of the elements of a chunk. */
static dm_status read_take_numbers(const dm_reader *reader, dm_scratch *scratch) {
  const dm_dataset *d = &reader->dataset;
  const int64_t each = dm_dataset_each(d), count = d->chunk_rows * d->chunk_cols / each;
  const int64_t bytes = each * dm_dtype_size(d->dtype);
  const int64_t reals = dm_compound_reals(&d->compound);
  DM_TRY(dm_scratch_grow(scratch, 1, dm_reader_chunk_room(reader)));
  const dm_records all = {count, scratch->memory[0], d->compound.bytes, scratch->memory[1], bytes};
  if (!dm_compound_gather(&d->compound, dm_dtype_real(d->dtype), &all, 0, reals))
    return dm_reader_inexact(reader);
  read_exchange(scratch);
  return DM_OK;
}

static dm_status undo_filters(const dm_reader *reader, const dm_chunk_place *place,
                              uint32_t skipped, dm_scratch *scratch) {
  const struct dm_chunks *chunks = reader->chunks;
  void *before = scratch->memory[0];
  dm_status status = dm_chunk_filter_undo(&chunks->filter, skipped, place->bytes, chunks->bytes,
                                          &scratch->memory[0], &scratch->memory[1]);
  if (scratch->memory[0] != before) {
    int64_t bytes = scratch->bytes[0];
    scratch->bytes[0] = scratch->bytes[1];
    scratch->bytes[1] = bytes;
  }
  if (status && status->code == DM_E_INPUT)
    dm_context(status, "the chunk at (%lld, %lld) is damaged", (long long)place->row,
               (long long)place->col);
  return dm_file_named(status, &reader->dataset.at);
}

dm_status dm_reader_unpack(const dm_reader *reader, const dm_chunk_place *place,
                           dm_scratch *scratch) {
  const dm_dataset *d = &reader->dataset;
  const int64_t room = dm_reader_chunk_room(reader);
  DM_TRY(dm_scratch_grow(scratch, 0, dm_max(room, place->bytes)));
  if (place->bytes == 0) {
    fill_chunk(reader, scratch->memory[0]);
  } else {
    DM_TRY(dm_scratch_grow(scratch, 1, room));
    uint32_t skipped = place->skipped;
    DM_TRY(read_stored(reader, place, scratch->memory[0], &skipped));
    DM_TRY(undo_filters(reader, place, skipped, scratch));
  }
  if (d->compound.apart) DM_TRY(read_take_numbers(reader, scratch));
  if (d->swapped) dm_swap_bytes(scratch->memory[0], d->dtype, d->chunk_rows * d->chunk_cols);
  return DM_OK;
}

int64_t dm_reader_chunk_elements(const dm_reader *reader, int64_t number) {
  const struct dm_chunks *c = reader->chunks;
  bool partial;
  return dm_side_chunk_elements(dm_axes_side(&c->axes, 0), number / c->across, &partial) *
         dm_side_chunk_elements(dm_axes_side(&c->axes, 1), number % c->across, &partial);
}

/* Every STEP-th row and column of VIEW from (row, col) on. */
static dm_view steps_of(dm_view view, int64_t row, int64_t rows, int64_t row_step, int64_t col,
                        int64_t cols, int64_t col_step) {
  dm_view part = dm_view_sub(view, row, col, 1, 1);
  part.rows = rows;
  part.cols = cols;
  part.row_stride *= row_step;
  part.col_stride *= col_step;
  return part;
}

/* The same of a chunk of the only row of a folded request. */
static int64_t spread_folded(const dm_reader *reader, const dm_read_request *request,
                             int64_t number, void *data) {
  const dm_dataset *d = &reader->dataset;
  const dm_side right = dm_axes_side(&reader->chunks->axes, 1);
  const dm_view whole = dm_view_row_major(data, d->dtype, 1, d->chunk_rows * d->chunk_cols);
  int64_t copied = 0, place;
  dm_rectangle found;
  dm_stretch run;
  for (int64_t i = 0; dm_side_run(right, number, i, &run); i++)
    for (int64_t row = 0; dm_request_folded_next(request, &run, &row, &found, &place);) {
      dm_view part = dm_view_sub(whole, 0, run.inside + place, 1, 1);
      part.rows = found.rows;
      part.cols = found.cols;
      part.row_stride = request->rows.step;
      part.col_stride = request->cols.step;
      dm_reader_spread(reader, request, part, found.row, found.col);
      copied += found.rows * found.cols;
    }
  return copied;
}

int64_t dm_reader_spread_chunk(const dm_reader *reader, const dm_read_request *request,
                               int64_t number, void *data) {
  if (request->folded) return spread_folded(reader, request, number, data);
  const dm_dataset *d = &reader->dataset;
  const struct dm_chunks *c = reader->chunks;
  const dm_side down = dm_axes_side(&c->axes, 0), right = dm_axes_side(&c->axes, 1);
  const dm_line *r = &request->rows, *s = &request->cols;
  const dm_view whole = dm_view_row_major(data, d->dtype, d->chunk_rows, d->chunk_cols);
  int64_t row, rows, col, cols, copied = 0;
  dm_stretch a, b;
  for (int64_t i = 0; dm_side_run(down, number / c->across, i, &a); i++) {
    if (!in_run(request, 0, &a, &row, &rows)) continue;
    for (int64_t j = 0; dm_side_run(right, number % c->across, j, &b); j++) {
      if (!in_run(request, 1, &b, &col, &cols)) continue;
      const dm_view part = steps_of(whole, a.inside + dm_line_at(*r, row) - a.first, rows, r->step,
                                    b.inside + dm_line_at(*s, col) - b.first, cols, s->step);
      dm_reader_spread(reader, request, part, row, col);
      copied += rows * cols;
    }
  }
  return copied;
}
