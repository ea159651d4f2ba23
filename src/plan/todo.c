#include "plan/todo.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "plan/tiles.h"

dm_status dm_todo_new(int64_t tiles, const bool *there, dm_todo **todo) {
  dm_todo *new;
  *todo = NULL;
  DM_TRY(dm_buffer_table(1, &new));
  dm_status status = dm_buffer_table(tiles, &new->tiles);
  if (!status) status = dm_buffer_table(tiles, &new->place);
  if (status) {
    dm_todo_free(new);
    return status;
  }
  for (int64_t t = 0; t < tiles; t++) {
    new->place[t] = there[t] ? -1 : new->count;
    if (!there[t]) new->tiles[new->count++] = t;
  }
  *todo = new;
  return DM_OK;
}

void dm_todo_free(dm_todo *todo) {
  if (!todo) return;
  free(todo->tiles);
  free(todo->place);
  free(todo);
}

int64_t dm_plan_todo(const dm_plan *plan) {
  return plan->todo ? plan->todo->count : dm_plan_tiles(plan);
}

int64_t dm_plan_todo_tile(const dm_plan *plan, int64_t place) {
  return plan->todo ? plan->todo->tiles[place] : place;
}

int64_t dm_plan_todo_place(const dm_plan *plan, int64_t tile) {
  return plan->todo ? plan->todo->place[tile] : tile;
}
