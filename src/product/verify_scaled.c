/* Verification of matrices with any exponents. Integers e, d, g are chosen such that no element of
 *   A' = 2^(d_k - f_i) A,  B' = 2^(-d_k - e_j) B
 * exceeds 1, and some element of each row and column of B' and row of A' is close to it. Then
 *   C' = 2^(-g_i - e_j) C = alpha' A' B' + beta' C0'
 * is checked as usual. Powers of two do not round. */
#include <math.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "product/verify.h"

enum {
  VERIFY_NONE = INT32_MIN, /* the exponent of zero */
  VANISHES = -4000,        /* of elements that only meet zeros: smaller than all others */
};

/* What a pass over a matrix shifts its elements by: the exponents of its rows and columns (NULL: 0)
 * with these signs, and all by BY. Those of the rows of op(B) start with the window's first. */
typedef struct shifting {
  const int64_t *rows, *cols;
  int row_sign, col_sign;
  int64_t by;
} shifting;

typedef struct scaling {
  dm_run *run;
  const dm_verify *v;
  const dm_problem *p;
  dm_freivalds *check;
  dm_freivalds_part *add;
  int64_t room;            /* rows of op(B) in the longest window, ... */
  dm_verify_window window; /* ... and the present one */
  bool knows_rows;         /* B_ROWS has all rows of op(B) */
  int parts;
  int64_t *memory;                              /* of all that follow */
  int64_t *b_cols, *b_rows, *a_rows, *old_rows; /* exponents: e, d of the window, f, C0's rows' */
  int64_t *c_rows;                              /* g */
  int64_t *a_bad, *b_bad;                       /* 1: the row or column holds NaN or Inf */
  int64_t *row_finite, *col_finite;             /* finite elements of C in these */
  long double squares;                          /* of C's elements */
  const shifting *shift;                        /* of a pass over a matrix, */
  int64_t *found, *bad;                         /* and its results; per column if BY_COLS */
  bool by_cols;
} scaling;

/* Where the exponent of row or column LINE is in EXPONENTS. */
static int64_t verify_place_in(const scaling *s, const int64_t *exponents, int64_t line) {
  return exponents == s->b_rows ? line - s->window.k.begin : line;
}

/* SIGN times the exponent of LINE in EXPONENTS, which may be NULL. */
static int64_t shift_by(const scaling *s, const int64_t *exponents, int sign, int64_t line) {
  const int64_t exponent = exponents ? exponents[verify_place_in(s, exponents, line)] : VERIFY_NONE;
  return exponent != VERIFY_NONE ? sign * exponent : 0;
}

static int64_t shift_of(const scaling *s, int64_t row, int64_t col) {
  const shifting *by = s->shift;
  return by->by + shift_by(s, by->rows, by->row_sign, row) +
         shift_by(s, by->cols, by->col_sign, col);
}

/* Of the real or imaginary part X of an element. */
static void find_exponent(scaling *s, double x, int64_t row, int64_t col) {
  const int64_t at = verify_place_in(s, s->found, s->by_cols ? col : row);
  int exponent;
  if (!isfinite(x)) {
    if (s->bad) s->bad[at] = 1;
  } else if (x != 0.0 && !(s->shift->cols == s->b_cols && s->b_bad[col])) {
    (void)frexp(x, &exponent);
    s->found[at] = dm_max(s->found[at], exponent + shift_of(s, row, col));
  }
}

/* The largest exponents of rows, or columns, after the shift. */
static dm_status verify_find(void *context, dm_view part, int64_t row, int64_t col) {
  scaling *s = context;
  for (int64_t i = 0; i < part.rows; i++)
    for (int64_t j = 0; j < part.cols; j++) {
      const double *x = dm_view_at(part, i, j);
      for (int p = 0; p < s->parts; p++) find_exponent(s, x[p], row + i, col + j);
    }
  return DM_OK;
}

static dm_status scale_and_add(void *context, dm_view part, int64_t row, int64_t col) {
  scaling *s = context;
  for (int64_t i = 0; i < part.rows; i++)
    for (int64_t j = 0; j < part.cols; j++) {
      double *x = dm_view_at(part, i, j);
      const int shift = (int)shift_of(s, row + i, col + j);
      for (int p = 0; p < s->parts; p++) x[p] = scalbn(x[p], shift);
    }
  return s->add(s->check, NULL, part, row, col);
}

static dm_status take_c(void *context, dm_view part, int64_t row, int64_t col) {
  scaling *s = context;
  for (int64_t i = 0; i < part.rows; i++)
    for (int64_t j = 0; j < part.cols; j++) {
      const double *x = dm_view_at(part, i, j);
      bool finite = true;
      for (int p = 0; p < s->parts; p++) {
        finite &= isfinite(x[p]) != 0;
        s->squares += (long double)x[p] * x[p];
      }
      if (finite && s->a_bad[row + i]) s->row_finite[row + i]++;
      if (finite && !s->a_bad[row + i] && s->b_bad[col + j]) s->col_finite[col + j]++;
    }
  return scale_and_add(context, part, row, col);
}

