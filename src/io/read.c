#include "io/read_impl.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/wide_vectors.h"

enum { ROUNDED = 256, READ_NARROW = 32 };

void dm_reader_prepare(dm_reader *r, const dm_dataset *dataset, dm_dtype as) {
  const bool empty = dm_dataset_is_empty(dataset);
  r->dataset = *dataset;
  if (dataset->by_columns) {
    r->dataset.rows = dataset->cols;
    r->dataset.cols = dataset->rows;
    r->dataset.memory = dm_view_transpose(dataset->memory);
  }
  if (empty) {                                         /* zeros */
    const int64_t entries = dm_max(1, dataset->batch); /* k of each counts as 1 */
    if (r->dataset.rows == 0) r->dataset.rows = entries;
    if (r->dataset.cols == 0) r->dataset.cols = entries;
    r->dataset.offset = -1;
  }
  r->empty = empty;
  r->as = as == DM_DTYPE_NONE ? dm_dataset_type(dataset) : as;
  r->through = DM_DTYPE_NONE;
  r->fd = -1;
  r->file = r->set = r->type = r->access = -1;
}

dm_status dm_reader_prepare_meaning(dm_reader *r) {
  DM_TRY(dm_buffer_table(1, &r->calls));
  DM_TRY(dm_buffer_table(1, &r->beyond));
  if (!r->dataset.meaning.active || r->empty) return DM_OK;
  DM_TRY(dm_buffer_table(1, &r->missed));
  atomic_init(&r->missed->first, INT64_MAX);
  return DM_OK;
}

static dm_status open_by_layout(dm_reader *r) {
  if (r->empty) return DM_OK;
  if (r->dataset.layout == DM_VIRTUAL) return dm_sources_open(r);
  if (r->dataset.parts > DM_PARTS_PAIRED) return dm_reader_open_parts(r);
  if (r->dataset.zarr) return dm_reader_open_chunks(r);
  if (r->dataset.offset < 0) return dm_reader_open_hdf5(r);
  return dm_reader_open_direct(r);
}

dm_status dm_reader_open(const dm_dataset *dataset, dm_dtype as, dm_reader **reader) {
  dm_reader *r;
  const bool empty = dm_dataset_is_empty(dataset);
  if (!empty && !dataset->stack && !dataset->memory.base && access(dataset->at.file, F_OK) < 0 &&
      errno == ENOENT)
    return dm_hint(dm_fail_at(DM_E_INPUT, &dataset->at, "has disappeared since it was inspected"),
                   "is it on a file system that all nodes share?");
  DM_TRY(dm_buffer_table(1, &r));
  dm_reader_prepare(r, dataset, as);
  dm_status status = dm_reader_prepare_meaning(r);
  if (!status) status = open_by_layout(r);
  if (status) {
    dm_reader_release(r);
    return status;
  }
  *reader = r;
  return DM_OK;
}

void dm_reader_release(dm_reader *reader) {
  if (!reader) return;
  if (reader->sources) dm_sources_close(reader->sources);
  dm_reader_close(reader->reals);
  dm_reader_unmap(reader);
  if (reader->fd >= 0) close(reader->fd);
  dm_members_close(reader->members);
  if (reader->file >= 0) dm_reader_close_hdf5(reader);
  dm_reader_close_chunks(reader);
  dm_scratch_free(&reader->scratch);
  free(reader->missed);
  free(reader->beyond);
  free(reader->calls);
  free(reader);
}

int64_t dm_reader_bytes(const dm_reader *reader) {
  return reader->bytes;
}

int64_t dm_reader_calls(const dm_reader *reader) {
  const int64_t own = atomic_load(reader->calls);
  return reader->sources ? own + dm_sources_calls(reader->sources) : own;
}

void dm_reader_count_calls(const dm_reader *reader, int64_t calls) {
  atomic_fetch_add(reader->calls, calls);
}

bool dm_reader_is_by_columns(const dm_reader *reader) {
  return reader->dataset.by_columns;
}

void dm_reader_keepalive(dm_reader *reader, const dm_keepalive *keepalive) {
  reader->keepalive = keepalive;
}

/* Neighbours on the dataset have its own numbers, so that pieces end at its chunks. */
static int64_t number_first(dm_line *line) {
  const int64_t first = line->step == 1 ? line->first : 0;
  line->first -= first;
  return first;
}

static bool ends_within(dm_line line, int64_t count, int64_t size) {
  return line.first >= 0 && line.step > 0 &&
         (count == 0 ? line.first <= size : dm_line_at(line, count - 1) < size);
}

