/* todo: the tiles of C that a run computes, in the order of computation; the others are done, by an
 * earlier run or because they are right. It is separate from the plan (plan->todo), which is
 * broadcast before the list is known; all ranks hold the same. */
#ifndef DM_PLAN_TODO_H
#define DM_PLAN_TODO_H

#include <stdbool.h>

#include "plan/plan.h"

typedef struct dm_todo {
  int64_t count;
  int64_t *tiles; /* ascending */
  int64_t *place; /* of each tile of C among them, or -1 */
} dm_todo;

/* Of TILES tiles those of which THERE says that they are not there. */
dm_status dm_todo_new(int64_t tiles, const bool *there, dm_todo **todo);
void dm_todo_free(dm_todo *todo); /* NULL is allowed */

/* Without a list: all tiles. */
int64_t dm_plan_todo(const dm_plan *plan); /* how many */
int64_t dm_plan_todo_tile(const dm_plan *plan, int64_t place);
int64_t dm_plan_todo_place(const dm_plan *plan, int64_t tile); /* -1: it is not computed */

#endif
