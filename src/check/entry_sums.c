#include "check/entry_sums.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/wide_vectors.h"

enum { LANES = 4 };

typedef double four __attribute__((vector_size(LANES * sizeof(double))));
typedef float floats __attribute__((vector_size(LANES * sizeof(float))));
typedef int64_t lanes __attribute__((vector_size(LANES * sizeof(int64_t))));

/* Vectors have room for a multiple of LANES numbers; those of columns are 0 behind the last. */
struct dm_entry_sums {
  int64_t m, n, k;
  dm_row_factors factors;
  double *memory;
  double *factor, *w, *col_squares; /* n: random factors, weights, sum_i |B(i,j)|^2 */
  double *t, *sizes;                /* k: B w, and roots of sum_j |B(i,j) w_j|^2 */
  double *y, *a_squares;            /* m: A t, sum_j |A(i,j) sizes_j|^2 */
  double *z, *z_squares;            /* m: C w, sum_j |C(i,j) w_j|^2 */
  double w_squares;
  int64_t passed, worst_row;
  double residual, relative, squares; /* of all that passed */
};

bool dm_entry_sums_suit(const dm_problem *one, const dm_whole_product *whole) {
  const dm_dtype type = whole->a.dtype;
  return !one->reads_c && (type == DM_F64 || type == DM_F32) && whole->c.dtype == type &&
         whole->a.col_stride == 1 && whole->b.col_stride == 1 && whole->c.col_stride == 1;
}

dm_status dm_entry_sums_new(const dm_problem *one, const dm_row_factors *factors, uint64_t seed,
                            dm_entry_sums **out) {
  const int64_t m = dm_round_up(one->m, LANES), n = dm_round_up(one->n, LANES),
                k = dm_round_up(one->k, LANES);
  dm_entry_sums *sums;
  DM_TRY(dm_buffer_table(1, &sums));
  dm_status status = dm_buffer_table(3 * n + 2 * k + 4 * m, &sums->memory);
  if (status) {
    free(sums);
    return status;
  }
  sums->m = one->m;
  sums->n = one->n;
  sums->k = one->k;
  sums->factors = *factors;
  sums->worst_row = -1;
  double **const vectors[] = {&sums->factor,    &sums->w,     &sums->col_squares,
                              &sums->t,         &sums->sizes, &sums->y,
                              &sums->a_squares, &sums->z,     &sums->z_squares};
  const int64_t counts[] = {n, n, n, k, k, m, m, m, m};
  double *at = sums->memory;
  for (int i = 0; i < 9; at += counts[i++]) *vectors[i] = at;
  for (int64_t j = 0; j < sums->n; j++) sums->factor[j] = dm_row_weight(seed, j);
  *out = sums;
  return DM_OK;
}

void dm_entry_sums_free(dm_entry_sums *sums) {
  if (sums) free(sums->memory);
  free(sums);
}

/* ---- vectors ---- */

/* COUNT elements of a row, of f32 if NARROW, from J on; the others are 0. */
DM_INLINE void load(four *to, const void *row, int64_t j, size_t count, bool narrow) {
  four wide = {0};
  floats short_ones = {0};
  if (narrow)
    memcpy(&short_ones, (const float *)row + j, count * sizeof(float));
  else
    memcpy(&wide, (const double *)row + j, count * sizeof(double));
  *to = narrow ? __builtin_convertvector(short_ones, four) : wide;
}

/* To[i] = the sum of the lanes of OF[i]. */
DM_INLINE void add_lanes(double *to, const four of[LANES]) {
  const lanes even = {0, 4, 2, 6}, odd = {1, 5, 3, 7}, low = {0, 1, 4, 5}, high = {2, 3, 6, 7};
  const four a = __builtin_shuffle(of[0], of[1], even) + __builtin_shuffle(of[0], of[1], odd);
  const four b = __builtin_shuffle(of[2], of[3], even) + __builtin_shuffle(of[2], of[3], odd);
  const four sums = __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, high);
  memcpy(to, &sums, sizeof sums);
}