dm_status dm_request_of(const dm_reader *reader, dm_line rows, dm_line cols, const dm_view *views,
                        int64_t count, bool conjugate, dm_read_request *request) {
  const dm_dataset *d = &reader->dataset;
  const bool turned = d->by_columns;
  int64_t down = count > 0 ? views[0].rows : 0, right = 0;
  for (int64_t i = 0; i < count; i++) right += views[i].cols;
  *request =
      (dm_read_request){.part = {.rows = turned ? right : down, .cols = turned ? down : right},
                        .rows = turned ? cols : rows,
                        .cols = turned ? rows : cols,
                        .views = views,
                        .count = count,
                        .conjugate = conjugate,
                        .turned = turned,
                        .row = rows.first,
                        .col = cols.first};
  bool fits = ends_within(request->rows, request->part.rows, d->rows) &&
              ends_within(request->cols, request->part.cols, d->cols);
  for (int64_t i = 0; i < count && fits; i++)
    fits = views[i].space == DM_HOST && views[i].rows == down;
  request->part.row = number_first(&request->rows);
  request->part.col = number_first(&request->cols);
  return fits ? DM_OK
              : dm_fail_at(DM_E_BUG, &d->at,
                           "%lld views of %lld x %lld elements at (%lld, %lld) do not fit",
                           (long long)count, (long long)down, (long long)right,
                           (long long)rows.first, (long long)cols.first);
}

/* Whether any of COUNT numbers at AT, STRIDE apart, is infinite; TYPE: f32, f16 or bf16. A STRIDE
 * that is a constant lets the compiler make vectors. */
DM_INLINE bool any_apart(dm_dtype type, const void *at, int64_t stride, int64_t count) {
  const uint32_t *whole = at;
  const uint16_t *half = at, infinite = type == DM_F16 ? 0x7c00 : 0x7f80;
  uint32_t any = 0;
  for (int64_t i = 0; i < count && type == DM_F32; i++)
    any |= (whole[i * stride] & 0x7fffffff) == 0x7f800000;
  for (int64_t i = 0; i < count && type != DM_F32; i++)
    any |= (half[i * stride] & 0x7fff) == infinite;
  return any != 0;
}

static bool any_infinite(dm_dtype type, const void *at, int64_t stride, int64_t count) {
  return stride == 1 ? any_apart(type, at, 1, count) : any_apart(type, at, stride, count);
}

/* Notes if a finite number of the row SRC is infinite in DST. */
static void note_beyond(const dm_reader *reader, dm_view dst, dm_view src) {
  const dm_dtype type = dm_dtype_real(dst.dtype);
  const int parts = dm_dtype_is_complex(dst.dtype) ? 2 : 1;
  const int from = dm_dtype_is_complex(src.dtype) ? 2 : 1;
  bool any = false;
  for (int p = 0; p < parts; p++)
    any |= any_infinite(type, (const char *)dst.base + p * dm_dtype_size(type),
                        dst.col_stride * parts, dst.cols);
  for (int64_t i = 0; i < src.cols && any; i++) {
    double made[2], given[2];
    dm_load_wide(made, dm_view_at(dst, 0, i), dst.dtype, 1, 1);
    dm_load_wide(given, dm_view_at(src, 0, i), src.dtype, 1, 1);
    for (int p = 0; p < from; p++)
      if (isinf(made[p]) && isfinite(given[p])) atomic_store(reader->beyond, (int)dst.dtype);
  }
}

/* Rows so short that loops go along columns. */
static bool is_tall(dm_view view) {
  return view.cols <= READ_NARROW && view.rows > view.cols;
}

/* DST = SRC, or its conjugate. */
static void read_copy(const dm_reader *reader, dm_view dst, dm_view src, bool conjugate) {
  const bool narrower = dm_dtype_largest(src.dtype) > dm_dtype_largest(dst.dtype);
  dm_copy(dst, src, conjugate);
  if (is_tall(src)) {
    dst = dm_view_transpose(dst);
    src = dm_view_transpose(src);
  }
  for (int64_t row = 0; row < src.rows && narrower && !dm_dtype_is_integer(dst.dtype); row++)
    note_beyond(reader, dm_view_sub(dst, row, 0, 1, src.cols),
                dm_view_sub(src, row, 0, 1, src.cols));
}

