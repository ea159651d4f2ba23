/* complete: turns a process grid into a plan: tiles, residences, panel width, slots, order of the
 * ranks. */
#ifndef DM_PLAN_COMPLETE_H
#define DM_PLAN_COMPLETE_H

#include "plan/plan.h"

typedef enum dm_completion {
  DM_COMPLETE,
  DM_TOO_LARGE,   /* no plan with this grid fits into memory */
  DM_UNREACHABLE, /* shares cannot both stay on the GPUs, as requested, and be gathered */
} dm_completion;

/* The fastest plan with the grid pm x pn x pk that fits; without the exact counts of
 * dm_plan_finish. With DM_TOO_LARGE *plan is the one that needs least memory. */
dm_completion dm_plan_complete(const dm_question *question, int pm, int pn, int pk, dm_plan *plan);

/* Adds the exact counts: volumes, bound, memory, size of C. */
void dm_plan_finish(const dm_question *question, dm_plan *plan);

/* The last part of a product may be computed strip by strip, so that C is written meanwhile: sets
 * PLAN's strips and stretch for the least predicted time; none if panels do not stay until the end,
 * or nothing is gained. */
void dm_plan_choose_strips(const dm_question *question, dm_plan *plan);

#endif
