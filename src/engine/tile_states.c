#include "engine/tile_states.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "plan/tiles.h"
#include "plan/triangle.h"

dm_status dm_tile_states_open(int64_t tiles, dm_tile_states *states) {
  *states = (dm_tile_states){.tiles = tiles};
  return dm_buffer_zeroed(tiles, 1, (void **)&states->state);
}

void dm_tile_states_close(dm_tile_states *states) {
  free(states->state);
  dm_todo_free(states->todo);
  *states = (dm_tile_states){0};
}

void dm_tile_reach(dm_tile_states *states, int64_t tile, unsigned state) {
  states->state[tile] = (uint8_t)(states->state[tile] | state);
}

void dm_tile_reach_all(dm_tile_states *states, unsigned state) {
  for (int64_t t = 0; t < states->tiles; t++) dm_tile_reach(states, t, state);
}

void dm_tile_give_back(dm_tile_states *states, int64_t tile) {
  states->state[tile] = 0;
}

dm_status dm_tile_states_choose(dm_tile_states *states, unsigned state, dm_plan *plan) {
  bool *there;
  dm_todo *todo = NULL;
  DM_TRY(dm_buffer_zeroed(states->tiles, sizeof *there, (void **)&there));
  for (int64_t t = 0; t < states->tiles; t++)
    there[t] =
        dm_triangle_is_image(plan, t) ||
        (dm_tile_has(states, t, state) && dm_tile_has(states, dm_triangle_twin(plan, t), state));
  dm_status status = dm_todo_new(states->tiles, there, &todo);
  free(there);
  DM_TRY(status);
  dm_todo_free(states->todo);
  plan->todo = states->todo = todo;
  return DM_OK;
}
