/* The rounds of a multiplication: most have one; what was wrong is computed again in another, and
 * what does not suit residues by more of them, or natively. */
#include <string.h>

#include "check/verdict.h"
#include "core/clock.h"
#include "io/file_queue.h"
#include "job/multiply_impl.h"
#include "job/repair.h"

/* Ends a round: what is good is kept, the rest is computed again. */
static dm_status repeat(void) {
  dm_status status = dm_fail(DM_E_CORRUPT, "parts of C are computed again");
  status->agreed = true;
  return status;
}

/* What is there when a run is stopped is made safe and recorded. */
static dm_status end_early(dm_job *j, dm_status status) {
  if (!status || status->code != DM_E_STOPPED || !status->agreed || !j->sink.checkpoint)
    return status;
  dm_status flushed = dm_checkpoint_flush(j->sink.checkpoint, true);
  if (!flushed) return status;
  dm_status_free(status);
  return flushed;
}

/* What the caller is told of a C that has its name. */
static dm_status outcome_of(const dm_job *j) {
  const dm_multiply *m = j->multiply;
  if (j->verdict.pass) return dm_verdict_status(&j->verdict, m->out.file, m->allow_unchecked);
  dm_status status = dm_fail(DM_E_UNCHECKED, "%s is wrong: row %lld is off by %.3g times the bound",
                             m->out.file, (long long)j->verdict.worst_row, j->verdict.residual);
  status->agreed = true;
  return dm_hint(status,
                 "it was written all the same, as --on-corruption warn asks, and says FAIL");
}

/* Why a round is followed by another one. */
typedef enum round_end {
  ROUND_IS_LAST,
  ROUND_IS_WRONG, /* parts of C are computed again */
  ROUND_IS_UNFIT, /* nothing was multiplied: the row of compute modes does not suit A and B */
} round_end;

/* How many moduli would do is *MODULI, where the round ends unfit. */
static dm_status run_round(dm_run *run, const dm_multiply *multiply, dm_repair *repair,
                           dm_record *record, dm_outcome *outcome, round_end *end, int *moduli) {
  dm_job j = {.run = run, .multiply = multiply, .repair = repair, .started = dm_now()};
  memcpy(j.sink.alpha, multiply->equation.alpha, sizeof j.sink.alpha);
  memcpy(j.sink.beta, multiply->equation.beta, sizeof j.sink.beta);
  dm_status status = end_early(&j, dm_job_work(&j, run->rank == 0 ? record : NULL, outcome));
  *end = j.again && !status ? ROUND_IS_WRONG : ROUND_IS_LAST;
  dm_progress_end(&j.progress);
  dm_file_queue_close(j.sink.behind);
  status = dm_status_first(status, dm_output_close(j.sink.output));
  if (*end == ROUND_IS_WRONG && !status) status = repeat();
  status = dm_checkpoint_close(j.sink.checkpoint, status, j.keep_part);
  if (status && status->agreed && j.product.local.scaling.unfit) *end = ROUND_IS_UNFIT;
  *moduli = j.product.local.scaling.moduli;
  /* Where one rank failed alone the others are still at work: the launcher ends them all. */
  if (status && !status->agreed) return status;
  dm_file_queue_close(j.ahead); /* before the memory goes that it reads into */
  dm_product_close(&j.product);
  dm_reader_close(j.source.inputs[DM_A].reader);
  dm_reader_close(j.source.inputs[DM_B].reader);
  dm_reader_close(j.sink.old);
  dm_freivalds_free(j.sink.check);
  dm_tile_states_close(&j.states);
  dm_setup_close(&j.setup);
  if (!status && j.judged) status = outcome_of(&j);
  return status;
}

/* Until C is right, or wrong twice at one place. */
static dm_status run_rounds(dm_run *run, const dm_multiply *multiply, dm_record *record,
                            dm_outcome *outcome, bool *unfit, int *moduli) {
  dm_repair repair = {0};
  round_end end;
  dm_status status = run_round(run, multiply, &repair, record, outcome, &end, moduli);
  while (end == ROUND_IS_WRONG && status->code == DM_E_CORRUPT) {
    dm_status_free(status);
    repair.round++;
    dm_run_lap(run, &repair.seconds);
    status = run_round(run, multiply, &repair, record, outcome, &end, moduli);
  }
  dm_damage_free(&repair.seen);
  *unfit = end == ROUND_IS_UNFIT;
  return status;
}

/* The same by native products of the type that residues stand for: they take any matrices. */
static dm_status run_natively(dm_run *run, const dm_multiply *multiply, dm_status why,
                              dm_record *record, dm_outcome *outcome) {
  dm_multiply native = *multiply;
  dm_compute row;
  bool unfit;
  int moduli;
  dm_status status = dm_compute_choose(multiply->equation.compute, DM_F64, 1, &row);
  if (status) return dm_status_first(why, status);
  (void)dm_compute_parse(dm_dtype_name(row.work), &native.equation.compute);
  dm_log_line(&run->log, DM_LOG_NOTE, "%s: multiplied in %s", why->message,
              dm_dtype_name(row.work));
  if (record && run->rank == 0)
    dm_record_text(record, "problem.instead", "not by residues", "%s", why->message);
  dm_status_free(why);
  return run_rounds(run, &native, record, outcome, &unfit, &moduli);
}

/* The same by MODULI of them, which suit A and B: the plan, and the memory, is of so many. */
static dm_status run_with(dm_run *run, const dm_multiply *multiply, int moduli, dm_status why,
                          dm_record *record, dm_outcome *outcome) {
  dm_multiply more = *multiply;
  bool unfit;
  more.equation.compute = dm_compute_with_moduli(more.equation.compute, moduli);
  dm_log_line(&run->log, DM_LOG_NOTE, "%s: multiplied with %d moduli", why->message, moduli);
  if (record && run->rank == 0)
    dm_record_text(record, "problem.more_moduli", "more moduli", "%d: %s", moduli, why->message);
  dm_status_free(why);
  return run_rounds(run, &more, record, outcome, &unfit, &moduli);
}

dm_status dm_multiply_run(dm_run *run, const dm_multiply *multiply, dm_record *record,
                          dm_outcome *outcome) {
  bool unfit;
  int moduli;
  dm_status status = run_rounds(run, multiply, record, outcome, &unfit, &moduli);
  if (!unfit) return status;
  if (moduli > 0 && dm_compute_moduli(multiply->equation.compute) == 0)
    return run_with(run, multiply, moduli, status, record, outcome);
  return run_natively(run, multiply, status, record, outcome);
}
