/* plan_text: the report on a plan. */
#ifndef DM_PLAN_PLAN_TEXT_H
#define DM_PLAN_PLAN_TEXT_H

#include <stdio.h>

#include "plan/choose.h"
#include "plan/plan.h"

/* Writes the report on BEST and its table of COUNT CANDIDATES (of dm_plan_candidates), at most 100
 * columns wide. DM_E_IO: OUT cannot be written. */
dm_status dm_plan_report(const dm_plan *best, const dm_plan *candidates, int count,
                         const dm_machine *machine, FILE *out);

#endif
