#include "check/entry_sums.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/wide_vectors.h"

enum { ENTRY_SUMS_LANES = 4 };

typedef double entry_sums_four __attribute__((vector_size(ENTRY_SUMS_LANES * sizeof(double))));
typedef float floats __attribute__((vector_size(ENTRY_SUMS_LANES * sizeof(float))));
typedef int64_t entry_sums_lanes __attribute__((vector_size(ENTRY_SUMS_LANES * sizeof(int64_t))));

enum { ENTRY_SUMS_PARTS = 2 };

/* A complex matrix is seen as a real one, in whose rows real and imaginary parts take turns: a
 * complex sum takes two real ones, over factors with 0 for the other parts, or with both parts.
 * Vectors have room for a multiple of ENTRY_SUMS_LANES numbers; those that are factors are 0 behind
 * the last.
 */
struct dm_entry_sums {
  int64_t m, n, k;
  int parts; /* of an element */
  dm_row_factors factors;
  double *memory;
  double *factor;                      /* n: random factors of the weights w */
  double *col_squares;                 /* parts * n: sum_i |B(i,j)|^2 */
  double *weights[ENTRY_SUMS_PARTS];   /* parts * n: w for either part of C w and B w */
  double *t[ENTRY_SUMS_PARTS], *sizes; /* k: B w, and roots of sum_j |B(i,j) w_j|^2 */
  double *terms[ENTRY_SUMS_PARTS];     /* parts * k: B w for either part of A (B w) */
  double *each_size;                   /* parts * k: SIZES for each part */
  double *y[ENTRY_SUMS_PARTS];         /* m: A (B w) */
  double *a_squares;                   /* m: sum_j |A(i,j) sizes_j|^2 */
  double *z[ENTRY_SUMS_PARTS];         /* m: C w */
  double *z_squares;                   /* m: sum_j |C(i,j) w_j|^2 */
  double *more;                        /* max(m, k): squares of the other part */
  double w_squares;
  const void *next_a, *next_b, *next_c; /* NULL: nothing is fetched */
  int64_t passed, worst_row;
  double residual, relative, squares; /* of all that passed */
};

bool dm_entry_sums_suit(const dm_problem *one, const dm_whole_product *whole) {
  const dm_dtype type = whole->a.dtype, real = dm_dtype_real(type);
  return !one->reads_c && (real == DM_F64 || real == DM_F32) && whole->c.dtype == type &&
         !whole->conjugate_a && !whole->conjugate_b && whole->a.col_stride == 1 &&
         whole->b.col_stride == 1 && whole->c.col_stride == 1;
}

dm_status dm_entry_sums_new(const dm_problem *one, const dm_row_factors *factors, uint64_t seed,
                            dm_entry_sums **out) {
  dm_entry_sums *s;
  DM_TRY(dm_buffer_table(1, &s));
  s->m = one->m;
  s->n = one->n;
  s->k = one->k;
  s->parts = dm_dtype_is_complex(one->work) ? 2 : 1;
  s->factors = *factors;
  s->worst_row = -1;
  const struct {
    double **vector;
    int64_t count;
  } all[] = {{&s->factor, s->n},
             {&s->col_squares, s->parts * s->n},
             {&s->weights[0], s->parts * s->n},
             {&s->weights[1], s->parts * s->n},
             {&s->t[0], s->k},
             {&s->t[1], s->k},
             {&s->sizes, s->k},
             {&s->terms[0], s->parts * s->k},
             {&s->terms[1], s->parts * s->k},
             {&s->each_size, s->parts * s->k},
             {&s->y[0], s->m},
             {&s->y[1], s->m},
             {&s->a_squares, s->m},
             {&s->z[0], s->m},
             {&s->z[1], s->m},
             {&s->z_squares, s->m},
             {&s->more, dm_max(s->m, s->k)}};
  enum { ENTRY_SUMS_VECTORS = sizeof all / sizeof all[0] };
  int64_t room = 0;
  for (int i = 0; i < ENTRY_SUMS_VECTORS; i++) room += dm_round_up(all[i].count, ENTRY_SUMS_LANES);
  dm_status status = dm_buffer_table(room, &s->memory);
  if (status) {
    free(s);
    return status;
  }
  double *at = s->memory;
  for (int i = 0; i < ENTRY_SUMS_VECTORS; at += dm_round_up(all[i++].count, ENTRY_SUMS_LANES))
    *all[i].vector = at;
  for (int64_t j = 0; j < s->n; j++) s->factor[j] = dm_row_weight(seed, j);
  *out = s;
  return DM_OK;
}

