#include "transform/moments.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/wide_vectors.h"
#include "io/journal.h"
#include "plan/partition.h"

enum {
  MOMENTS_BLOCK = 64,  /* elements that are summed together, */
  MOMENTS_WIDTH = 256, /* of this many lines, or of half as many complex ones */
  TASKS = 64,          /* that a part is cut into at least */
};

static const double tiny = 0x1p-1000; /* below it, sums of squares are looked at */

/* A square of something that is not 0. */
static double square_of(double difference, double weight) {
  const double square = difference * difference * weight;
  return square == 0.0 && difference != 0.0 && weight > 0.0 ? DBL_TRUE_MIN : square;
}

dm_status dm_moments_open(int64_t rows, int64_t cols, bool by_rows, bool is_complex, int groups,
                          const double *weights, dm_moments *m) {
  const int64_t lines = by_rows ? rows : cols, parts = is_complex ? 2 : 1;
  const int64_t size = by_rows ? cols : rows;
  int64_t left_out = 0;
  for (int64_t i = 0; weights && i < size; i++) left_out += weights[i] < 0.0;
  const int64_t cuts = TASKS / dm_min(TASKS, dm_ceil_div(dm_max(1, lines) * parts, MOMENTS_WIDTH));
  *m = (dm_moments){.by_rows = by_rows,
                    .lines = lines,
                    .size = size,
                    .length = size - left_out,
                    .parts = parts,
                    .groups = groups,
                    .cuts = (int)cuts,
                    .weights = weights};
  atomic_init(&m->first_missing, INT64_MAX);
  return dm_buffer_zeroed(groups * cuts * DM_MOMENTS * m->parts, m->lines * (int64_t)sizeof(double),
                          (void **)&m->numbers);
}

void dm_moments_close(dm_moments *m) {
  free(m->numbers);
  m->numbers = NULL;
}

void dm_moments_begin_again(const double *powers, dm_moments *m) {
  m->powers = powers;
  memset(m->numbers, 0,
         (size_t)(m->groups * m->cuts * DM_MOMENTS * m->parts * m->lines) * sizeof(double));
}

/* GROUP: a cut of one. */
static double *moments_row_of(const dm_moments *m, int group, int what) {
  return m->numbers + (group * DM_MOMENTS + what) * m->parts * m->lines;
}

double *dm_moments_of(const dm_moments *m, int group, int what) {
  return moments_row_of(m, group * m->cuts, what);
}

/* A number of values of one line, or of one part of them. */
typedef struct moments_share {
  double mean, squares, weight, present; /* mean: relative to FROM of the line */
} moments_share;

/* Joins MORE to number J of GROUP. */
static void moments_join(const dm_moments *m, int group, int64_t j, const moments_share *more) {
  double *mean = moments_row_of(m, group, DM_MEAN) + j,
         *squares = moments_row_of(m, group, DM_SQUARES) + j;
  double *weight = moments_row_of(m, group, DM_WEIGHT) + j;
  moments_row_of(m, group, DM_PRESENT)[j] += more->present;
  if (more->weight == 0.0) return;
  const double all = *weight + more->weight, delta = more->mean - *mean;
  *squares += more->squares + square_of(delta, *weight / all * more->weight);
  *mean += delta * (more->weight / all);
  *weight = all;
}

/* ---- blocks ---- */

/* Elements of a few lines: row i of PART has element FIRST + i of each, in MOMENTS_WIDTH numbers at
 * most from number J on. Row i of NUMBERS, f32 or f64, has the same: it is PART, or VALUES, if they
 * are converted. */
typedef struct block {
  dm_view part;
  const void *numbers;
  bool single, converted;
  int64_t step; /* numbers from row to row */
  double values[MOMENTS_BLOCK][MOMENTS_WIDTH];
  int64_t first, count;                  /* elements */
  int64_t j, width;                      /* numbers */
  double weights[MOMENTS_BLOCK], weight; /* of the elements, and their sum */
} block;

