/* The progress reports of a multiplication. */
#include "core/checked.h"
#include "engine/phases.h"
#include "plan/partition.h"
#include "plan/tiles.h"
#include "product/multiply_impl.h"

int64_t dm_multiply_bytes_read(const dm_job *job) {
  return dm_dataset_source_bytes(&job->source) + (job->old ? dm_reader_bytes(job->old) : 0);
}

/* Fraction of the work done when DONE panels are, counted over rank 0's layer and the tiles of this
 * run. */
static double part_done(const dm_job *j, int64_t done) {
  const int64_t layer = dm_max(1, dm_range_size(dm_plan_layer(&j->setup.plan, 0)));
  return dm_plan_part_done(&j->setup.plan, done / layer, 0, done % layer);
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
  return j->sink.checkpoint ? dm_checkpoint_poll(j->sink.checkpoint) : DM_OK;
}
