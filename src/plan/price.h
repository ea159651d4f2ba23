/* price: the cost in seconds by which plans, and grids without a plan yet, are compared. */
#ifndef DM_PLAN_PRICE_H
#define DM_PLAN_PRICE_H

#include "plan/plan.h"

/* What plans are compared by: the predicted total, a little of the time of each part even where
 * others hide it, and more where files are read again: their rates are the least certain, and
 * others use them too. */
double dm_plan_price(const dm_plan *plan);

/* A price that no plan with this grid undercuts; cheap, for pruning. */
double dm_grid_floor(const dm_problem *problem, const dm_machine *machine, int pm, int pn, int pk);

#endif
