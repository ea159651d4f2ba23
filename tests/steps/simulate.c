#include "steps/simulate.h"

#include <stddef.h>

static bool own_steps(void *context, dm_cursor *cursor, dm_step *step) {
  (void)context;
  return dm_cursor_next(cursor, step);
}

dm_status dm_plan_simulate(const dm_plan *plan) {
  return dm_plan_simulate_with(plan, own_steps, NULL);
}

dm_status dm_plan_simulate_with(const dm_plan *plan, dm_step_source source, void *context) {
  const dm_simulation simulation = {plan, source, context};
  DM_TRY(dm_simulate_tiling(plan));
  for (int rank = 0; rank < plan->ranks; rank++) DM_TRY(dm_simulate_rank(&simulation, rank));
  return dm_simulate_matching(&simulation);
}