void dm_entry_sums_free(dm_entry_sums *sums) {
  if (sums) free(sums->memory);
  free(sums);
}

/* ---- vectors ---- */

/* COUNT elements of a row, of f32 if NARROW, from J on; the others are 0. */
DM_INLINE void entry_sums_load(entry_sums_four *to, const void *row, int64_t j, size_t count,
                               bool narrow) {
  entry_sums_four wide = {0};
  floats short_ones = {0};
  if (narrow)
    memcpy(&short_ones, (const float *)row + j, count * sizeof(float));
  else
    memcpy(&wide, (const double *)row + j, count * sizeof(double));
  *to = narrow ? __builtin_convertvector(short_ones, entry_sums_four) : wide;
}

/* To[i] = the sum of the lanes of OF[i]. */
DM_INLINE void add_lanes(double *to, const entry_sums_four of[ENTRY_SUMS_LANES]) {
  const entry_sums_lanes even = {0, 4, 2, 6}, odd = {1, 5, 3, 7}, low = {0, 1, 4, 5},
                         high = {2, 3, 6, 7};
  const entry_sums_four a =
      __builtin_shuffle(of[0], of[1], even) + __builtin_shuffle(of[0], of[1], odd);
  const entry_sums_four b =
      __builtin_shuffle(of[2], of[3], even) + __builtin_shuffle(of[2], of[3], odd);
  const entry_sums_four sums = __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, high);
  memcpy(to, &sums, sizeof sums);
}

enum { CACHE_LINE = 64 };

/* Brings BYTES bytes that are AHEAD of AT nearer to the processor. */
DM_INLINE void entry_sums_fetch(const void *at, int64_t ahead, int64_t bytes) {
  for (int64_t i = 0; ahead != 0 && i < bytes; i += CACHE_LINE)
    __builtin_prefetch((const char *)at + ahead + i, 0, 2);
}

/* What is summed of ENTRY_SUMS_LANES rows M: M x, and the squares of its terms or, with SIZES, of
 * other terms; with NORMS, the squares of all elements. */
typedef struct row_sums {
  entry_sums_four sum[ENTRY_SUMS_LANES], square[ENTRY_SUMS_LANES], norm[ENTRY_SUMS_LANES];
} row_sums;

DM_INLINE void entry_sums_add_run(const void *const row[ENTRY_SUMS_LANES], int64_t j, size_t count,
                                  bool narrow, const double *x, const double *sizes, bool norms,
                                  row_sums *s) {
  entry_sums_four by, size;
  entry_sums_load(&by, x, j, ENTRY_SUMS_LANES, false);
  entry_sums_load(&size, sizes ? sizes : x, j, ENTRY_SUMS_LANES, false);
  for (int r = 0; r < ENTRY_SUMS_LANES; r++) {
    entry_sums_four e;
    entry_sums_load(&e, row[r], j, count, narrow);
    const entry_sums_four term = e * by, sized = sizes ? e * size : term;
    s->sum[r] += term;
    s->square[r] += sized * sized;
    if (norms) s->norm[r] += e * e;
  }
}

/* SUMS and SQUARES for all rows of M; returns the sum of all squares if NORMS. Rows behind the last
 * repeat it. */
