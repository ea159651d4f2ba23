/* todo: the tiles of C that a run computes, in order; the others are complete from an earlier run,
 * or known to be right. It is separate from the plan (plan->todo), which is broadcast before the
 * list is known; all ranks have the same list. */
#ifndef DM_PLAN_TODO_H
#define DM_PLAN_TODO_H

#include <stdbool.h>

#include "plan/plan.h"

typedef struct dm_todo {
  int64_t count;
  int64_t *tiles; /* ascending */
  int64_t *place; /* index in TILES of each tile of C, or -1 */
} dm_todo;

/* The tiles, of TILES in all, that THERE does not mark as complete. */
dm_status dm_todo_new(int64_t tiles, const bool *there, dm_todo **todo);
void dm_todo_free(dm_todo *todo); /* NULL is allowed */

/* Without a list, these mean all tiles. */
int64_t dm_plan_todo(const dm_plan *plan); /* number of tiles to compute */
int64_t dm_plan_todo_tile(const dm_plan *plan, int64_t place);
int64_t dm_plan_todo_place(const dm_plan *plan, int64_t tile); /* -1: not computed */

#endif
