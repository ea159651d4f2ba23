/* Rows and columns of C that must be NaN, because a line of A or B is constant and divided by its
 * deviation, or centered without a mean; and elements of C that are not finite though the sums that
 * they were made of are. The other elements are verified as usual. */
#include <math.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "product/verify.h"

/* How the lines of A and B are centered that become rows and columns of C; NULL: not at all. */
typedef struct expected {
  const dm_centering *rows, *cols;
} expected;

/* CENTERING, if it is of those lines of a matrix that its op makes ROWS, or columns, of op(X). */
static const dm_centering *outer(const dm_centering *centering, dm_op op, bool rows) {
  const dm_lines lines = (op == DM_OP_N) == rows ? DM_ROW_LINES : DM_COLUMN_LINES;
  return centering && centering->lines == lines ? centering : NULL;
}

static expected verify_expect(const dm_dataset *a, const dm_dataset *b, const dm_equation *e) {
  if (e->alpha[0] == 0.0 && e->alpha[1] == 0.0) return (expected){NULL, NULL};
  return (expected){outer(a->centering, e->op_a, true), outer(b->centering, e->op_b, false)};
}

static int64_t count_nan(const dm_centering *lines) {
  int64_t count = 0;
  for (int64_t i = 0; lines && i < lines->count; i++) count += dm_centering_is_nan(lines, i);
  return count;
}

bool dm_verify_expect_nan(const dm_dataset *a, const dm_dataset *b, const dm_equation *equation,
                          dm_freivalds *check) {
  const expected of = verify_expect(a, b, equation);
  dm_freivalds_expect_nan(check, of.rows, of.cols);
  return count_nan(of.rows) + count_nan(of.cols) > 0;
}

typedef struct verify_search {
  expected of;
  dm_half half;
  int64_t parts, wrong; /* wrong: the first row with a number in place of NaN; INT64_MAX: none */
} verify_search;

static bool is_stored(const verify_search *l, int64_t i, int64_t j) {
  return l->half == DM_BOTH_HALVES || (l->half == DM_LOWER_HALF ? j <= i : j >= i);
}

static dm_status verify_find_numbers(void *context, dm_view part, int64_t row, int64_t col) {
  verify_search *l = context;
  for (int64_t i = row; i < row + part.rows; i++) {
    const bool all = l->of.rows && dm_centering_is_nan(l->of.rows, i);
    for (int64_t j = col; j < col + part.cols; j++) {
      if (!all && !(l->of.cols && dm_centering_is_nan(l->of.cols, j))) continue;
      const double *x = dm_view_at(part, i - row, j - col);
      const bool is_nan = isnan(x[0]) || (l->parts == 2 && isnan(x[1]));
      if (!is_nan && is_stored(l, i, j)) l->wrong = dm_min(l->wrong, i);
    }
  }
  return DM_OK;
}

dm_status dm_verify_nan(dm_run *run, const dm_verify *v, const dm_problem *p, dm_verdict *verdict) {
  verify_search l = {.of = verify_expect(&v->a, &v->b, &v->equation),
                     .half = p->half,
                     .parts = dm_dtype_is_complex(p->work) ? 2 : 1,
                     .wrong = INT64_MAX};
  const int64_t rows = count_nan(l.of.rows), cols = count_nan(l.of.cols);
  if (!verdict->pass || verdict->strained || rows + cols == 0) return DM_OK;
  DM_TRY(dm_comm_agree(run->world, dm_verify_stream(run, v, DM_C, dm_dtype_widest(p->work),
                                                    verify_find_numbers, &l)));
  int64_t least = -l.wrong;
  DM_TRY(dm_comm_max_i64(run->world, &least, 1));
  if (-least < INT64_MAX) {
    verdict->pass = false;
    verdict->residual = verdict->relative = (double)INFINITY;
    verdict->worst_row = -least;
    return DM_OK;
  }
  verdict->rows_by_pattern = rows;
  verdict->cols_by_pattern = cols;
  verdict->rows_checked += rows;
  verdict->cols_checked += cols;
  verdict->rows_left_out -= rows;
  verdict->cols_left_out -= cols;
  return DM_OK;
}

/* ---- what became of finite sums ---- */

typedef struct spoiled {
  expected of;
  int64_t parts, elements;
  int64_t *rows; /* set to 1 for those of such elements; or NULL */
} spoiled;

static dm_status find_spoiled(void *context, dm_view part, int64_t row, int64_t col) {
  spoiled *s = context;
  for (int64_t i = row; i < row + part.rows; i++) {
    if (s->of.rows && dm_centering_is_nan(s->of.rows, i)) continue;
    for (int64_t j = col; j < col + part.cols; j++) {
      const double *x = dm_view_at(part, i - row, j - col);
      if (isfinite(x[0]) && (s->parts == 1 || isfinite(x[1]))) continue;
      if (s->of.cols && dm_centering_is_nan(s->of.cols, j)) continue;
      s->elements++;
      if (s->rows) s->rows[i] = 1;
    }
  }
  return DM_OK;
}

static dm_status pass_c(dm_run *run, const dm_verify *v, const dm_problem *p, spoiled *s) {
  return dm_comm_agree(run->world,
                       dm_verify_stream(run, v, DM_C, dm_dtype_widest(p->work), find_spoiled, s));
}

/* Whether no sum times alpha is too large for C's type. */
static bool cannot_overflow(const dm_verify *v, const dm_problem *p, const dm_verdict *verdict) {
  const double largest = fmin(dm_dtype_largest(p->c), dm_dtype_largest(p->accumulator));
  const double alpha = hypot(v->equation.alpha[0], v->equation.alpha[1]);
  return !p->reads_c && fmax(alpha, 1.0) * verdict->norm < 0.5 * largest;
}

dm_status dm_verify_finished(dm_run *run, const dm_verify *v, const dm_problem *p,
                             dm_verdict *verdict) {
  spoiled s = {.of = verify_expect(&v->a, &v->b, &v->equation),
               .parts = dm_dtype_is_complex(p->work) ? 2 : 1};
  DM_FREED int64_t *rows = NULL;
  if (verdict->exact || cannot_overflow(v, p, verdict)) return DM_OK;
  DM_TRY(pass_c(run, v, p, &s));
  DM_TRY(dm_comm_sum_i64(run->world, &s.elements, 1));
  if (s.elements == 0) return DM_OK;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(p->m, &rows)));
  s.rows = rows;
  DM_TRY(pass_c(run, v, p, &s));
  DM_TRY(dm_comm_max_i64(run->world, rows, p->m));
  for (int64_t i = 0; i < p->m; i++) {
    verdict->rows_left_out += rows[i];
    verdict->rows_checked -= rows[i];
  }
  return DM_OK;
}

void dm_verify_prepare(const dm_verify *v, dm_range rows, dm_freivalds *check) {
  uint8_t *wrong = v->wrong ? v->wrong + rows.begin : NULL;
  dm_freivalds_repeat(check, v->seed, v->draw);
  if (wrong) memset(wrong, 0, (size_t)dm_range_size(rows));
  dm_freivalds_mark(check, wrong);
  dm_verify_expect_nan(&v->a, &v->b, &v->equation, check);
}
