/* tile_states: the state of every tile of C; a wrong tile is reset, and the next execution computes
 * only that tile again. */
#ifndef DM_ENGINE_TILE_STATES_H
#define DM_ENGINE_TILE_STATES_H

#include "plan/tiles.h"

/* A set; empty: not started. The executor reports COMPUTED and STORED for this rank's part. */
enum {
  DM_TILE_COMPUTED = 1, /* all products, summed over the layers */
  DM_TILE_STORED = 2,   /* at its destination: its memory may be reused */
  DM_TILE_CHECKED = 4,
  DM_TILE_RECORDED = 8, /* in the journal */
};

typedef struct dm_tile_states {
  int64_t tiles;
  uint8_t *state;
  dm_todo *todo; /* list last set in the plan */
} dm_tile_states;

dm_status dm_tile_states_open(int64_t tiles, dm_tile_states *states);
void dm_tile_states_close(dm_tile_states *states);

static inline bool dm_tile_has(const dm_tile_states *states, int64_t tile, unsigned state) {
  return (states->state[tile] & state) == state;
}

/* TILE, or every tile, has reached STATE. */
void dm_tile_reach(dm_tile_states *states, int64_t tile, unsigned state);
void dm_tile_reach_all(dm_tile_states *states, unsigned state);

/* Resets TILE as if it had never started; all ranks must call it alike. */
void dm_tile_give_back(dm_tile_states *states, int64_t tile);

/* From now on PLAN computes the tiles that, or whose mirror images, have not reached STATE. All
 * ranks have the same states; STATES owns the list, and the next call replaces it. */
dm_status dm_tile_states_choose(dm_tile_states *states, unsigned state, dm_plan *plan);

#endif