void dm_moments_note_missing(dm_moments *m, int64_t line, int64_t element) {
  const int64_t place = m->by_rows ? line * m->size + element : element * m->lines + line;
  int64_t known = atomic_load(&m->first_missing);
  while (place < known && !atomic_compare_exchange_weak(&m->first_missing, &known, place)) {
  }
}

static bool is_missing(const dm_moments *m, const block *b, int64_t i, int64_t c) {
  if (m->parts == 1) return isnan(b->values[i][c]);
  return isnan(b->values[i][c]) || isnan(b->values[i][c ^ 1]);
}

/* The same for number C of the block, some of whose values may be missing. */
static void add_with_gaps(dm_moments *m, int group, const block *b, int64_t c) {
  double *from = moments_row_of(m, group, DM_FROM) + b->j + c;
  bool known = moments_row_of(m, group, DM_PRESENT)[b->j + c] > 0.0;
  moments_share more = {0};
  if (!known) *from = 0.0;
  for (int64_t i = 0; i < b->count; i++) {
    if (is_missing(m, b, i, c)) {
      dm_moments_note_missing(m, (b->j + c) / m->parts, b->first + i);
      continue;
    }
    if (!known) *from = b->values[i][c];
    known = true;
    more.mean += b->weights[i] * (b->values[i][c] - *from);
    more.present += 1.0;
    more.weight += b->weights[i];
  }
  if (more.weight > 0.0) more.mean /= more.weight;
  for (int64_t i = 0; i < b->count; i++) {
    if (is_missing(m, b, i, c)) continue;
    const double difference = b->values[i][c] - *from - more.mean;
    more.squares += square_of(difference, b->weights[i]);
  }
  moments_join(m, group, b->j + c, &more);
}

/* Sums of a block's differences from SHIFT, and of their squares. SINGLE is constant. */
DM_INLINE void moments_sum(const block *b, bool single, const double *shift, double *first,
                           double *second) {
  for (int64_t c = 0; c < b->width; c++) first[c] = second[c] = 0.0;
  for (int64_t i = 0; i < b->count; i++) {
    const double weight = b->weights[i];
    const float *floats = (const float *)b->numbers + (single ? i * b->step : 0);
    const double *doubles = (const double *)b->numbers + (single ? 0 : i * b->step);
    for (int64_t c = 0; c < b->width; c++) {
      const double difference = (single ? (double)floats[c] : doubles[c]) - shift[c];
      const double weighted = weight * difference;
      first[c] += weighted;
      second[c] += weighted * difference;
    }
  }
}

static void moments_sum_plain(const block *b, const double *shift, double *first, double *second) {
  if (b->single)
    moments_sum(b, true, shift, first, second);
  else
    moments_sum(b, false, shift, first, second);
}

DM_WIDE_VECTORS static void moments_sum_wide(const block *b, const double *shift, double *first,
                                             double *second) {
  if (b->single)
    moments_sum(b, true, shift, first, second);
  else
    moments_sum(b, false, shift, first, second);
}

static void moments_convert(const dm_moments *m, block *b) {
  dm_view values =
      dm_view_row_major(b->values, m->parts == 2 ? DM_C128 : DM_F64, b->count, b->part.cols);
  values.row_stride = MOMENTS_WIDTH / m->parts;
  if (b->converted) return;
  dm_copy(values, b->part, false);
  for (int64_t i = 0; i < b->count && m->powers; i++)
    for (int64_t c = 0; c < b->width; c++) b->values[i][c] *= m->powers[(b->j + c) / m->parts];
  b->converted = true;
}

/* Removes elements that are left out from a converted block. */
static void moments_leave_out(block *b) {
  int64_t kept = 0;
  for (int64_t i = 0; i < b->count; i++) {
    if (b->weights[i] < 0.0) continue;
    if (kept < i) memcpy(b->values[kept], b->values[i], sizeof b->values[i]);
    b->weights[kept++] = b->weights[i];
  }
  b->count = kept;
}

