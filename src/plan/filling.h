/* filling: the largest square product that fits in memory. */
#ifndef DM_PLAN_FILLING_H
#define DM_PLAN_FILLING_H

#include "plan/plan.h"

/* The largest n, a multiple of 64, such that a product m = n = k of PROBLEM's types fits into FILL
 * (0 to 1] of the memory of MACHINE's ranks.  DM_E_FIT: even 64 does not fit; DM_E_USAGE: memory is
 * not limited, or a wish cannot be met. */
dm_status dm_plan_fill(const dm_problem *problem, const dm_machine *machine, int ranks,
                       const dm_wishes *wishes, double fill, int64_t *n);

#endif
