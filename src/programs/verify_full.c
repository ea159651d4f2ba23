#include "programs/verify_result_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/probe.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "io/read.h"
#include "plan/partition.h"
#include "run/facts.h"

static const double largest_product = 0x1p33;

/* Matrices with two f64 per element, whatever their type: whole numbers are exact in f64. */
typedef struct verify_operands {
  double *a, *b, *c, *c0; /* a, c and c0: this rank's rows */
  dm_range rows;
} verify_operands;

/* Reads ROWS of op(X), of the entry that V passes. */
static dm_status read_wide(const dm_verify *v, const dm_dataset *dataset, dm_dtype as, dm_op op,
                           dm_range rows, int64_t cols, double **out) {
  const int64_t all = op == DM_OP_N ? dataset->rows : dataset->cols;
  const int64_t first = rows.begin + all / dm_max(1, v->entries) * v->entry;
  const int64_t count = dm_range_size(rows);
  DM_TRY(dm_buffer_zeroed(dm_max(1, count * cols), 2 * sizeof(double), (void **)out));
  if (count == 0) return DM_OK;
  dm_reader *reader;
  DM_TRY(dm_reader_open(dataset, as, &reader));
  dm_view view = dm_view_row_major(*out, DM_C128, count, cols);
  if (op != DM_OP_N) view = dm_view_transpose(view);
  dm_status status = op == DM_OP_N ? dm_reader_read(reader, first, 0, &view, 1, false)
                                   : dm_reader_read(reader, 0, first, &view, 1, op == DM_OP_C);
  dm_reader_close(reader);
  return status;
}

static dm_status read_all(const dm_verify *v, const dm_problem *p, verify_operands *x) {
  const dm_equation *e = &v->equation;
  DM_TRY(read_wide(v, &v->a, e->type, e->op_a, x->rows, p->k, &x->a));
  DM_TRY(read_wide(v, &v->b, e->type, e->op_b, (dm_range){0, p->k}, p->n, &x->b));
  DM_TRY(read_wide(v, &v->c, DM_DTYPE_NONE, DM_OP_N, x->rows, p->n, &x->c));
  return p->reads_c ? read_wide(v, &v->c0, DM_DTYPE_NONE, DM_OP_N, x->rows, p->n, &x->c0) : DM_OK;
}

/* sum[j] += a b(:,j), size[j] += |a| |b(:,j)| for one element of A. */
static void add_row(long double *sum, double *size, const double a[2], const double *b, int64_t n) {
  const long double re = a[0], im = a[1];
  const double magnitude = fabs(a[0]) + fabs(a[1]); /* 1-norms: cheap, and never too small */
  for (int64_t j = 0; j < n; j++) {
    sum[2 * j] += re * b[2 * j] - im * b[2 * j + 1];
    sum[2 * j + 1] += re * b[2 * j + 1] + im * b[2 * j];
    size[j] += magnitude * (fabs(b[2 * j]) + fabs(b[2 * j + 1]));
  }
}

/* |C - C'| over its bound for one element; 0 over 0 counts as 0. */
static double ratio_of(const dm_verify *v, const dm_problem *p, const long double sum[2],
                       double size, const double c[2], const double *c0) {
  const double *alpha = v->equation.alpha, *beta = v->equation.beta;
  long double re = alpha[0] * sum[0] - alpha[1] * sum[1];
  long double im = alpha[0] * sum[1] + alpha[1] * sum[0];
  double old = 0.0;
  if (c0) {
    re += (long double)beta[0] * c0[0] - (long double)beta[1] * c0[1];
    im += (long double)beta[0] * c0[1] + (long double)beta[1] * c0[0];
    old = hypot(beta[0], beta[1]) * hypot(c0[0], c0[1]);
  }
  double error = (double)hypotl(c[0] - re, c[1] - im), exact = (double)hypotl(re, im);
  /* Complex products have two more roundings. */
  double depth = (double)p->k + (dm_dtype_is_complex(p->work) ? 4.0 : 2.0);
  double u = p->compute.roundoff * depth + 2.0 * p->compute.shortening;
  double bound = u * hypot(alpha[0], alpha[1]) * size +
                 (2.0 * dm_dtype_roundoff(p->c) + 0x1p-52) * (exact + old) +
                 dm_dtype_smallest(p->c) +
                 (hypot(alpha[0], alpha[1]) * depth + 2.0) * dm_dtype_smallest(p->accumulator);
  if (error == 0.0) return 0.0;
  return dm_problem_is_integral(p) ? INFINITY : error / bound;
}

