#include "programs/verify_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/verdict.h"
#include "core/buffer.h"
#include "core/clock.h"
#include "plan/plan_text.h"
#include "product/provenance.h"
#include "programs/verify_result_impl.h"
#include "run/facts.h"
#include "transform/centered.h"

/* The norm of C is a sum of positive numbers: computed twice in any order, the results differ at
 * most by rounding. Otherwise C is not what was written. */
static dm_status check_norm(const dm_verify *v, const dm_problem *p, double norm) {
  const double additions = 2.0 * (double)p->m * (double)p->n + 8.0;
  if (v->norm < 0.0 || !(fabs(norm - v->norm) > additions * 0x1p-52 * v->norm + 0x1p-1070))
    return DM_OK;
  dm_status status =
      dm_fail(DM_E_VERIFY, "%s was changed: its norm is %.17g, but %.17g was recorded",
              v->c.at.file, norm, v->norm);
  status->agreed = true;
  return status;
}

/* *changed: C's bits differ from those written. */
static dm_status verify_judge(dm_run *run, dm_verify *v, const dm_problem *p, dm_verdict *verdict,
                              dm_status *changed) {
  dm_status status = dm_verify_tiles_open(run, v);
  if (!status && v->full) status = dm_verify_each_entry(run, v, p, dm_verify_fully, verdict);
  if (!status && v->full && v->sums) status = dm_verify_tiles_read(run, v);
  if (!status && !v->full) status = dm_verify_residual(run, v, p, verdict);
  if (!status) *changed = dm_verify_tiles_compare(run, v);
  dm_verify_tiles_close(v);
  return status;
}

static void verify_report(const dm_run *run, const dm_verify *v, const dm_problem *p,
                          const dm_verdict *verdict, double seconds, dm_record *record) {
  char words[DM_VERIFIED_TEXT], seed[DM_SEED_TEXT], batch[32], sizes[DM_SIZES_TEXT];
  const dm_verified checked = {p, v->equation.alpha, v->equation.beta, v->by_attributes,
                               v->equation.standard};
  if (v->claims[0])
    dm_log_line(&run->log, DM_LOG_WARNING,
                "the attributes of %s state %s, which was not given and is not used", v->c.at.file,
                v->claims);
  dm_record_text(record, "problem.shape", "product", "%lld x %lld x %lld in %s%s",
                 (long long)dm_problem_entry_rows(p), (long long)p->n, (long long)p->k,
                 dm_dtype_name(p->work), dm_problem_batch_text(p, batch));
  dm_record_flag(record, "verification.full", NULL, v->full);
  dm_facts_file_system("a", v->a.at.file, record);
  dm_facts_file_system("b", v->b.at.file, record);
  dm_facts_file_system("c", v->c.at.file, record);
  dm_provenance_record((const dm_dataset *const[3]){&v->a, &v->b, v->has_c0 ? &v->c0 : NULL},
                       record);
  dm_centering_record((const dm_dataset *const[2]){&v->a, &v->b}, record);
  dm_record_integer(record, "machine.ranks", NULL, DM_SHOWN_PLAIN, run->ranks);
  dm_facts_record(NULL, false, record);
  dm_verdict_record(verdict, &checked, &run->log, record);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, seconds);
  dm_verdict_seed(verdict, seed);
  dm_record_summary(record, "%s dtype=%s%s residual=%.2g%s%s %s", dm_problem_sizes(p, sizes),
                    dm_dtype_name(p->work), dm_verified_words(&checked, words), verdict->residual,
                    seed[0] ? " seed=" : "", seed, dm_verdict_word(verdict));
}

static dm_status verify_centered(dm_run *run, dm_verify *v, dm_record *record) {
  double start = dm_now();
  dm_equation equation = v->equation;
  equation.type_c = dm_dataset_type(&v->c);
  char name[DM_NAME];
  dm_problem p;
  DM_TRY(dm_comm_agree(run->world,
                       dm_problem_of(&v->a, &v->b, v->has_c0 ? &v->c0 : NULL, &equation, &p)));
  if (v->c.rows != p.m || v->c.cols != p.n)
    return dm_comm_agree(run->world, dm_fail(DM_E_INPUT,
                                             "%s is %lld x %lld, the product is "
                                             "%lld x %lld",
                                             dm_location_name(&v->c.at, name), (long long)v->c.rows,
                                             (long long)v->c.cols, (long long)p.m, (long long)p.n));
  dm_verdict verdict;
  dm_status changed = DM_OK;
  const dm_dataset *const sets[3] = {&v->a, &v->b, v->has_c0 ? &v->c0 : NULL};
  DM_TRY(dm_verify_missing(run, v->io_threads, sets, verify_judge(run, v, &p, &verdict, &changed)));
  if (verdict.pass && !changed) changed = check_norm(v, &p, verdict.norm);
  if (changed) verdict.pass = false;
  if (run->rank == 0) verify_report(run, v, &p, &verdict, dm_now() - start, record);
  if (changed) return changed;
  dm_status status =
      dm_verdict_status(&verdict, dm_location_name(&v->c.at, name), v->allow_unchecked);
  if (!status || status->code != DM_E_VERIFY) return status;
  if (v->claims[0]) return dm_hint(status, "if C was made with %s, give these options", v->claims);
  if (!v->no_provenance) return status;
  return dm_hint(
      status,
      "its file does not say how it was made: if not as A B, give the options of the product");
}

dm_status dm_verify_run(dm_run *run, const dm_verify *v, dm_record *record) {
  const dm_dataset *const sets[3] = {&v->a, &v->b, NULL};
  DM_FREED dm_verify *changed = NULL;
  dm_centered centered;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &changed)));
  *changed = *v;
  dm_status status = dm_center_inputs(run, v->io_threads, &v->vectors, &changed->equation,
                                      &changed->a, &changed->b, &centered);
  status = status ? dm_verify_missing(run, v->io_threads, sets, status)
           : v->reduction.kind != DM_REDUCE_NONE || v->equation.distance.kind != DM_NO_DISTANCE
               ? dm_verify_reduced(run, changed, record)
               : verify_centered(run, changed, record);
  dm_centered_free(&centered);
  return status;
}
