/* tile_states: the state of every tile of C; a wrong tile is reset, and the next execution computes
 * only that tile again. */
#ifndef DM_ENGINE_TILE_STATES_H
#define DM_ENGINE_TILE_STATES_H

#include "comm/comm.h"
#include "plan/todo.h"

/* A set; empty: not begun.  The executor says COMPUTED and STORED of this rank's part. */
enum {
  DM_TILE_COMPUTED = 1, /* all products, summed over the layers */
  DM_TILE_STORED = 2,   /* where the caller wants it: its memory may serve another tile */
  DM_TILE_CHECKED = 4,
  DM_TILE_RECORDED = 8, /* in the journal */
};

typedef struct dm_tile_states {
  int64_t tiles;
  uint8_t *state;
  dm_todo *todo; /* that the plan was given last */
} dm_tile_states;

dm_status dm_tile_states_open(int64_t tiles, dm_tile_states *states);
void dm_tile_states_close(dm_tile_states *states);

static inline bool dm_tile_has(const dm_tile_states *states, int64_t tile, unsigned state) {
  return (states->state[tile] & state) == state;
}

/* TILE, or every tile, has got to STATE, too. */
void dm_tile_reach(dm_tile_states *states, int64_t tile, unsigned state);
void dm_tile_reach_all(dm_tile_states *states, unsigned state);

/* TILE is as if it had never been begun; to be called alike by all ranks. */
void dm_tile_give_back(dm_tile_states *states, int64_t tile);

/* Collective: a tile keeps the states that it has on every rank that TAKES_PART. */
dm_status dm_tile_states_agree(dm_tile_states *states, const dm_comm *world, bool takes_part);

/* From now on PLAN computes the tiles that have not got to STATE.  All ranks hold the same states;
 * the list belongs to STATES, and the plan of the next call gets another. */
dm_status dm_tile_states_choose(dm_tile_states *states, unsigned state, dm_plan *plan);

#endif
