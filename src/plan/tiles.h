/* tiles: the parts of A and B read for each tile of C, and the tiles that a run computes, with
 * their states. */
#ifndef DM_PLAN_TILES_H
#define DM_PLAN_TILES_H

#include <stdbool.h>

#include "plan/partition.h"

/* Fraction of all products, 0 to 1, done with the tiles complete at the start, the first T tiles of
 * this run and the first Q panels of layer L of the next one, of a plan whose tiles were chosen by
 * dm_tile_states_choose. In constant time, since it is asked for after every panel. */
double dm_plan_part_done(const dm_plan *plan, int64_t t, int l, int64_t q);

/* ---- contents of a share ----
 *
 * A band is the part of A that the tiles of one row need, or of B for one column. Panels are
 * counted within the layer here, q = 0 ... layer - 1. A share has places for pieces: one per band
 * and panel if it resides in memory; else one per held panel, and plan->reads for the others, used
 * in turn. */

const char *dm_residence_name(dm_residence residence); /* "host", "device", "file" */
dm_residence dm_plan_residence(const dm_plan *plan, dm_matrix matrix);
int64_t dm_plan_held(const dm_plan *plan, dm_matrix matrix); /* at most plan's layer 0 */

/* Places in the share of a layer of LAYER panels. */
int64_t dm_plan_places(const dm_plan *plan, dm_matrix matrix, int64_t layer);

/* The place of the piece of panel Q in tile T. */
int64_t dm_plan_place_of(const dm_plan *plan, dm_matrix matrix, int64_t layer, int64_t t,
                         int64_t q);

/* The earlier tile that left the piece in its place; -1: it must be loaded. Only tiles that this
 * run computes leave pieces. */
int64_t dm_plan_left_by(const dm_plan *plan, dm_matrix matrix, int64_t t, int64_t q);

/* The turn whose piece gets replaced; -1: none. A turn is a panel of a tile: place of the tile *
 * LAYER + q (tiles.h). */
int64_t dm_plan_replaces(const dm_plan *plan, dm_matrix matrix, int64_t layer, int64_t t,
                         int64_t q);

/* Whether tile T is the first, or the last, of this run that needs its band of MATRIX. */
bool dm_plan_is_first(const dm_plan *plan, dm_matrix matrix, int64_t t);
bool dm_plan_is_last(const dm_plan *plan, dm_matrix matrix, int64_t t);

/* Elements of A or B that all ranks together read from the files. */
double dm_plan_read_words(const dm_plan *plan, dm_matrix matrix);

/* The tiles of C that a run computes, in order; the others are complete from an earlier run,
 * or known to be right. It is separate from the plan (plan->todo), which is broadcast before the
 * list is known; all ranks have the same list. */
typedef struct dm_todo {
  int64_t count;
  int64_t *tiles; /* ascending */
  int64_t *place; /* index in TILES of each tile of C, or -1 */
  double *before; /* fraction of all products done before each of TILES, and after the last one */
} dm_todo;

/* The tiles, of TILES in all, that THERE does not mark as complete; BEFORE remains zero. */
dm_status dm_todo_new(int64_t tiles, const bool *there, dm_todo **todo);
void dm_todo_free(dm_todo *todo); /* NULL is allowed */

/* Without a list, these mean all tiles. */
int64_t dm_plan_todo(const dm_plan *plan); /* number of tiles to compute */
int64_t dm_plan_todo_tile(const dm_plan *plan, int64_t place);
int64_t dm_plan_todo_place(const dm_plan *plan, int64_t tile); /* -1: not computed */

/* ---- states: a wrong tile is reset, and the next execution computes only that tile again ---- */

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
