/* The rounds of a multiplication. Most have one; another computes what was wrong again, or in tiles
 * what is much slower than predicted, or multiplies with more moduli, or natively, what does not
 * suit residues. */
#include <stdlib.h>

#include "check/verdict.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/compute.h"
#include "core/units.h"
#include "engine/phases.h"
#include "io/file_queue.h"
#include "plan/partition.h"
#include "plan/tiles.h"
#include "product/center_product.h"
#include "product/multiply_impl.h"
#include "product/repair.h"
#include "product/verify.h"

/* When a run is stopped: all ranks learn whether rank 0 did so because it is slow; otherwise the
 * tiles complete are synced and recorded. */
static dm_status end_early(dm_job *j, dm_status status) {
  if (!status || status->code != DM_E_STOPPED || !status->agreed || !j->sink.checkpoint)
    return status;
  dm_status told = dm_comm_broadcast(j->run->world, &j->slow, sizeof j->slow, 0);
  if (told || j->slow) return dm_status_first(told, status);
  dm_status flushed = dm_checkpoint_flush(j->sink.checkpoint, true);
  if (!flushed) return status;
  dm_status_free(status);
  return flushed;
}

/* The status of a C that has its name. */
static dm_status multiply_outcome_of(const dm_job *j) {
  const dm_multiply *m = j->multiply;
  const char *name = m->in_memory[DM_C] ? "C" : m->out.file;
  if (j->verdict.pass) return dm_verdict_status(&j->verdict, name, m->allow_unchecked);
  dm_status status = dm_fail(DM_E_UNCHECKED, "%s is wrong: row %lld is off by %.3g times the bound",
                             m->out.file, (long long)j->verdict.worst_row, j->verdict.residual);
  status->agreed = true;
  return dm_hint(status,
                 "it was published, as --on-corruption warn requests; its attributes say FAIL");
}

/* Why another round follows. */
typedef enum round_end {
  ROUND_IS_LAST,
  ROUND_IS_WRONG, /* parts of C are computed again */
  ROUND_IS_SLOW,  /* C is computed anew in tiles */
  ROUND_IS_UNFIT, /* nothing was multiplied: the compute mode does not suit A and B */
} round_end;

/* The compute mode of a round that ended unfit, and how many moduli would suffice; 0: none. */
typedef struct unfit {
  bool is;
  dm_compute by;
  int moduli;
} unfit;

static void multiply_close_memory(dm_job *j) {
  for (int x = 0; x < 4; x++)
    if (j->multiply->in_memory[x]) dm_distributed_close(&j->memory[x]);
}

/* 70 KiB: the stack of a thread may be small. */
static dm_status new_job(dm_run *run, const dm_multiply *multiply, dm_repair *repair,
                         dm_job **job) {
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, job)));
  (*job)->run = run;
  (*job)->own = *multiply;
  (*job)->multiply = &(*job)->own;
  (*job)->repair = repair;
  return DM_OK;
}

static dm_status run_round(dm_run *run, const dm_multiply *multiply, dm_repair *repair,
                           dm_record *record, round_end *end, unfit *why) {
  DM_FREED dm_job *j = NULL;
  *end = ROUND_IS_LAST;
  *why = (unfit){.is = false};
  DM_TRY(new_job(run, multiply, repair, &j));
  dm_status status = end_early(j, dm_job_work(j, run->rank == 0 ? record : NULL));
  *end = j->slow ? ROUND_IS_SLOW : j->again && !status ? ROUND_IS_WRONG : ROUND_IS_LAST;
  dm_progress_end(&j->progress);
  dm_file_queue_close(j->sink.behind);
  status = dm_status_first(status, dm_output_close(j->sink.output));
  if (*end == ROUND_IS_WRONG && !status) { /* what is good is kept, the rest is computed again */
    status = dm_fail(DM_E_CORRUPT, "parts of C are computed again");
    status->agreed = true;
  }
  status = dm_checkpoint_close(j->sink.checkpoint, status, j->keep_part);
  if (status && status->agreed && j->product.local.scaling.unfit) *end = ROUND_IS_UNFIT;
  *why = (unfit){*end == ROUND_IS_UNFIT, j->setup.plan.problem.compute,
                 j->product.local.scaling.moduli};
  /* If one rank failed alone the others are still working: the launcher ends them all. */
  if (status && !status->agreed) return status;
  dm_run_phase(run, "closing", 1);
  if (multiply->engine.once && *end == ROUND_IS_LAST && !status) dm_backend_leave(j->setup.backend);
  dm_file_queue_close(j->ahead); /* before its memory is freed */
  if (multiply->measurement) dm_measured_close(&j->measured);
  dm_product_close(&j->product);
  dm_reader_close(j->source.inputs[DM_A].reader);
  dm_reader_close(j->source.inputs[DM_B].reader);
  dm_reader_close(j->old);
  dm_freivalds_free(j->check);
  multiply_close_memory(j);
  dm_tile_states_close(&j->states);
  if (status && status->code == DM_E_DEVICE)
    dm_setup_discard(&j->setup);
  else
    dm_setup_close(&j->setup);
  if (!status && j->judged) status = multiply_outcome_of(j);
  return status;
}