/* DST = SRC, first rounded to the reader's types THROUGH and AS. */
static void read_convert(const dm_reader *reader, dm_view dst, dm_view src, bool conjugate) {
  double few[2][2 * ROUNDED];
  dm_dtype types[2], last = src.dtype;
  int count = 0;
  if (reader->through != DM_DTYPE_NONE && reader->through != last)
    types[count++] = last = reader->through;
  if (reader->as != last) types[count++] = last = reader->as;
  if (count > 0 && last == dst.dtype) count--;
  if (count == 0) {
    read_copy(reader, dst, src, conjugate);
    return;
  }
  if (is_tall(src)) {
    dst = dm_view_transpose(dst);
    src = dm_view_transpose(src);
  }
  for (int64_t row = 0; row < src.rows; row++) {
    for (int64_t col = 0; col < src.cols; col += ROUNDED) {
      const int64_t part = dm_min(ROUNDED, src.cols - col);
      dm_view from = dm_view_sub(src, row, col, 1, part);
      for (int i = 0; i < count; i++) {
        const dm_view rounded = dm_view_row_major(few[i], types[i], 1, part);
        read_copy(reader, rounded, from, false);
        from = rounded;
      }
      read_copy(reader, dm_view_sub(dst, row, col, 1, part), from, conjugate);
    }
  }
}

/* Rounds COUNT values to TYPE. */
static void read_round_to(dm_dtype type, double *values, int64_t count) {
  double few[2 * ROUNDED];
  if (type == DM_DTYPE_NONE) return;
  dm_store_wide(few, type, 1, values, count);
  dm_load_wide(values, few, type, 1, count);
}

/* The factor and the shift of each of COUNT elements, from PLACE on. */
static void load_pairs(const dm_dataset *d, int64_t place, int64_t step, int64_t count,
                       double *pairs) {
  const dm_slices *s = &d->meaning.slices;
  const dm_axes axes = dm_dataset_axes(d);
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = place + i * step;
    const int64_t index =
        dm_axes_index(&axes, s->axis, s->axes, at / d->cols, at % d->cols) / s->each;
    pairs[2 * i] = s->pair[2 * index];
    pairs[2 * i + 1] = s->pair[2 * index + 1];
  }
}

/* Which of COUNT elements, from PLACE on, are masked. */
static void load_masked(const dm_mask *mask, int64_t place, int64_t step, int64_t count,
                        uint8_t *masked) {
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = place + i * step;
    masked[i] = mask->bits[at / 64] >> at % 64 & 1;
  }
}

/* Loads the elements of LINE, a row, as what they mean. Its first one is element PLACE of the
 * dataset, counted row by row; the places of the others are STEP apart. */
static void load_meaning(const dm_reader *reader, dm_view line, int64_t place, int64_t step,
                         double *values) {
  const dm_dataset *d = &reader->dataset;
  const bool sliced = d->meaning.slices.count > 0, masks = d->meaning.mask.words > 0;
  dm_missed *all = reader->missed, met;
  double pairs[2 * ROUNDED];
  uint8_t masked[ROUNDED];
  const dm_singled of = {sliced ? pairs : NULL, masks ? masked : NULL};
  atomic_init(&met.count, 0);
  atomic_init(&met.first, INT64_MAX);
  if (sliced) load_pairs(d, place, step, line.cols, pairs);
  if (masks) load_masked(&d->meaning.mask, place, step, line.cols, masked);
  dm_meaning_apply(&d->meaning, line, of, values, &met);
  if (atomic_load(&met.count) == 0) return;
  atomic_fetch_add(&all->count, atomic_load(&met.count));
  const int64_t first = place + atomic_load(&met.first) * step;
  int64_t known = atomic_load(&all->first);
  while (first < known && !atomic_compare_exchange_weak(&all->first, &known, first)) {
  }
}

/* VALUES, COUNT elements from (row, col) of the matrix on, become those of C, which go to type TO.
 */
static void center_values(const dm_reader *reader, const dm_centering *c, int64_t row, int64_t col,
                          bool turned, dm_dtype to, bool are_complex, int64_t count,
                          double *values) {
  read_round_to(reader->through, values, count);
  dm_centering_apply(c, row, col, turned, values, are_complex, count);
  if (reader->as != to) read_round_to(reader->as, values, count);
}

/* INTO = LINE, elements of a row, or of a column if DOWN, from (row, col) of the request on, as
 * interpret() does. At most ROUNDED elements. */
