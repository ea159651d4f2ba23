/* Verifies covariances and correlations of pairs: they are computed again, and compared. */
#include <math.h>

#include "core/buffer.h"
#include "core/clock.h"
#include "product/multiply.h"
#include "product/pairwise_impl.h"

/* By how much two results may differ, but for the rounding to C's type. Products of K terms differ
 * by (k + 8) u |Z| |Z| or less from exact ones, of which each sum of a pair is at most the root of
 * both lines' squares (Cauchy, Schwarz). INFINITY: rounding may decide whether a line is constant.
 */
static double bound_of(const pairwise *p, const dm_pair *of) {
  const double error = 8.0 * ((double)p->k + 8.0) * 0x1p-53;
  const double spread = sqrt(of->squares[0]) * sqrt(of->squares[1]);
  double ratios = 0.0, variances = 1.0;
  if (!p->form.correlation) return error * spread / dm_pair_divisor(&p->form, of);
  for (int i = 0; i < 2; i++) {
    const double variance = dm_pair_variance(of, i);
    if (!(variance > (DM_PAIR_CONSTANT + error) * of->squares[i])) return (double)INFINITY;
    ratios += of->squares[i] / variance;
    variances *= sqrt(variance);
  }
  return error * (spread / variances + ratios / 2.0);
}

/* How much VALUE is off, in bounds. */
static double excess(const pairwise *p, const dm_pair *of, bool diagonal, double value) {
  const double want = dm_pair_element(&p->form, of, diagonal), alpha = fabs(p->form.alpha);
  const dm_dtype type = p->verify->c.dtype;
  const double bound = alpha * bound_of(p, of);
  if (isnan(want) && isnan(value)) return 0.0;
  if (isinf(bound) && (isnan(value) || fabs(value) <= alpha)) return 0.0;
  const double difference = fabs(value - want);
  if (isnan(difference)) return (double)INFINITY;
  if (difference == 0.0) return 0.0;
  return difference /
         (bound + 2.0 * dm_dtype_roundoff(type) * fabs(want) + dm_dtype_smallest(type));
}

static dm_status compare(void *context, dm_view part, int64_t row, int64_t col) {
  pairwise *p = context;
  const dm_pairs pairs = dm_pairwise_pairs(p, row, row - p->own.begin, part.rows);
  for (int64_t i = 0; i < part.rows; i++)
    for (int64_t j = 0; j < part.cols; j++) {
      const double value = *(const double *)dm_view_at(part, i, j);
      const dm_pair of = dm_pair_at(&pairs, i, col + j);
      const double off = excess(p, &of, row + i == col + j, value);
      p->verdict.norm = hypot(p->verdict.norm, isnan(value) ? 0.0 : value);
      if (off <= p->verdict.residual) continue;
      p->verdict.residual = off;
      p->verdict.worst_row = row + i;
    }
  return DM_OK;
}

/* Joins the verdicts of all ranks. */
static dm_status judge(pairwise *p) {
  dm_verdict *v = &p->verdict;
  *v = (dm_verdict){.worst_row = -1, .rows_checked = p->n, .cols_checked = p->n};
  DM_TRY(
      dm_comm_agree(p->run->world, dm_verify_stream(p->run, p->verify, DM_C, DM_F64, compare, p)));
  double worst = v->residual, squares = v->norm * v->norm;
  DM_TRY(dm_comm_max_f64(p->run->world, &worst, 1));
  DM_TRY(dm_comm_sum_f64(p->run->world, &squares, 1));
  if (v->residual < worst) v->worst_row = -1;
  DM_TRY(dm_comm_max_i64(p->run->world, &v->worst_row, 1));
  v->residual = v->relative = worst;
  v->norm = sqrt(squares);
  v->pass = worst <= 1.0;
  return DM_OK;
}

static void report_verdict(const pairwise *p, dm_record *record) {
  const dm_verdict *v = &p->verdict;
  dm_record_text(record, "verification.method", "verified",
                 "%s of pairs, computed again and compared, residual %.2g of the bound: %s",
                 p->form.correlation ? "correlations" : "covariances", v->residual,
                 dm_verdict_word(v));
  dm_record_text(record, "verification.verdict", NULL, "%s", dm_verdict_word(v));
  dm_record_real(record, "verification.residual", NULL, DM_SHOWN_PLAIN, v->residual);
  dm_record_real(record, "verification.norm", "norm of C", DM_SHOWN_PLAIN, v->norm);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, dm_now() - p->started);
  dm_record_summary(record, "n=%lld k=%lld pairwise residual=%.2g %s", (long long)p->n,
                    (long long)p->k, v->residual, dm_verdict_word(v));
}

static dm_status check_verify(const dm_verify *v) {
  const dm_standard *s = v->equation.standard;
  const int64_t n = dm_standard_lines(&s[0]) == DM_ROW_LINES ? v->a.rows : v->a.cols;
  if (!dm_dataset_is_same(&v->a, &v->b) || s[0].center == DM_NO_LINES ||
      !dm_standard_is_same(&s[0], &s[1]))
    return dm_hint(dm_fail(DM_E_USAGE, "pairs of lines are those of one matrix, centered"),
                   "damier verify X.h5 X.h5 C.h5");
  if (dm_dtype_is_complex(dm_dataset_type(&v->a)) || v->has_c0)
    return dm_fail(DM_E_USAGE, "--missing pairwise takes a real matrix, and adds no old C");
  if (v->c.rows != n || v->c.cols != n)
    return dm_fail(DM_E_INPUT, "C is %lld x %lld, for %lld lines of X", (long long)v->c.rows,
                   (long long)v->c.cols, (long long)n);
  return DM_OK;
}

dm_status dm_pairwise_verify(dm_run *run, const dm_verify *v, const dm_engine *engine,
                             dm_record *record) {
  pairwise p = {.run = run, .started = dm_now(), .in_memory = true, .count = FACTORS, .verify = v};
  DM_TRY(dm_comm_agree(run->world, check_verify(v)));
  DM_FREED dm_multiply *m = NULL;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &m)));
  *m = (dm_multiply){.a = v->a,
                     .b = v->b,
                     .equation = v->equation,
                     .vectors = v->vectors,
                     .engine = *engine,
                     .verify = true,
                     .protect = true};
  m->equation.symmetric = true;
  m->engine.io_threads = v->io_threads;
  DM_TRY(dm_pairwise_make(&p, m, judge));
  if (run->rank == 0) report_verdict(&p, record);
  return dm_verdict_status(&p.verdict, v->c.at.file, v->allow_unchecked);
}