/* What is summed of LANES rows M: M x, and the squares of its terms or, with SIZES, of other terms;
 * with NORMS, the squares of all elements. */
typedef struct row_sums {
  four sum[LANES], square[LANES], norm[LANES];
} row_sums;

DM_INLINE void add_run(const void *const row[LANES], int64_t j, size_t count, bool narrow,
                       const double *x, const double *sizes, bool norms, row_sums *s) {
  four by, size;
  load(&by, x, j, LANES, false);
  load(&size, sizes ? sizes : x, j, LANES, false);
  for (int r = 0; r < LANES; r++) {
    four e;
    load(&e, row[r], j, count, narrow);
    const four term = e * by, sized = sizes ? e * size : term;
    s->sum[r] += term;
    s->square[r] += sized * sized;
    if (norms) s->norm[r] += e * e;
  }
}

/* SUMS and SQUARES for all rows of M; returns the sum of all squares if NORMS. Rows behind the last
 * repeat it. */
DM_INLINE double sum_rows(dm_view m, bool narrow, const double *x, const double *sizes, bool norms,
                          double *sums, double *squares) {
  const int64_t whole = m.cols / LANES * LANES, size = narrow ? sizeof(float) : sizeof(double);
  double all = 0.0, of_rows[LANES];
  for (int64_t i = 0; i < m.rows; i += LANES) {
    const void *row[LANES];
    row_sums s = {0};
    for (int r = 0; r < LANES; r++)
      row[r] = (const char *)m.base + dm_min(i + r, m.rows - 1) * m.row_stride * size;
    for (int64_t j = 0; j < whole; j += LANES) add_run(row, j, LANES, narrow, x, sizes, norms, &s);
    if (whole < m.cols) add_run(row, whole, (size_t)(m.cols - whole), narrow, x, sizes, norms, &s);
    add_lanes(sums + i, s.sum);
    add_lanes(squares + i, s.square);
    if (!norms) continue;
    add_lanes(of_rows, s.norm);
    for (int64_t r = 0; r < dm_min(LANES, m.rows - i); r++) all += of_rows[r];
  }
  return all;
}

DM_INLINE void add_squares(const void *row, int64_t j, size_t count, bool narrow, double *squares) {
  four e, sum;
  load(&e, row, j, count, narrow);
  load(&sum, squares, j, LANES, false);
  sum += e * e;
  memcpy(squares + j, &sum, sizeof sum);
}

DM_INLINE void sum_columns(dm_view m, bool narrow, double *squares) {
  const int64_t whole = m.cols / LANES * LANES, size = narrow ? sizeof(float) : sizeof(double);
  for (int64_t i = 0; i < m.rows; i++) {
    const void *row = (const char *)m.base + i * m.row_stride * size;
    for (int64_t j = 0; j < whole; j += LANES) add_squares(row, j, LANES, narrow, squares);
    if (whole < m.cols) add_squares(row, whole, (size_t)(m.cols - whole), narrow, squares);
  }
}

/* ---- both widths of vectors, and both types ---- */

typedef struct operands {
  dm_view m;
  const double *x, *sizes;
  bool norms;
  double *sums, *squares;
} operands;

DM_INLINE double sum_all(const operands *o) {
  const bool narrow = o->m.dtype == DM_F32;
  if (!o->sums) {
    narrow ? sum_columns(o->m, true, o->squares) : sum_columns(o->m, false, o->squares);
    return 0.0;
  }
  if (o->sizes)
    return narrow ? sum_rows(o->m, true, o->x, o->sizes, false, o->sums, o->squares)
                  : sum_rows(o->m, false, o->x, o->sizes, false, o->sums, o->squares);
  if (o->norms)
    return narrow ? sum_rows(o->m, true, o->x, NULL, true, o->sums, o->squares)
                  : sum_rows(o->m, false, o->x, NULL, true, o->sums, o->squares);
  return narrow ? sum_rows(o->m, true, o->x, NULL, false, o->sums, o->squares)
                : sum_rows(o->m, false, o->x, NULL, false, o->sums, o->squares);
}