static void interpret_line(const dm_reader *reader, const dm_read_request *request, dm_view into,
                           dm_view line, int64_t row, int64_t col, bool down) {
  const dm_dataset *d = &reader->dataset;
  const int64_t apart = request->folded ? 1 : d->cols; /* what is from row to row of the lines */
  const bool exact = d->centering || (!d->meaning.packed && reader->as == d->meaning.type);
  const bool is_complex = dm_dtype_is_complex(line.dtype), turned = request->turned;
  const int64_t below = row - request->part.row, right = col - request->part.col;
  double values[2 * ROUNDED];
  const dm_view read = dm_view_row_major(values, is_complex ? DM_C128 : DM_F64, 1, line.cols);
  if (reader->missed)
    load_meaning(reader, line,
                 dm_line_at(request->rows, row) * apart + dm_line_at(request->cols, col),
                 down ? request->rows.step * apart : request->cols.step, values);
  else
    dm_load_wide(values, line.base, line.dtype, line.col_stride, line.cols);
  if (d->centering)
    center_values(reader, d->centering, request->row + (turned ? right : below),
                  request->col + (turned ? below : right), turned != down, into.dtype, is_complex,
                  line.cols, values);
  if (exact)
    read_copy(reader, into, read, request->conjugate);
  else
    read_convert(reader, into, read, request->conjugate);
}

/* ---- short rows that lie one after the other ---- */

/* How many rows of STORED, for DST, are centered as one line; 0: none. */
static int64_t rows_of_line(const dm_reader *reader, const dm_read_request *request, dm_view dst,
                            dm_view stored) {
  const dm_centering *c = reader->dataset.centering;
  const bool along = c && (c->lines == DM_ROW_LINES) == request->turned && !c->weight;
  if (!along || reader->missed || dm_dtype_is_complex(stored.dtype) || stored.cols < 1 ||
      stored.rows < 2 || !dm_view_is_packed(dst) || !dm_view_is_packed(stored))
    return 0;
  return dm_min(stored.rows, ROUNDED / stored.cols);
}

/* A list of numbers, those from FIRST on, COLS of them ROWS times. */
static void repeat_numbers(const double **numbers, int64_t first, int64_t rows, int64_t cols,
                           double room[ROUNDED]) {
  if (!*numbers) return;
  for (int64_t i = 0; i < rows * cols; i++) room[i] = (*numbers)[first + i % cols];
  *numbers = room;
}

/* As interpret(), EACH rows at a time; returns how many were done. */
static int64_t interpret_rows(const dm_reader *reader, const dm_read_request *request, dm_view dst,
                              dm_view stored, int64_t col, int64_t each) {
  const int64_t first = (request->turned ? request->row : request->col) + col - request->part.col;
  const int64_t cols = stored.cols, count = each * cols, lines = stored.rows / each;
  dm_centering c = *reader->dataset.centering;
  double values[ROUNDED], rooms[4][ROUNDED];
  const dm_view read = dm_view_row_major(values, DM_F64, 1, count);
  const dm_view from = dm_view_row_major(stored.base, stored.dtype, lines, count);
  const dm_view to = dm_view_row_major(dst.base, dst.dtype, lines, count);
  repeat_numbers(&c.power, first, each, cols, rooms[0]);
  repeat_numbers(&c.shift, first, each, cols, rooms[1]);
  repeat_numbers(&c.factor, first, each, cols, rooms[2]);
  repeat_numbers(&c.fill, first, each, cols, rooms[3]);
  for (int64_t i = 0; i < lines; i++) {
    dm_load_wide(values, dm_view_at(from, i, 0), from.dtype, 1, count);
    center_values(reader, &c, 0, 0, request->turned, dst.dtype, false, count, values);
    read_copy(reader, dm_view_sub(to, i, 0, 1, count), read, false);
  }
  return lines * each;
}

/* ---- all ---- */

/* The same for STORED, which is at (row, col) of the request, in f64: its numbers have a meaning,
 * or the matrix is centered, before it is rounded to the type AS. */
static void read_interpret(const dm_reader *reader, const dm_read_request *request, dm_view dst,
                           dm_view stored, int64_t row, int64_t col) {
  const int64_t each = rows_of_line(reader, request, dst, stored);
  const int64_t done = each > 1 ? interpret_rows(reader, request, dst, stored, col, each) : 0;
  row += done;
  dst = dm_view_sub(dst, done, 0, dst.rows - done, dst.cols);
  stored = dm_view_sub(stored, done, 0, stored.rows - done, stored.cols);
  const bool down = is_tall(stored);
  if (down) {
    dst = dm_view_transpose(dst);
    stored = dm_view_transpose(stored);
  }
  const int64_t across = dm_ceil_div(stored.cols, ROUNDED);
  for (int64_t n = 0; n < stored.rows * across; n++) { /* what is near in memory follows */
    const int64_t i = down ? n % stored.rows : n / across;
    const int64_t j = (down ? n / stored.rows : n % across) * ROUNDED;
    const int64_t count = dm_min(ROUNDED, stored.cols - j);
    interpret_line(reader, request, dm_view_sub(dst, i, j, 1, count),
                   dm_view_sub(stored, i, j, 1, count), row + (down ? j : i), col + (down ? i : j),
                   down);
  }
}