static void verify_compare(const dm_verify *v, const dm_problem *p, const verify_operands *x,
                           long double *sum, double *size, dm_verdict *verdict) {
  for (int64_t i = 0; i < dm_range_size(x->rows); i++) {
    for (int64_t j = 0; j < p->n; j++) sum[2 * j] = sum[2 * j + 1] = size[j] = 0.0;
    for (int64_t l = 0; l < p->k; l++)
      add_row(sum, size, x->a + 2 * (i * p->k + l), x->b + 2 * l * p->n, p->n);
    bool finite = true;
    for (int64_t j = 0; j < p->n; j++) {
      const int64_t at = 2 * (i * p->n + j);
      double ratio = ratio_of(v, p, sum + 2 * j, size[j], x->c + at, x->c0 ? x->c0 + at : NULL);
      bool defined = isfinite(size[j]) && isfinite((double)sum[2 * j]);
      finite &= defined;
      if (!defined || (!isfinite(ratio) && size[j] >= dm_dtype_largest(p->c))) continue;
      if (!(ratio <= verdict->residual)) {
        verdict->residual = isnan(ratio) ? INFINITY : ratio;
        verdict->worst_row = x->rows.begin + i;
      }
    }
    verdict->rows_left_out += !finite;
    verdict->rows_checked += finite;
  }
}

/* The verdict of the rank with the worst element applies to all; NORM holds the squares of this
 * rank's rows. */
static dm_status verify_combine(const dm_run *run, dm_verdict *verdict) {
  double worst = verdict->residual, squares = verdict->norm;
  DM_TRY(dm_comm_sum_f64(run->world, &squares, 1));
  verdict->norm = sqrt(squares);
  DM_TRY(dm_comm_max_f64(run->world, &worst, 1));
  int64_t row = verdict->residual == worst ? verdict->worst_row : -1;
  int64_t counts[2] = {verdict->rows_left_out, verdict->rows_checked};
  DM_TRY(dm_comm_max_i64(run->world, &row, 1));
  DM_TRY(dm_comm_sum_i64(run->world, counts, 2));
  verdict->residual = verdict->relative = worst;
  verdict->worst_row = row;
  verdict->rows_left_out = counts[0];
  verdict->rows_checked = counts[1];
  verdict->pass = worst <= 1.0;
  return DM_OK;
}

dm_status dm_verify_fully(dm_run *run, const dm_verify *v, const dm_problem *p,
                          dm_verdict *verdict) {
  *verdict = (dm_verdict){
      .pass = true, .worst_row = -1, .exact = dm_problem_is_exact(p), .cols_checked = p->n};
  if (p->half != DM_BOTH_HALVES)
    return dm_comm_agree(run->world, dm_hint(dm_fail(DM_E_USAGE, "--full needs both halves of C"),
                                             "without --full one half is enough"));
  if ((double)p->m * (double)dm_max(1, v->entries) * (double)p->n * (double)p->k > largest_product)
    return dm_comm_agree(run->world,
                         dm_hint(dm_fail(DM_E_USAGE,
                                         "--full multiplies again on the CPU; %lld x "
                                         "%lld x %lld would take too long",
                                         (long long)p->m, (long long)p->n, (long long)p->k),
                                 "without --full the check takes O(n^2)"));
  verify_operands x = {.rows = dm_split(p->m, run->ranks, run->rank, 1)};
  long double *sum = NULL;
  double *size = NULL;
  dm_status status = read_all(v, p, &x);
  if (!status) status = dm_buffer_table(2 * p->n, &sum);
  if (!status) status = dm_buffer_table(p->n, &size);
  status = dm_comm_agree(run->world, status);
  if (!status) {
    const dm_view c = dm_view_row_major(x.c, DM_C128, dm_range_size(x.rows), p->n);
    verify_compare(v, p, &x, sum, size, verdict);
    status = dm_host_dot(NULL, c, c, &verdict->norm);
    if (!status) status = verify_combine(run, verdict);
  }
  free(sum);
  free(size);
  free(x.a);
  free(x.b);
  free(x.c);
  free(x.c0);
  return status;
}
