/* Verifies covariances and correlations of pairs: they are computed again, and compared. */
#include <math.h>

#include "core/buffer.h"
#include "core/clock.h"
#include "product/multiply.h"
#include "programs/pairwise_impl.h"

static void pairwise_note(pairwise *p, int64_t row, double off) {
  if (off <= p->verdict.residual) return;
  p->verdict.residual = off;
  p->verdict.worst_row = row;
}

static void compare_again(pairwise *p, const dm_pair_list *list, dm_view part, int64_t row,
                          int64_t col) {
  for (int64_t i = 0; i < part.rows && list->count > 0; i++) {
    int64_t count;
    const dm_pair_again *of = dm_pair_list_row(list, row + i, &count);
    for (int64_t j = 0; j < count; j++) {
      if (of[j].col < col || of[j].col >= col + part.cols) continue;
      const double value = *(const double *)dm_view_at(part, i, of[j].col - col);
      pairwise_note(p, row + i,
                    dm_pairwise_excess(p, &of[j].of, p->one && of[j].row == of[j].col, value,
                                       p->verify->c.dtype));
    }
  }
}

static dm_status pairwise_compare(void *context, dm_view part, int64_t row, int64_t col) {
  pairwise *p = context;
  const dm_pairs pairs = dm_pairwise_pairs(p, row, row - p->own.begin, part.rows);
  for (int64_t i = 0; i < part.rows; i++)
    for (int64_t j = 0; j < part.cols; j++) {
      const double value = *(const double *)dm_view_at(part, i, j);
      const dm_pair of = dm_pair_at(&pairs, i, col + j);
      const double off = dm_pair_is_doubtful(&of)
                             ? 0.0
                             : dm_pairwise_excess(p, &of, dm_pair_is_same(&pairs, i, col + j),
                                                  value, p->verify->c.dtype);
      p->verdict.norm = hypot(p->verdict.norm, isnan(value) ? 0.0 : value);
      pairwise_note(p, row + i, off);
    }
  compare_again(p, &p->doubtful, part, row, col);
  compare_again(p, &p->sample, part, row, col);
  return DM_OK;
}

/* Compares C with the products, and with what was taken again: the sample, and all doubtful pairs.
 */
static dm_status pairwise_verify_judge(pairwise *p) {
  dm_verdict *v = &p->verdict;
  if (!p->relates) DM_TRY(dm_pairwise_take_again(p));
  v->worst_row = -1;
  DM_TRY(dm_comm_agree(p->run->world,
                       dm_verify_stream(p->run, p->verify, DM_C, DM_F64, pairwise_compare, p)));
  return dm_pairwise_judge(p);
}
static void report_comparison(const pairwise *p, dm_record *record) {
  const dm_verdict *v = &p->verdict;
  dm_record_text(record, "verification.method", "verified",
                 "%s of pairs, computed again and compared, %lld of them in two passes, residual "
                 "%.2g of the bound: %s",
                 dm_pairwise_name(p), (long long)(p->sample.count + p->doubtful.count), v->residual,
                 dm_verdict_word(v));
  dm_record_text(record, "verification.verdict", NULL, "%s", dm_verdict_word(v));
  dm_record_real(record, "verification.residual", NULL, DM_SHOWN_PLAIN, v->residual);
  dm_record_real(record, "verification.norm", "norm of C", DM_SHOWN_PLAIN, v->norm);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, dm_now() - p->started);
  char seed[DM_SEED_TEXT];
  dm_verdict_seed(v, seed);
  dm_record_summary(record,
                    "m=%lld n=%lld k=%lld dtype=f64 pairwise ranks=%d residual=%.2g seed=%s %s",
                    (long long)p->m, (long long)p->n, (long long)p->k, p->run->ranks, v->residual,
                    seed, dm_verdict_word(v));
}

static dm_status check_verify(const dm_verify *v) {
  const int64_t m = v->equation.op_a == DM_OP_N ? v->a.rows : v->a.cols;
  const int64_t n = v->equation.op_b == DM_OP_N ? v->b.cols : v->b.rows;
  if (v->has_c0) return dm_fail(DM_E_USAGE, "--missing pairwise adds no old C");
  if (v->c.rows == m && v->c.cols == n) return DM_OK;
  return dm_fail(DM_E_INPUT, "C is %lld x %lld, for %lld lines of A and %lld of B",
                 (long long)v->c.rows, (long long)v->c.cols, (long long)m, (long long)n);
}

dm_status dm_pairwise_verify(dm_run *run, const dm_verify *v, const dm_engine_options *engine,
                             dm_record *record) {
  pairwise p = {.run = run, .started = dm_now(), .in_memory = true, .verify = v};
  DM_TRY(dm_comm_agree(run->world, check_verify(v)));
  DM_FREED dm_multiply *m = NULL;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &m)));
  *m = (dm_multiply){.a = v->a,
                     .b = v->b,
                     .equation = v->equation,
                     .vectors = v->vectors,
                     .engine = *engine,
                     .seed = v->seed,
                     .verify = true,
                     .protect = true};
  m->engine.io_threads = v->io_threads;
  DM_TRY(dm_pairwise_make(&p, m, pairwise_verify_judge));
  if (run->rank == 0) report_comparison(&p, record);
  return dm_verdict_status(&p.verdict, v->c.at.file, v->allow_unchecked);
}