/* Numbers that lie side by side need not be converted. */
static void moments_find_numbers(const dm_moments *m, bool leaves_out, block *b) {
  const dm_dtype type = b->part.dtype;
  const bool wide = type == DM_F64 || type == DM_C128;
  b->single = type == DM_F32 || type == DM_C64;
  b->converted = false;
  b->numbers = b->part.base;
  b->step = b->part.row_stride * m->parts;
  if (b->part.col_stride == 1 && (wide || b->single) && !m->powers && !leaves_out) return;
  moments_convert(m, b);
  if (leaves_out) moments_leave_out(b);
  b->single = false;
  b->numbers = b->values;
  b->step = MOMENTS_WIDTH;
}

static double moments_number(const block *b, int64_t c) {
  return b->single ? (double)((const float *)b->numbers)[c] : ((const double *)b->numbers)[c];
}

/* VARIES[c]: not all elements of number c are equal, but for those without weight. */
static void find_varying(const block *b, bool varies[MOMENTS_WIDTH]) {
  const double *first = NULL;
  memset(varies, 0, MOMENTS_WIDTH);
  for (int64_t i = 0; i < b->count; i++) {
    const double *row = (const double *)b->numbers + i * b->step;
    if (!(b->weights[i] > 0.0)) continue;
    for (int64_t c = 0; c < b->width && first; c++) varies[c] |= row[c] != first[c];
    if (!first) first = row;
  }
}

/* Squares that vanish leave a trace. Those of f32 do not vanish in f64. */
static void mark_vanished(const block *b, const double *first, double *second, double part) {
  bool varies[MOMENTS_WIDTH], looks = false;
  for (int64_t c = 0; c < b->width; c++) looks |= second[c] - first[c] * first[c] * part <= tiny;
  if (!looks || b->single) return;
  find_varying(b, varies);
  for (int64_t c = 0; c < b->width; c++) {
    const double square = first[c] * first[c] * part;
    if (varies[c] && second[c] - square <= 0.0) second[c] = fmax(square, 0.0) + DBL_TRUE_MIN;
  }
}

/* Differences are taken from the mean so far, which costs no digits: where a block's own mean is
 * far from it, the distance adds more to the squares of all than is lost. The first block is passed
 * twice. NaN anywhere makes a sum NaN: only then elements are looked at one by one. */
static void add_block(dm_moments *m, int group, block *b) {
  double shift[MOMENTS_WIDTH], first[MOMENTS_WIDTH], second[MOMENTS_WIDTH];
  double *from = moments_row_of(m, group, DM_FROM) + b->j;
  const double *mean = moments_row_of(m, group, DM_MEAN) + b->j,
               *weight = moments_row_of(m, group, DM_WEIGHT) + b->j,
               *present = moments_row_of(m, group, DM_PRESENT) + b->j;
  const double part = b->weight > 0.0 ? 1.0 / b->weight : 1.0;
  void (*const add)(const block *, const double *, double *, double *) =
      dm_has_wide_vectors() ? moments_sum_wide : moments_sum_plain;
  bool begins = false;
  for (int64_t c = 0; c < b->width; c++) {
    if (present[c] == 0.0) from[c] = moments_number(b, c);
    shift[c] = from[c] + mean[c];
    begins |= weight[c] == 0.0;
  }
  add(b, shift, first, second);
  for (int64_t c = 0; c < b->width && begins; c++) shift[c] += first[c] * part;
  if (begins) add(b, shift, first, second);
  mark_vanished(b, first, second, part);
  for (int64_t c = 0; c < b->width; c++) {
    const bool gaps = isnan(first[c]) || (m->parts == 2 && isnan(first[c ^ 1]));
    const double squares = second[c] - first[c] * first[c] * part;
    const moments_share more = {shift[c] - from[c] + first[c] * part, squares < 0.0 ? 0.0 : squares,
                                b->weight, (double)b->count};
    if (gaps) moments_convert(m, b);
    if (gaps)
      add_with_gaps(m, group, b, c);
    else
      moments_join(m, group, b->j + c, &more);
  }
}

/* ---- parts of the matrix ---- */

typedef struct moments_adding {
  dm_moments *moments;
  int group;
  dm_view part;        /* its columns are lines */
  int64_t first, line; /* of the element in its corner */
} moments_adding;

