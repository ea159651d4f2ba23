/* fit: reports what to change so that a problem fits in memory. */
#ifndef DM_PLAN_FIT_H
#define DM_PLAN_FIT_H

#include "plan/complete.h"

/* DM_E_FIT: what a rank needs and has with the most frugal grid, and how many ranks would
 * suffice. */
dm_status dm_plan_does_not_fit(const dm_question *question);

#endif