static dm_status verify_open_all(scaling *s) {
  const dm_problem *p = s->p;
  enum { EXPONENTS = 5, VERIFY_SCALED_VECTORS = 9 };
  int64_t **const vectors[VERIFY_SCALED_VECTORS] = {&s->b_cols,   &s->b_rows,     &s->a_rows,
                                                    &s->old_rows, &s->c_rows,     &s->a_bad,
                                                    &s->b_bad,    &s->row_finite, &s->col_finite};
  const int64_t sizes[VERIFY_SCALED_VECTORS] = {p->n, s->room, p->m, p->m, p->m,
                                                p->m, p->n,    p->m, p->n};
  s->parts = dm_dtype_is_complex(p->work) ? 2 : 1;
  DM_TRY(dm_buffer_table(5 * p->m + 3 * p->n + s->room, &s->memory));
  int64_t *at = s->memory;
  for (int i = 0; i < VERIFY_SCALED_VECTORS; at += sizes[i++]) {
    *vectors[i] = at;
    for (int64_t j = 0; j < sizes[i] && i < EXPONENTS; j++) at[j] = VERIFY_NONE;
  }
  return DM_OK;
}

/* Of op(A) and op(B) only the window passes if there is one. */
static dm_status verify_scaled_pass(scaling *s, int which, const shifting *shift,
                                    dm_part_taker *take) {
  const dm_extent *part = which == DM_A ? &s->window.a : which == DM_B ? &s->window.b : NULL;
  if (s->window.k.end == 0) part = NULL;
  s->shift = shift;
  return dm_comm_agree(s->run->world, dm_verify_stream_part(s->run, s->v, which, part,
                                                            dm_dtype_widest(s->p->work), take, s));
}

/* Finds the COUNT largest exponents of rows, or columns, on all ranks, and, unless BAD is NULL,
 * which of these lines hold NaN or Inf. */
static dm_status find_in(scaling *s, int which, bool by_cols, shifting shift, int64_t count,
                         int64_t *found, int64_t *bad) {
  s->found = found;
  s->bad = bad;
  s->by_cols = by_cols;
  DM_TRY(verify_scaled_pass(s, which, &shift, verify_find));
  DM_TRY(dm_comm_max_i64(s->run->world, found, count));
  return bad ? dm_comm_max_i64(s->run->world, bad, count) : DM_OK;
}

static int verify_exponent_of(const double z[2]) {
  int exponent = 0;
  (void)frexp(fmax(fabs(z[0]), fabs(z[1])), &exponent);
  return exponent;
}

/* d of the window. */
static dm_status find_rows_of_b(scaling *s) {
  const int64_t rows = s->window.k.end - s->window.k.begin;
  for (int64_t l = 0; l < rows; l++) s->b_rows[l] = VERIFY_NONE;
  DM_TRY(find_in(s, DM_B, false, (shifting){.cols = s->b_cols, .col_sign = -1}, rows, s->b_rows,
                 NULL));
  for (int64_t l = 0; l < rows; l++)
    if (s->b_rows[l] == VERIFY_NONE) s->b_rows[l] = VANISHES;
  s->knows_rows = rows == s->p->k;
  return DM_OK;
}

static dm_status each_window(scaling *s, dm_status (*work)(scaling *s)) {
  s->window = (dm_verify_window){.k = {0, 0}};
  while (dm_verify_next_window(s->p, s->room, &s->window)) {
    if (!s->knows_rows) DM_TRY(find_rows_of_b(s));
    DM_TRY(work(s));
  }
  return DM_OK;
}

static dm_status find_rows_of_a(scaling *s) {
  const int of_alpha = verify_exponent_of(s->v->equation.alpha);
  return find_in(s, DM_A, false, (shifting){.cols = s->b_rows, .col_sign = 1, .by = of_alpha},
                 s->p->m, s->a_rows, s->a_bad);
}

/* Finds e, f, the exponents of C0's rows, and from them g. */
static dm_status find_exponents(scaling *s) {
  const dm_problem *p = s->p;
  const double *alpha = s->v->equation.alpha;
  const int of_beta = verify_exponent_of(s->v->equation.beta);
  DM_TRY(find_in(s, DM_B, true, (shifting){0}, p->n, s->b_cols, s->b_bad));
  DM_TRY(each_window(s, find_rows_of_a));
  if (p->reads_c)
    DM_TRY(find_in(s, DM_OLD, false, (shifting){.cols = s->b_cols, .col_sign = -1, .by = of_beta},
                   p->m, s->old_rows, NULL));
  const bool multiplies = alpha[0] != 0.0 || alpha[1] != 0.0;
  for (int64_t i = 0; i < p->m; i++)
    s->c_rows[i] = dm_max(multiplies ? s->a_rows[i] : VERIFY_NONE, s->old_rows[i]);
  return DM_OK;
}

