#include "plan/strips.h"

#include <math.h>

#include "core/checked.h"
#include "plan/grid_cost.h"
#include "plan/partition.h"
#include "plan/route.h"
#include "plan/tiles.h"

enum {
  STRIPS = 8,      /* strips of a block */
  STRETCHES = 256, /* stretches to try */
  THINNEST = 64,   /* least rows of a strip */
  THINNEST_ON_GPU = 1024,
};

static const double worth = 0.995; /* strips must reduce the time to this fraction */

/* All panels that a product reads remain in memory until the last one has arrived. */
static bool keeps_panels(const dm_plan *plan) {
  const dm_route a = dm_plan_route(plan, DM_A), b = dm_plan_route(plan, DM_B);
  return dm_route_keeps_panels(&a) && dm_route_keeps_panels(&b);
}

static int most_strips(const dm_plan *plan) {
  const int64_t thinnest = plan->gpu ? THINNEST_ON_GPU : THINNEST;
  const int64_t step = dm_max(plan->border, thinnest);
  const int64_t rows = dm_range_size(dm_plan_c_share(plan, 0, plan->pm - 1, plan->pk - 1));
  return (int)dm_min(STRIPS, rows / step);
}

static double price(const dm_question *question, dm_plan *plan) {
  plan->forecast = dm_plan_forecast(plan, question->machine);
  return plan->forecast.total;
}

void dm_plan_choose_strips(const dm_question *question, dm_plan *plan) {
  const bool leaves = dm_plan_has_files(&plan->problem) || dm_plan_returns(plan) || plan->pk > 1;
  const int64_t shortest = dm_range_size(dm_plan_layer(plan, plan->pk - 1));
  plan->strips = 0;
  plan->stretch = 0;
  if (!leaves || !plan->overlap || dm_plan_tiles(plan) > 1 || dm_plan_streams(plan) ||
      !keeps_panels(plan))
    return;
  const int strips = most_strips(plan);
  dm_plan best = *plan, trial = *plan;
  double least = price(question, &best);
  const int64_t step = dm_max(1, dm_ceil_div(shortest, STRETCHES));
  trial.strips = strips;
  for (trial.stretch = step; trial.stretch <= shortest && strips > 1; trial.stretch += step) {
    const double seconds = price(question, &trial);
    if (seconds >= worth * least) continue;
    best = trial;
    least = seconds;
  }
  *plan = best;
}
