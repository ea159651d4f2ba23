/* out_of_core: plans for products that do not fit in memory, or take too long in one piece: C in
 * tiles, and as much of A and B in memory as fits. */
#ifndef DM_PLAN_OUT_OF_CORE_H
#define DM_PLAN_OUT_OF_CORE_H

#include "plan/plan.h"

/* Completes PLAN, which has a grid: chooses tiles, residences (host or, with files, file), held
 * panels, and the panel width with the least predicted time within memory. False if nothing fits:
 * PLAN is then the one that needs least. */
bool dm_plan_cut(const dm_question *question, dm_plan *plan);

/* Cuts the C of a PLAN that fits into tiles that are predicted to take at most SECONDS. */
void dm_plan_cut_for_time(const dm_question *question, double seconds, dm_plan *plan);

#endif