static dm_status verify_add_b(scaling *s, dm_freivalds_part *part) {
  const shifting of_b = {s->b_rows, s->b_cols, -1, -1, 0};
  s->add = part;
  return verify_scaled_pass(s, DM_B, &of_b, scale_and_add);
}

static dm_status scan_window(scaling *s) {
  return verify_add_b(s, dm_freivalds_scan_b);
}

static dm_status add_window(scaling *s) {
  const shifting of_a = {s->c_rows, s->b_rows, -1, 1, verify_exponent_of(s->v->equation.alpha)};
  dm_freivalds_turn_to(s->check, s->window.k);
  DM_TRY(verify_add_b(s, dm_freivalds_add_b));
  DM_TRY(dm_freivalds_project(s->check, s->run->world));
  s->add = dm_freivalds_add_a;
  return verify_scaled_pass(s, DM_A, &of_a, scale_and_add);
}

static dm_status verify_add_all(scaling *s) {
  const shifting of_c = {s->c_rows, s->b_cols, -1, -1, 0};
  const shifting of_old = {s->c_rows, s->b_cols, -1, -1, verify_exponent_of(s->v->equation.beta)};
  DM_TRY(each_window(s, scan_window));
  DM_TRY(dm_freivalds_weigh(s->check, s->run->world));
  DM_TRY(each_window(s, add_window));
  s->add = dm_freivalds_add_c;
  DM_TRY(verify_scaled_pass(s, DM_C, &of_c, take_c));
  if (!s->p->reads_c) return DM_OK;
  s->add = dm_freivalds_add_c0;
  return verify_scaled_pass(s, DM_OLD, &of_old, scale_and_add);
}

/* Over all ranks: the root of the sum of squares, which may exceed any f64. */
static dm_status norm_of(const scaling *s, double *norm) {
  const dm_comm *world = s->run->world;
  const double own = (double)sqrtl(s->squares);
  double largest = own;
  DM_TRY(dm_comm_max_f64(world, &largest, 1));
  double part = largest > 0.0 && isfinite(largest) ? own / largest : 0.0;
  part *= part;
  DM_TRY(dm_comm_sum_f64(world, &part, 1));
  *norm = isfinite(largest) ? largest * sqrt(part) : largest;
  return DM_OK;
}

/* If A's row or B's column has NaN or Inf, C's must, too: these elements are checked by that. */
static dm_status count_patterns(scaling *s, dm_verdict *verdict) {
  const dm_problem *p = s->p;
  DM_TRY(dm_comm_sum_i64(s->run->world, s->row_finite, p->m));
  DM_TRY(dm_comm_sum_i64(s->run->world, s->col_finite, p->n));
  for (int64_t i = 0; i < p->m; i++)
    if (s->a_bad[i] && s->row_finite[i] == 0) {
      verdict->rows_left_out--;
      verdict->rows_checked++;
      verdict->rows_by_pattern++;
    }
  for (int64_t j = 0; j < p->n; j++)
    if (s->b_bad[j] && s->col_finite[j] == 0) {
      verdict->cols_left_out--;
      verdict->cols_checked++;
      verdict->cols_by_pattern++;
    }
  return DM_OK;
}

static dm_status verify_scaled_judge(scaling *s, dm_verdict *verdict) {
  const dm_comm *world = s->run->world;
  const dm_verify *v = s->v;
  const int alpha = -verify_exponent_of(v->equation.alpha),
            beta = -verify_exponent_of(v->equation.beta);
  const double alphas[2] = {scalbn(v->equation.alpha[0], alpha),
                            scalbn(v->equation.alpha[1], alpha)};
  const double betas[2] = {scalbn(v->equation.beta[0], beta), scalbn(v->equation.beta[1], beta)};
  DM_TRY(
      dm_comm_agree(world, dm_freivalds_new(s->p, alphas, betas, v->from_gpu, s->room, &s->check)));
  dm_verify_prepare(v, (dm_range){0, s->p->m}, s->check);
  dm_freivalds_scaled(s->check, s->c_rows, s->b_cols, -alpha);
  DM_TRY(verify_add_all(s));
  DM_TRY(dm_freivalds_judge(s->check, world, verdict));
  verdict->strained = false;
  DM_TRY(norm_of(s, &verdict->norm));
  return count_patterns(s, verdict);
}

dm_status dm_verify_scaled(dm_run *run, const dm_verify *v, const dm_problem *p,
                           dm_verdict *verdict) {
  scaling s = {.run = run, .v = v, .p = p, .room = dm_verify_room(v, p)};
  dm_status status = dm_comm_agree(run->world, verify_open_all(&s));
  if (!status) status = find_exponents(&s);
  for (int64_t i = 0; i < p->m && !status; i++)
    if (s.c_rows[i] == VERIFY_NONE) s.c_rows[i] = 0;
  for (int64_t j = 0; j < p->n && !status; j++)
    if (s.b_cols[j] == VERIFY_NONE) s.b_cols[j] = 0;
  if (!status) status = verify_scaled_judge(&s, verdict);
  dm_freivalds_free(s.check);
  free(s.memory);
  return status;
}