DM_INLINE double entry_sums_sum_rows(dm_view m, bool narrow, const double *x, const double *sizes,
                                     bool norms, int64_t ahead, double *sums, double *squares) {
  const int64_t whole = m.cols / ENTRY_SUMS_LANES * ENTRY_SUMS_LANES,
                size = narrow ? sizeof(float) : sizeof(double);
  double all = 0.0, of_rows[ENTRY_SUMS_LANES];
  for (int64_t i = 0; i < m.rows; i += ENTRY_SUMS_LANES) {
    const void *row[ENTRY_SUMS_LANES];
    row_sums s;
    for (int r = 0; r < ENTRY_SUMS_LANES; r++) /* s = {0} would clear memory, not registers */
      s.sum[r] = s.square[r] = s.norm[r] = (entry_sums_four){0};
    for (int r = 0; r < ENTRY_SUMS_LANES; r++)
      row[r] = (const char *)m.base + dm_min(i + r, m.rows - 1) * m.row_stride * size;
    for (int r = 0; r < ENTRY_SUMS_LANES; r++) entry_sums_fetch(row[r], ahead, m.cols * size);
    for (int64_t j = 0; j < whole; j += ENTRY_SUMS_LANES)
      entry_sums_add_run(row, j, ENTRY_SUMS_LANES, narrow, x, sizes, norms, &s);
    if (whole < m.cols)
      entry_sums_add_run(row, whole, (size_t)(m.cols - whole), narrow, x, sizes, norms, &s);
    add_lanes(sums + i, s.sum);
    add_lanes(squares + i, s.square);
    if (!norms) continue;
    add_lanes(of_rows, s.norm);
    for (int64_t r = 0; r < dm_min(ENTRY_SUMS_LANES, m.rows - i); r++) all += of_rows[r];
  }
  return all;
}

enum { ENTRY_SUMS_GROUPS = 8 }; /* of columns, whose sums stay in registers */

/* Adds the squares of COUNT columns from column J on. */
DM_INLINE void entry_sums_add_squares(dm_view m, int64_t j, size_t count, bool narrow, int groups,
                                      int64_t ahead, double *squares) {
  const int64_t size = narrow ? sizeof(float) : sizeof(double);
  entry_sums_four sum[ENTRY_SUMS_GROUPS] = {{0}};
  for (int64_t i = 0; i < m.rows; i++) {
    const char *row = (const char *)m.base + i * m.row_stride * size;
    entry_sums_fetch(row + j * size, ahead, groups * ENTRY_SUMS_LANES * size);
    for (int g = 0; g < groups; g++) {
      entry_sums_four e;
      entry_sums_load(&e, row, j + g * ENTRY_SUMS_LANES, count, narrow);
      sum[g] += e * e;
    }
  }
  memcpy(squares + j, sum, (size_t)groups * sizeof sum[0]);
}

DM_INLINE void sum_columns(dm_view m, bool narrow, int64_t ahead, double *squares) {
  int64_t j = 0;
  for (; j + ENTRY_SUMS_GROUPS * ENTRY_SUMS_LANES <= m.cols;
       j += ENTRY_SUMS_GROUPS * ENTRY_SUMS_LANES)
    entry_sums_add_squares(m, j, ENTRY_SUMS_LANES, narrow, ENTRY_SUMS_GROUPS, ahead, squares);
  for (; j < m.cols; j += ENTRY_SUMS_LANES)
    if (j + ENTRY_SUMS_LANES <= m.cols)
      entry_sums_add_squares(m, j, ENTRY_SUMS_LANES, narrow, 1, ahead, squares);
    else
      entry_sums_add_squares(m, j, (size_t)(m.cols - j), narrow, 1, ahead, squares);
}

/* ---- both widths of vectors, and both types ---- */

typedef struct entry_sums_operands {
  dm_view m;
  const double *x, *sizes;
  bool norms;
  const void *next; /* the same matrix of the next entry, fetched meanwhile; or NULL */
  double *sums, *squares;
} entry_sums_operands;

DM_INLINE double sum_all(const entry_sums_operands *o) {
  const bool narrow = o->m.dtype == DM_F32;
  const int64_t ahead = o->next ? (const char *)o->next - (const char *)o->m.base : 0;
  if (!o->sums) {
    narrow ? sum_columns(o->m, true, ahead, o->squares)
           : sum_columns(o->m, false, ahead, o->squares);
    return 0.0;
  }
  if (o->sizes)
    return narrow
               ? entry_sums_sum_rows(o->m, true, o->x, o->sizes, false, ahead, o->sums, o->squares)
               : entry_sums_sum_rows(o->m, false, o->x, o->sizes, false, ahead, o->sums,
                                     o->squares);
  if (o->norms)
    return narrow ? entry_sums_sum_rows(o->m, true, o->x, NULL, true, ahead, o->sums, o->squares)
                  : entry_sums_sum_rows(o->m, false, o->x, NULL, true, ahead, o->sums, o->squares);
  return narrow ? entry_sums_sum_rows(o->m, true, o->x, NULL, false, ahead, o->sums, o->squares)
                : entry_sums_sum_rows(o->m, false, o->x, NULL, false, ahead, o->sums, o->squares);
}

