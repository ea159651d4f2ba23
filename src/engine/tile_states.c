#include "engine/tile_states.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "plan/tiles.h"
#include "plan/triangle.h"

enum { STATES = 4 };

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

/* The maximum of the missing states decides. */
dm_status dm_tile_states_agree(dm_tile_states *states, const dm_comm *world, bool takes_part) {
  int64_t *missing;
  dm_status status = dm_buffer_zeroed(STATES * states->tiles, sizeof *missing, (void **)&missing);
  DM_TRY(dm_comm_agree(world, status));
  for (int64_t i = 0; i < STATES * states->tiles && takes_part; i++)
    missing[i] = !dm_tile_has(states, i / STATES, 1u << i % STATES);
  status = dm_comm_max_i64(world, missing, STATES * states->tiles);
  for (int64_t t = 0; t < states->tiles && !status; t++) {
    states->state[t] = 0;
    for (int bit = 0; bit < STATES; bit++)
      if (!missing[STATES * t + bit]) dm_tile_reach(states, t, 1u << bit);
  }
  free(missing);
  return status;
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
