/* strips: the last part of a product, computed strip by strip so that C is written meanwhile. */
#ifndef DM_PLAN_STRIPS_H
#define DM_PLAN_STRIPS_H

#include "plan/complete.h"

/* Sets PLAN's strips and stretch for the least predicted time; none if panels do not stay until the
 * end, or nothing is gained. */
void dm_plan_choose_strips(const dm_question *question, dm_plan *plan);

#endif