static double sum_plain(const operands *o) {
  return sum_all(o);
}

DM_WIDE_VECTORS static double sum_wide(const operands *o) {
  return sum_all(o);
}

static double sum(operands o) {
  return (dm_has_wide_vectors() ? sum_wide : sum_plain)(&o);
}

/* ---- the check ---- */

/* Whether X is finite and, as a sum of squares, accurate. */
static bool is_plain(double x) {
  return x > DM_LEAST_SQUARES && x < 1.0 / DM_LEAST_SQUARES;
}

static bool weigh(dm_entry_sums *s) {
  bool plain = true;
  s->w_squares = 0.0;
  for (int64_t j = 0; j < s->n; j++) {
    plain &= is_plain(s->col_squares[j]);
    s->w[j] = s->factor[j] / sqrt(s->col_squares[j]);
    s->w_squares += s->w[j] * s->w[j];
  }
  return plain;
}

bool dm_entry_sums_operands(dm_entry_sums *s, dm_view a, dm_view b) {
  memset(s->col_squares, 0, (size_t)dm_round_up(s->n, LANES) * sizeof(double));
  (void)sum((operands){.m = b, .squares = s->col_squares});
  if (!weigh(s)) return false;
  (void)sum((operands){.m = b, .x = s->w, .sums = s->t, .squares = s->sizes});
  bool plain = true;
  for (int64_t i = 0; i < s->k; i++) {
    plain &= is_plain(s->sizes[i]);
    s->sizes[i] = sqrt(s->sizes[i]);
  }
  for (int64_t i = s->k; i < dm_round_up(s->k, LANES); i++) s->t[i] = s->sizes[i] = 0.0;
  if (!plain) return false;
  (void)sum(
      (operands){.m = a, .x = s->t, .sizes = s->sizes, .sums = s->y, .squares = s->a_squares});
  return true;
}

/* As dm_row_compare, for rows that need none of its exceptions. */
bool dm_entry_sums_judge(dm_entry_sums *s, dm_view c, int64_t first) {
  const dm_row_factors *f = &s->factors;
  const double alpha = fabs(f->alpha[0]), subnormal = f->unit * sqrt(s->w_squares);
  double residual = 0.0, relative = 0.0;
  int64_t worst = -1;
  bool plain = is_plain(alpha);
  const double squares =
      sum((operands){.m = c, .x = s->w, .norms = true, .sums = s->z, .squares = s->z_squares});
  for (int64_t i = 0; i < s->m; i++) {
    const double scale = alpha * f->depth * sqrt(s->a_squares[i]), root = sqrt(s->z_squares[i]);
    const double spread = root < scale ? root : scale;
    const double difference = fabs(s->z[i] - f->alpha[0] * s->y[i]);
    const double ratio = difference / dm_row_bound(f, scale, scale, spread, subnormal);
    plain &= is_plain(s->a_squares[i]) && ratio <= 1.0;
    relative = difference / scale > relative ? difference / scale : relative;
    if (ratio > residual) {
      residual = ratio;
      worst = i;
    }
  }
  if (!plain) return false;
  s->passed++;
  s->squares += squares;
  if (relative > s->relative) s->relative = relative;
  if (residual > s->residual) {
    s->residual = residual;
    s->worst_row = first + worst;
  }
  return true;
}

dm_rows_found dm_entry_sums_found(const dm_entry_sums *s) {
  return (dm_rows_found){.residual = s->residual,
                         .relative = s->relative,
                         .squares = s->squares,
                         .worst = s->worst_row,
                         .checked = s->passed * s->m};
}
