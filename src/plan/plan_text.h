/* plan_text: a plan for people. */
#ifndef DM_PLAN_PLAN_TEXT_H
#define DM_PLAN_PLAN_TEXT_H

#include <stdio.h>

#include "plan/choose.h"
#include "plan/plan.h"

/* Writes the report on BEST, with COUNT CANDIDATES (of dm_plan_candidates) beside it, in at most
 * 100 columns.  DM_E_IO where OUT cannot be written. */
dm_status dm_plan_report(const dm_plan *best, const dm_plan *candidates, int count,
                         const dm_machine *machine, FILE *out);

#endif