static double entry_sums_sum_plain(const entry_sums_operands *o) {
  return sum_all(o);
}

DM_WIDE_VECTORS static double entry_sums_sum_wide(const entry_sums_operands *o) {
  return sum_all(o);
}

static double entry_sums_sum(entry_sums_operands o) {
  return (dm_has_wide_vectors() ? entry_sums_sum_wide : entry_sums_sum_plain)(&o);
}

/* ---- the check ---- */

/* Whether X is finite and, as a sum of squares, accurate. */
static bool entry_sums_is_plain(double x) {
  return (x > DM_LEAST_SQUARES) & (x < 1.0 / DM_LEAST_SQUARES); /* no branch: loops are vectors */
}

/* VIEW's rows with their real and imaginary parts in turn. */
static dm_view in_parts(dm_view view) {
  return dm_dtype_is_complex(view.dtype) ? dm_view_parts(view) : view;
}

/* W[j] = FACTOR[j] / sqrt(SQUARES[j]); *odd: how many are not plain. */
DM_INLINE void entry_sums_divide_loop(int64_t n, const double *restrict factor,
                                      const double *restrict squares, double *restrict w,
                                      int64_t *odd) {
  int64_t count = 0;
  for (int64_t j = 0; j < n; j++) {
    count += !entry_sums_is_plain(squares[j]);
    w[j] = factor[j] / sqrt(squares[j]);
  }
  *odd = count;
}
DM_BOTH_WIDTHS(entry_sums_divide,
               (int64_t n, const double *factor, const double *squares, double *w, int64_t *odd),
               (n, factor, squares, w, odd))

static bool entry_sums_weigh(dm_entry_sums *s) {
  const int parts = s->parts;
  double *squares = s->col_squares, *w = s->weights[0];
  int64_t odd;
  if (parts == 2) {
    for (int64_t j = 0; j < s->n; j++) squares[j] = squares[2 * j] + squares[2 * j + 1];
    w = squares + s->n;
  }
  entry_sums_divide(s->n, s->factor, squares, w, &odd);
  s->w_squares = 0.0;
  for (int64_t j = 0; j < s->n; j++) s->w_squares += w[j] * w[j];
  for (int64_t j = 0; parts == 2 && j < s->n; j++)
    for (int x = 0; x < parts; x++) s->weights[x][parts * j + x] = w[j];
  return odd == 0;
}

/* Takes the roots of X; *odd: how many elements are not plain. */
DM_INLINE void take_roots_loop(int64_t n, double *x, int64_t *odd) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    count += !entry_sums_is_plain(x[i]);
    x[i] = sqrt(x[i]);
  }
  *odd = count;
}
DM_BOTH_WIDTHS(take_roots, (int64_t n, double *x, int64_t *odd), (n, x, odd))

/* Both parts of M w, and for each row the sum of squares of its terms; returns that of all elements
 * of M, if NORMS. */
static double sum_weighted(dm_entry_sums *s, dm_view m, bool norms, const void *next,
                           double *const sums[ENTRY_SUMS_PARTS], double *squares) {
  const double all = entry_sums_sum((entry_sums_operands){.m = m,
                                                          .x = s->weights[0],
                                                          .norms = norms,
                                                          .next = next,
                                                          .sums = sums[0],
                                                          .squares = squares});
  if (s->parts == 1) return all;
  (void)entry_sums_sum(
      (entry_sums_operands){.m = m, .x = s->weights[1], .sums = sums[1], .squares = s->more});
  for (int64_t i = 0; i < m.rows; i++) squares[i] += s->more[i];
  return all;
}

/* B w as the factors of A's parts. */
static void spread_terms(dm_entry_sums *s) {
  const int parts = s->parts;
  for (int64_t i = 0; i < s->k; i++) {
    for (int x = 0; x < parts; x++) {
      s->terms[x][parts * i] = s->t[x][i];
      s->each_size[parts * i + x] = s->sizes[i];
    }
    if (parts == 1) continue;
    s->terms[0][2 * i + 1] = -s->t[1][i];
    s->terms[1][2 * i + 1] = s->t[0][i];
  }
}

