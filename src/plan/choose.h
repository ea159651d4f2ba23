/* choose: the plan with the least predicted time for a problem and a machine. */
#ifndef DM_PLAN_CHOOSE_H
#define DM_PLAN_CHOOSE_H

#include "plan/plan.h"

/* The plan with the least predicted time for RANKS ranks of MACHINE among all grids pm*pn*pk <=
 * RANKS that fit into memory.  DM_E_USAGE: a wish cannot be met; DM_E_FIT: nothing fits; the hint
 * says what would. */
dm_status dm_plan_choose(const dm_problem *problem, const dm_machine *machine, int ranks,
                         const dm_wishes *wishes, dm_plan *plan);

/* The number of GPUs, at most MOST, with which one process multiplies PROBLEM soonest, its start
 * included; each has a rank. MACHINES[i] describes i + 1 of them, and SECONDS[i] becomes the
 * prediction for these; INFINITY: no plan. More GPUs must save 3 %. If there is no plan: MOST. */
int dm_plan_gpus(const dm_problem *problem, const dm_machine *machines, int most,
                 const dm_wishes *wishes, double *seconds);

/* The COUNT best plans in order of predicted time, for the report; *found <= COUNT. */
dm_status dm_plan_candidates(const dm_problem *problem, const dm_machine *machine, int ranks,
                             const dm_wishes *wishes, dm_plan *plans, int count, int *found);

#endif
