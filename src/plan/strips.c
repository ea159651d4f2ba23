#include "plan/strips.h"

#include "core/checked.h"
#include "plan/grid_cost.h"
#include "plan/partition.h"
#include "plan/tiles.h"

enum {
  STRIPS = 8,      /* of a block */
  STRETCHES = 256, /* that are tried */
  THINNEST = 64,   /* rows of a strip */
  THINNEST_ON_GPU = 1024,
};

static const double worth = 0.995; /* of the time without them */

/* Every panel that a product reads is still there when the last one has come. */
static bool keeps_panels(const dm_plan *plan) {
  if (dm_plan_uploads_a(plan) || dm_plan_uploads_b(plan)) return false;
  return (!dm_plan_fetches_a(plan) || plan->window_a || plan->in_place) &&
         (!dm_plan_fetches_b(plan) || plan->window_b || plan->in_place);
}

static int most_strips(const dm_plan *plan) {
  const int64_t thinnest = plan->gpu ? THINNEST_ON_GPU : THINNEST;
  const int64_t step = dm_max(plan->border, thinnest);
  const int64_t rows = dm_range_size(dm_plan_c_share(plan, 0, plan->pm - 1, plan->pk - 1));
  return (int)dm_min(STRIPS, rows / step);
}

void dm_plan_choose_strips(const dm_question *question, dm_plan *plan) {
  const bool sums = plan->pk > 1 && question->wishes->sums_behind && !plan->brought;
  const int64_t shortest = dm_range_size(dm_plan_layer(plan, plan->pk - 1));
  plan->strips = 0;
  plan->stretch = 0;
  if (!(plan->problem.from_files || sums) || !plan->overlap || dm_plan_tiles(plan) > 1 ||
      dm_plan_streams(plan) || !keeps_panels(plan))
    return;
  const int strips = most_strips(plan);
  dm_plan best = *plan, trial = *plan;
  best.forecast = dm_plan_forecast(plan, question->machine);
  const double without = best.forecast.total;
  const int64_t step = dm_max(1, dm_ceil_div(shortest, STRETCHES));
  trial.strips = strips;
  for (trial.stretch = step; trial.stretch <= shortest && strips > 1; trial.stretch += step) {
    trial.forecast = dm_plan_forecast(&trial, question->machine);
    if (trial.forecast.total < worth * without &&
        trial.forecast.total < worth * best.forecast.total)
      best = trial;
  }
  *plan = best;
}
