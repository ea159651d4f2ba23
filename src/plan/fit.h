/* fit: reports what to change so that a problem fits in memory. */
#ifndef DM_PLAN_FIT_H
#define DM_PLAN_FIT_H

#include "plan/complete.h"
#include "plan/plan.h"

/* DM_E_FIT: what a rank needs and has with the most frugal grid, and how many ranks would
 * suffice. */
dm_status dm_plan_does_not_fit(const dm_question *question);

/* The largest square product that fits in memory. */

/* The largest n, a multiple of 64, such that a product m = n = k of PROBLEM's types fits into FILL
 * (0 to 1] of the memory of MACHINE's ranks.  DM_E_FIT: even 64 does not fit; DM_E_USAGE: memory is
 * not limited, or a wish cannot be met. */
dm_status dm_plan_fill(const dm_problem *problem, const dm_machine *machine, int ranks,
                       const dm_wishes *wishes, double fill, int64_t *n);

#endif
