/* tiles: C in rectangles that all ranks compute together, one after the other, and what of A and B
 * is read for each.
 *
 * Tiles are cut from the whole C, whatever the grid.  They are computed in snake order, to the
 * right in one row of tiles and to the left in the next (or down and up: plan->down), so that from
 * tile to tile either the rows of A stay or the columns of B do. */
#ifndef DM_PLAN_TILES_H
#define DM_PLAN_TILES_H

#include "plan/plan.h"

typedef struct dm_tile {
  int64_t r, c; /* row and column of tiles */
  dm_range rows, cols;
} dm_tile;

int64_t dm_plan_tiles(const dm_plan *plan);

/* Tile T, the T-th in the order of computation. */
dm_tile dm_plan_tile(const dm_plan *plan, int64_t t);

/* Part of all products, 0 to 1, that is done with what was there, the first T tiles of this run and
 * the first Q panels of layer L of the next one. */
double dm_plan_part_done(const dm_plan *plan, int64_t t, int l, int64_t q);

/* ---- what a share holds ----
 *
 * A band is what the tiles of one row need of A, or those of one column of B.  Panels are counted
 * within the layer here, q = 0 ... layer - 1.  A share has places for pieces: one for each band and
 * panel where it resides in memory; else one for each panel that is held, and plan->reads for the
 * others, in turn. */

const char *dm_residence_name(dm_residence residence); /* "host", "device", "file" */
dm_residence dm_plan_residence(const dm_plan *plan, dm_matrix matrix);
int64_t dm_plan_held(const dm_plan *plan, dm_matrix matrix); /* at most plan's layer 0 */

/* Places in the share of a layer of LAYER panels. */
int64_t dm_plan_places(const dm_plan *plan, dm_matrix matrix, int64_t layer);

/* The place of the piece of panel Q in tile T. */
int64_t dm_plan_place_of(const dm_plan *plan, dm_matrix matrix, int64_t layer, int64_t t,
                         int64_t q);

/* The tile before T that left the piece where it is; -1 where it has to be brought.  Tiles that
 * this run does not compute leave nothing. */
int64_t dm_plan_left_by(const dm_plan *plan, dm_matrix matrix, int64_t t, int64_t q);

/* What is brought replaces the piece of another turn; -1: none.  A turn is a panel of a tile:
 * place of the tile * LAYER + q (todo.h). */
int64_t dm_plan_replaces(const dm_plan *plan, dm_matrix matrix, int64_t layer, int64_t t,
                         int64_t q);

/* Whether tile T is the first one of this run, or the last one, that needs its band of MATRIX. */
bool dm_plan_is_first(const dm_plan *plan, dm_matrix matrix, int64_t t);
bool dm_plan_is_last(const dm_plan *plan, dm_matrix matrix, int64_t t);

/* Elements of A or B that all ranks read from the files together. */
double dm_plan_read_words(const dm_plan *plan, dm_matrix matrix);

#endif
