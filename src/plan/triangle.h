/* triangle: the part of a symmetric C that is computed.
 *
 * Elements on and below the diagonal are computed; those above it are their mirror images, and
 * stored with them. So of a block of C, some rows need the columns up to the last of these rows.
 * Rows that do not cross the first or last column of their block either need nothing, or all
 * columns before a square on the diagonal, and this square; or all columns. */
#ifndef DM_PLAN_TRIANGLE_H
#define DM_PLAN_TRIANGLE_H

#include "plan/partition.h"

/* Consecutive rows of a block. */
typedef struct dm_stripe {
  dm_range rows;  /* of C */
  int64_t cols;   /* columns computed, from the first of the block; 0: none */
  int64_t square; /* the last of them, as many as there are rows, that are on the diagonal; or 0 */
} dm_stripe;

/* The first rows of ROWS that do not cross a border of the block's columns COLS, at most to the
 * next multiple of STEP (0: any number); the whole of ROWS if C is not symmetric. */
dm_stripe dm_triangle_stripe(const dm_problem *problem, dm_range rows, dm_range cols, int64_t step);

/* If a block with these ROWS and COLS of a symmetric C is cut into stripes of WIDTH rows, each
 * mirrored within its square: the part of the block's columns from COL on, at most WIDTH, that has
 * mirror images elsewhere, in as many rows as possible. The stripes and these parts, for COL from
 * the first column to the last of all rows, cover each element that is stored once. */
dm_extent dm_triangle_beside(dm_range rows, dm_range cols, int64_t col, int64_t width);

/* The step for products of a block with COLS columns: each repeats some work for its rows, and each
 * computes the upper half of its square in vain. */
int64_t dm_triangle_step(int64_t cols);

/* A symmetric C in several tiles has as many rows of them as columns. Tiles above the diagonal are
 * never computed: they are mirror images, stored with the tile that they are the image of. */

/* Whether TILE is such an image. */
bool dm_triangle_is_image(const dm_plan *plan, int64_t tile);

/* The tile that is stored together with TILE, its image or what it is the image of; TILE itself if
 * there is none. */
int64_t dm_triangle_twin(const dm_plan *plan, int64_t tile);

/* The number of tiles that are no images. */
int64_t dm_triangle_tiles(const dm_plan *plan);

/* The largest fraction of the products of a block that a rank of PLAN computes, on average over the
 * tiles that are computed. */
double dm_triangle_fraction(const dm_plan *plan);

#endif