/* *plan becomes what was planned; or NULL. */
static dm_status only_plan(dm_run *run, const dm_multiply *multiply, dm_record *record,
                           dm_plan *plan) {
  dm_repair repair = {0};
  DM_FREED dm_job *j = NULL;
  DM_TRY(new_job(run, multiply, &repair, &j));
  dm_status status = dm_job_plan(j, run->rank == 0 ? record : NULL);
  if (status && !status->agreed) return status;
  if (!status && plan) *plan = j->setup.plan;
  multiply_close_memory(j);
  dm_setup_close(&j->setup);
  return status;
}

dm_status dm_multiply_plan(dm_run *run, const dm_multiply *multiply, dm_record *record) {
  return only_plan(run, multiply, record, NULL);
}

dm_status dm_multiply_forecast(dm_run *run, const dm_multiply *multiply, dm_forecast *forecast,
                               int64_t *host_bytes) {
  const dm_level level = run->log.level;
  dm_plan plan;
  if (level < DM_LOG_DETAIL) run->log.level = (dm_level)dm_min(level, DM_LOG_WARNING);
  dm_status status = only_plan(run, multiply, NULL, &plan);
  run->log.level = level;
  if (!status) {
    *forecast = plan.forecast;
    *host_bytes = plan.host_bytes;
  }
  return status;
}

static bool goes_on(round_end end, dm_status status) {
  return (end == ROUND_IS_WRONG && status->code == DM_E_CORRUPT) ||
         (end == ROUND_IS_SLOW && status->code == DM_E_STOPPED && status->agreed);
}

/* Rounds until C is right, or wrong twice in one place. */
static dm_status run_rounds(dm_run *run, const dm_multiply *multiply, dm_record *record,
                            unfit *why) {
  dm_repair repair = {0};
  round_end end;
  dm_status status = run_round(run, multiply, &repair, record, &end, why);
  while (goes_on(end, status)) {
    dm_status_free(status);
    repair.round += end == ROUND_IS_WRONG;
    dm_run_lap(run, &repair.seconds);
    status = run_round(run, multiply, &repair, record, &end, why);
  }
  dm_repair_close(&repair);
  return status;
}

/* Runs again, with a new plan, as if --compute were COMPUTE: because of FIRST nothing was
 * multiplied yet. */
static dm_status run_instead(dm_run *run, const dm_multiply *multiply, dm_compute_choice compute,
                             dm_status first, dm_record *record) {
  DM_FREED dm_multiply *other = NULL;
  unfit why;
  char text[24];
  const int moduli = dm_compute_moduli(compute);
  dm_status status = dm_comm_agree(run->world, dm_buffer_table(1, &other));
  if (status) return dm_status_first(first, status);
  *other = *multiply;
  other->equation.compute = compute;
  dm_compute_choice_text(compute, text);
  dm_log_line(&run->log, DM_LOG_NOTE, "%s: multiplied in %s", first->message, text);
  if (record && run->rank == 0 && moduli > 0)
    dm_record_text(record, "problem.more_moduli", "more moduli", "%d: %s", moduli, first->message);
  else if (record && run->rank == 0)
    dm_record_text(record, "problem.instead", "not by residues", "%s", first->message);
  dm_status_free(first);
  return run_rounds(run, other, record, &why);
}

static dm_status multiply_plain(dm_run *run, const dm_multiply *multiply, dm_record *record) {
  const dm_compute_choice wanted = multiply->equation.compute;
  unfit why;
  dm_status status = run_rounds(run, multiply, record, &why);
  if (!why.is || multiply->measurement) return status; /* measurements keep their mode */
  return run_instead(run, multiply, dm_compute_fallback(wanted, &why.by, why.moduli), status,
                     record);
}

/* Records the chunks that all ranks unpacked for the moments. */
static dm_status record_unpacked(const dm_run *run, int64_t unpacked, dm_record *record) {
  DM_TRY(dm_comm_sum_i64(run->world, &unpacked, 1));
  if (record && unpacked > 0)
    dm_record_integer(record, "files.chunks_unpacked_before", NULL, DM_SHOWN_PLAIN, unpacked);
  return DM_OK;
}

/* The same with copies of A and B that are centered, scaled or weighted. */
static dm_status multiply_centered(dm_run *run, const dm_multiply *multiply, dm_record *record) {
  DM_FREED dm_multiply *changed = NULL;
  dm_centered centered;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &changed)));
  *changed = *multiply;
  dm_status status = dm_center_product(run, changed, NULL, &centered);
  const int64_t unpacked = centered.unpacked;
  if (!status) status = multiply_plain(run, changed, record);
  if (!status) status = record_unpacked(run, unpacked, record);
  dm_centered_free(&centered);
  return status;
}

dm_status dm_multiply_run(dm_run *run, const dm_multiply *multiply, dm_record *record) {
  const dm_multiply *m = multiply;
  const dm_dataset *const sets[3] = {dm_multiply_is_read(m, DM_A) ? &m->a : NULL,
                                     dm_multiply_is_read(m, DM_B) ? &m->b : NULL,
                                     m->has_c && dm_multiply_is_read(m, DM_OLD) ? &m->c : NULL};
  dm_status status =
      dm_multiply_centers(m) ? multiply_centered(run, m, record) : multiply_plain(run, m, record);
  return status ? dm_verify_missing(run, m->engine.io_threads, sets, status) : DM_OK;
}