void dm_entry_sums_fetch(dm_entry_sums *s, const dm_whole_product *next) {
  s->next_a = next ? next->a.base : NULL;
  s->next_b = next ? next->b.base : NULL;
  s->next_c = next ? next->c.base : NULL;
}

bool dm_entry_sums_operands(dm_entry_sums *s, dm_view a, dm_view b) {
  a = in_parts(a);
  b = in_parts(b);
  (void)entry_sums_sum((entry_sums_operands){.m = b, .next = s->next_b, .squares = s->col_squares});
  if (!entry_sums_weigh(s)) return false;
  (void)sum_weighted(s, b, false, NULL, s->t, s->sizes);
  int64_t odd;
  take_roots(s->k, s->sizes, &odd);
  if (odd > 0) return false;
  spread_terms(s);
  (void)entry_sums_sum((entry_sums_operands){.m = a,
                                             .x = s->terms[0],
                                             .sizes = s->each_size,
                                             .next = s->next_a,
                                             .sums = s->y[0],
                                             .squares = s->a_squares});
  if (s->parts == 2)
    (void)entry_sums_sum(
        (entry_sums_operands){.m = a, .x = s->terms[1], .sums = s->y[1], .squares = s->more});
  return true;
}

/* ROW[i] = |z - alpha y| of row i. */
static void entry_sums_subtract(const dm_entry_sums *s, double *row) {
  const double *alpha = s->factors.alpha, *const *z = (const double *const *)s->z,
               *const *y = (const double *const *)s->y;
  for (int64_t i = 0; i < s->m; i++) row[i] = z[0][i] - alpha[0] * y[0][i];
  for (int64_t i = 0; s->parts == 2 && i < s->m; i++) {
    const double real = row[i] + alpha[1] * y[1][i];
    const double imaginary = z[1][i] - (alpha[0] * y[1][i] + alpha[1] * y[0][i]);
    row[i] = sqrt(real * real + imaginary * imaginary);
  }
}

/* What rows are compared with. */
typedef struct bounds {
  const dm_row_factors *factors;
  double alpha, subnormal;
  const double *a_squares, *z_squares;
} bounds;

/* Divides each of M ROWS by its bound and, for RELATIVE, by its scale; *odd: how many are not plain
 * or exceed the bound. As dm_row_compare, for rows that need none of its exceptions. */
DM_INLINE void entry_sums_compare_loop(int64_t m, const bounds *b, double *restrict row,
                                       double *restrict relative, int64_t *odd) {
  const double *restrict a_squares = b->a_squares, *restrict z_squares = b->z_squares;
  const dm_row_factors f = *b->factors;
  const double factor = b->alpha * f.depth, subnormal = b->subnormal;
  int64_t count = 0;
  for (int64_t i = 0; i < m; i++) {
    const double scale = factor * sqrt(a_squares[i]), root = sqrt(z_squares[i]);
    const double spread = root < scale ? root : scale, difference = fabs(row[i]);
    const double ratio = difference / dm_row_bound(&f, scale, scale, spread, subnormal);
    count += !(entry_sums_is_plain(a_squares[i]) & (ratio <= 1.0));
    relative[i] = difference / scale;
    row[i] = ratio;
  }
  *odd = count;
}
DM_BOTH_WIDTHS(entry_sums_compare,
               (int64_t m, const bounds *b, double *row, double *relative, int64_t *odd),
               (m, b, row, relative, odd))

bool dm_entry_sums_judge(dm_entry_sums *s, dm_view c, int64_t first) {
  const bounds b = {.factors = &s->factors,
                    .alpha = dm_row_modulus(s->factors.alpha),
                    .subnormal = s->factors.unit * sqrt(s->w_squares),
                    .a_squares = s->a_squares,
                    .z_squares = s->z_squares};
  const double squares = sum_weighted(s, in_parts(c), true, s->next_c, s->z, s->z_squares);
  double *row = s->z[0], *relative = s->y[0];
  int64_t odd;
  entry_sums_subtract(s, row);
  entry_sums_compare(s->m, &b, row, relative, &odd);
  if (odd > 0 || !entry_sums_is_plain(b.alpha)) return false;
  s->passed++;
  s->squares += squares;
  for (int64_t i = 0; i < s->m; i++) {
    if (relative[i] > s->relative) s->relative = relative[i];
    if (row[i] <= s->residual) continue;
    s->residual = row[i];
    s->worst_row = first + i;
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