/* Some elements of a few lines of the part. */
static void moments_add_lines(void *context, int64_t piece) {
  const moments_adding *a = context;
  dm_moments *m = a->moments;
  const int cut = (int)(piece % m->cuts);
  const dm_range elements = dm_split(a->part.rows, m->cuts, cut, 1);
  const int64_t few = MOMENTS_WIDTH / m->parts, line = piece / m->cuts * few;
  const int64_t lines = dm_min(few, a->part.cols - line);
  block b;
  b.j = (a->line + line) * m->parts;
  b.width = lines * m->parts;
  for (int64_t i = elements.begin; i < elements.end; i += MOMENTS_BLOCK) {
    b.first = a->first + i;
    b.count = dm_min(MOMENTS_BLOCK, elements.end - i);
    b.weight = 0.0;
    bool leaves_out = false;
    for (int64_t w = 0; w < b.count; w++) {
      b.weights[w] = m->weights ? m->weights[b.first + w] : 1.0;
      leaves_out |= b.weights[w] < 0.0;
      b.weight += fmax(b.weights[w], 0.0);
    }
    b.part = dm_view_sub(a->part, i, line, b.count, lines);
    moments_find_numbers(m, leaves_out, &b);
    if (b.count > 0) add_block(m, a->group * m->cuts + cut, &b);
  }
}

dm_status dm_moments_take(void *context, dm_view part, int64_t row, int64_t col) {
  const dm_moments_group *to = context;
  const dm_moments *m = to->moments;
  moments_adding a = {.moments = to->moments,
                      .group = to->group,
                      .part = m->by_rows ? dm_view_transpose(part) : part,
                      .first = m->by_rows ? col : row,
                      .line = m->by_rows ? row : col};
  const int64_t pieces = m->cuts * dm_ceil_div(a.part.cols, MOMENTS_WIDTH / m->parts);
  if (to->crew) dm_crew_run(to->crew, moments_add_lines, &a, pieces);
  for (int64_t i = 0; i < pieces && !to->crew; i++) moments_add_lines(&a, i);
  return DM_OK;
}

/* ---- all ---- */

dm_status dm_moments_join(dm_moments *m, const dm_comm *comm) {
  const int64_t width = m->parts * m->lines;
  int64_t first = -atomic_load(&m->first_missing);
  DM_TRY(dm_comm_sum_f64(comm, m->numbers, m->groups * m->cuts * DM_MOMENTS * width));
  DM_TRY(dm_comm_max_i64(comm, &first, 1));
  atomic_store(&m->first_missing, -first);
  double *from = moments_row_of(m, 0, DM_FROM);
  const double *present = moments_row_of(m, 0, DM_PRESENT);
  for (int g = 1; g < m->groups * m->cuts; g++)
    for (int64_t j = 0; j < width; j++) {
      const double own = moments_row_of(m, g, DM_FROM)[j];
      if (moments_row_of(m, g, DM_PRESENT)[j] == 0.0) continue;
      if (present[j] == 0.0) from[j] = own;
      const moments_share more = {
          own - from[j] + moments_row_of(m, g, DM_MEAN)[j], moments_row_of(m, g, DM_SQUARES)[j],
          moments_row_of(m, g, DM_WEIGHT)[j], moments_row_of(m, g, DM_PRESENT)[j]};
      moments_join(m, 0, j, &more);
    }
  return DM_OK;
}

void dm_moments_mean(const dm_moments *m, int64_t i, double *mean) {
  for (int64_t j = i * m->parts, p = 0; p < m->parts; j++, p++)
    mean[p] = moments_row_of(m, 0, DM_WEIGHT)[j] > 0.0
                  ? moments_row_of(m, 0, DM_FROM)[j] + moments_row_of(m, 0, DM_MEAN)[j]
                  : (double)NAN;
}

double dm_moments_squares(const dm_moments *m, int64_t i) {
  double squares = 0.0;
  for (int64_t p = 0; p < m->parts; p++)
    squares += moments_row_of(m, 0, DM_SQUARES)[i * m->parts + p];
  return squares;
}

int64_t dm_moments_missing(const dm_moments *m, int64_t i) {
  return m->length - (int64_t)moments_row_of(m, 0, DM_PRESENT)[i * m->parts];
}
