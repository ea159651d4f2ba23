/* price: the cost in seconds that ranks plans, and grids not completed to plans yet. */
#ifndef DM_PLAN_PRICE_H
#define DM_PLAN_PRICE_H

#include "plan/plan.h"

/* The price of a plan: its predicted total, a small part of the time of each phase even if it is
 * hidden, and a surcharge for reading files again: file rates are the least certain, and files are
 * shared with others. */
double dm_plan_price(const dm_plan *plan);

/* A lower bound of the price of all plans with this grid; cheap, for pruning. */
double dm_grid_floor(const dm_problem *problem, const dm_machine *machine, int pm, int pn, int pk);

#endif
