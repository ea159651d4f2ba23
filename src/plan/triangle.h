/* triangle: the part of a symmetric C that is computed.
 *
 * Its grid, and its tiles, have as many rows as columns, so each block of C is a square on the
 * diagonal, or below or above it. Of a square, products compute the elements on and below the
 * diagonal, which are then mirrored within the block. Of two blocks that are each other's mirror
 * images, each rank computes a part, and stores it twice: as it is, and its image. Tiles above the
 * diagonal are never computed. */
#ifndef DM_PLAN_TRIANGLE_H
#define DM_PLAN_TRIANGLE_H

#include "plan/partition.h"

/* Whether the block in row I and column J of the grid is such a square. */
bool dm_triangle_is_square(const dm_plan *plan, int64_t tile, int i, int j);

/* The part of C that this block computes, maybe empty: all of it, if C is not symmetric. Of a
 * square it is the whole block, whose elements above the diagonal follow from the others. */
dm_extent dm_triangle_part(const dm_plan *plan, int64_t tile, int i, int j);

/* Whether this part is stored twice; and whether any part is. */
bool dm_triangle_has_image(const dm_plan *plan, int64_t tile, int i, int j);
bool dm_triangle_has_images(const dm_plan *plan);

/* Whether sums must outlast their own storing: images are made of them, one half of C is cleared.
 */
bool dm_triangle_keeps_sums(const dm_plan *plan);

/* Calls TAKE with the rectangles of C that products compute in ROWS of the block, until it fails.
 * A square is halved again and again: half of its rows and columns below the diagonal is one large
 * product. The smallest squares are computed in full. */
typedef dm_status dm_triangle_taker(void *context, dm_extent rectangle);
dm_status dm_triangle_each(const dm_plan *plan, int64_t tile, int i, int j, dm_range rows,
                           dm_triangle_taker *take, void *context);

/* The same for a square of all ROWS by itself, with smallest squares of at least LEAST rows, cut at
 * multiples of STEP. */
dm_status dm_triangle_each_of_square(dm_range rows, int64_t least, int64_t step,
                                     dm_triangle_taker *take, void *context);

/* Whether MATRIX of a symmetric product, the one that would be transposed while it is read, is made
 * of the other one in memory: X is read once. (GPUs do not conjugate.) */
bool dm_triangle_turns(const dm_plan *plan, dm_matrix matrix);

/* Whether the compute mode adds the layers' accumulators, so that these are mirrored, not sums. */
bool dm_triangle_mirrors_accumulators(const dm_plan *plan);

/* Whether a symmetric C can be computed on a grid of PM x PN x PK, or of any size where one is 0.
 */
bool dm_triangle_takes_grid(const dm_problem *problem, int pm, int pn, int pk);

/* Whether TILE is above the diagonal: the mirror image of another one, stored with it. */
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