bool dm_request_common(const dm_read_request *request, int64_t i, const dm_rectangle *piece,
                       int64_t *before, dm_view *view, int64_t *row, int64_t *col) {
  const dm_view whole = dm_request_view(request, i);
  const int64_t top = request->part.row + (request->turned ? *before : 0);
  const int64_t left = request->part.col + (request->turned ? 0 : *before);
  *before += request->turned ? whole.rows : whole.cols;
  *row = dm_max(top, piece->row);
  *col = dm_max(left, piece->col);
  const int64_t rows = dm_min(top + whole.rows, piece->row + piece->rows) - *row;
  const int64_t cols = dm_min(left + whole.cols, piece->col + piece->cols) - *col;
  if (rows <= 0 || cols <= 0) return false;
  *view = dm_view_sub(whole, *row - top, *col - left, rows, cols);
  return true;
}

void dm_reader_spread(const dm_reader *reader, const dm_read_request *request, dm_view staged,
                      int64_t row, int64_t col) {
  const dm_rectangle piece = {row, col, staged.rows, staged.cols};
  int64_t before = 0, top, left;
  dm_view view;
  for (int64_t i = 0; i < request->count; i++)
    if (dm_request_common(request, i, &piece, &before, &view, &top, &left)) {
      const dm_view part = dm_view_sub(staged, top - row, left - col, view.rows, view.cols);
      if (reader->dataset.centering || reader->missed)
        read_interpret(reader, request, view, part, top, left);
      else
        read_convert(reader, view, part, request->conjugate);
    }
}

void dm_reader_missing(const dm_reader *reader, dm_missing_found *found) {
  const dm_dataset *d = &reader->dataset; /* in the file's terms */
  *found = (dm_missing_found){.source = INT64_MAX, .first = INT64_MAX};
  if (reader->sources) dm_sources_missing(reader->sources, found);
  if (!reader->missed || atomic_load(&reader->missed->count) == 0) return;
  found->count = atomic_load(&reader->missed->count);
  found->source = 0;
  found->first = atomic_load(&reader->missed->first);
  if (d->by_columns) found->first = found->first % d->cols * d->rows + found->first / d->cols;
}

dm_status dm_missing_refused(const dm_dataset *set, const dm_missing_found *found) {
  char many[64] = "values are", of[DM_NAME + 8] = "", name[DM_NAME];
  dm_dataset d = *set;
  if (set->composite && found->source != INT64_MAX) {
    dm_composite_source(set->composite, found->source, &d);
    snprintf(of, sizeof of, " of %s", dm_location_name(&d.at, name));
  }
  if (found->count == 1) snprintf(many, sizeof many, "one of its values is");
  if (found->count > 1)
    snprintf(many, sizeof many, "%lld of its values are", (long long)found->count);
  return dm_hint(
      dm_fail_at(DM_E_INPUT, &set->at,
                 "%s missing; the first is in row %lld, column %lld%s (counted from 0). %s", many,
                 (long long)(found->first / d.cols), (long long)(found->first % d.cols), of,
                 d.meaning.found ? d.meaning.text : "NaN counts as missing"),
      "--missing nan, zero, mean or complete (cov and cor: or pairwise) says what they become%s",
      d.meaning.found && !d.meaning.asked && !d.genotypes ? "; --raw takes the stored numbers"
                                                          : "");
}

dm_status dm_reader_all_there(const dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  const dm_dtype narrow = (dm_dtype)atomic_load(reader->beyond);
  dm_missing_found found;
  if (narrow != DM_F64)
    return dm_hint(dm_fail_at(DM_E_INPUT, &d->at, "holds finite numbers beyond the range of %s",
                              dm_dtype_name(narrow)),
                   "--type and --compute choose the type in which they are multiplied");
  if (!reader->missed) return DM_OK;
  dm_reader_missing(reader, &found);
  if (found.count == 0 || d->meaning.missing != DM_MISSING_REFUSED) return DM_OK;
  found.count = -1; /* more may follow */
  dm_dataset matrix = *d;
  if (d->by_columns) matrix.cols = d->rows;
  return dm_missing_refused(&matrix, &found);
}

dm_status dm_reader_inexact(const dm_reader *reader) {
  return dm_hint(dm_fail_at(DM_E_INPUT, &reader->dataset.at,
                            "holds a whole number beyond 2^53, which f64 does not hold, beside "
                            "floating-point numbers"),
                 "name its members one by one");
}
