/* The progress reports of a multiplication. */
#include "core/clock.h"
#include "core/units.h"
#include "engine/setup.h"
#include "product/checkpoint.h"
#include "product/job.h"
#include "product/multiply_impl.h"
#include "product/repair.h"

int64_t dm_multiply_bytes_read(const dm_job *job) {
  return dm_dataset_source_bytes(&job->source) + (job->old ? dm_reader_bytes(job->old) : 0);
}

/* Fraction of the work done when DONE panels are, counted over rank 0's layer and the tiles of this
 * run. */
static double part_done(const dm_job *j, int64_t done) {
  const int64_t layer = dm_max(1, dm_range_size(dm_plan_layer(&j->setup.plan, 0)));
  return dm_plan_part_done(&j->setup.plan, done / layer, 0, done % layer);
}

/* Whether C has several tiles in a plan that counts on the pace of this run; planned once. */
static bool gets_tiles(dm_job *j, double slower) {
  dm_engine_options engine = j->multiply->engine;
  dm_setup trial = j->setup;
  j->repair->slower = trial.machine.slower = slower;
  dm_checkpoint_impose(j->sink.checkpoint, &engine.wishes);
  dm_status status = dm_setup_choose(j->run, &engine, &j->problem, &trial);
  const bool several = !status && dm_plan_tiles(&trial.plan) > 1;
  dm_status_free(status);
  return several;
}

/* Rank 0, of a run that is much slower than predicted: what an interruption would lose is little
 * yet, beside what is to come. All ranks stop, and C is computed anew in tiles. */
static dm_status stop_if_slow(dm_job *j, double part) {
  const double now = dm_now();
  char passed[32], predicted[32];
  double slower;
  if (j->run->rank != 0 || !j->run->stop.on || j->repair->slower > 0 ||
      !dm_checkpoint_is_slow(j->sink.checkpoint, part, now - j->progress.started, &slower) ||
      !gets_tiles(j, slower))
    return DM_OK;
  j->slow = true;
  dm_progress_end(&j->progress);
  dm_log_line(&j->run->log, DM_LOG_NOTE,
              "%d %% is done after %s, predicted %s for all: C is computed anew, in tiles, of "
              "which an interruption keeps the finished ones (docs/howto/slow.md)",
              (int)(100 * part), dm_format_seconds(now - j->run->born, passed),
              dm_format_seconds(j->setup.plan.forecast.total, predicted));
  return dm_fail(DM_E_STOPPED, "the run is much slower than predicted");
}

dm_status dm_multiply_progress(void *context, int64_t done, int64_t total) {
  dm_job *j = context;
  const dm_plan *plan = &j->setup.plan;
  if (!j->shows_progress)
    dm_progress_start(&j->progress, j->run, "multiplying", dm_product_flops(&plan->problem),
                      part_done(j, 0), dm_plan_used(plan));
  j->shows_progress = true;
  if (total > 0 && dm_progress_is_due(&j->progress))
    dm_progress_show(&j->progress, (dm_standing){.done = part_done(j, done),
                                                 .read = dm_multiply_bytes_read(j),
                                                 .written = j->sink.written});
  if (done == total) dm_progress_end(&j->progress);
  if (!j->sink.checkpoint) return DM_OK;
  DM_TRY(dm_checkpoint_poll(j->sink.checkpoint));
  return stop_if_slow(j, part_done(j, done));
}
