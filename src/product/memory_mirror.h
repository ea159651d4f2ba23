/* memory_mirror: the computed half of a symmetric C in the ranks' sums. */
#ifndef DM_JOB_MEMORY_MIRROR_H
#define DM_JOB_MEMORY_MIRROR_H

#include "check/freivalds.h"
#include "engine/rank_state.h"
#include "product/distribution.h"

/* Of the next rows from ROW of TILE, the largest number that cross no border of a rank's rows or
 * columns end here. */
int64_t dm_memory_mirror_border(const dm_plan *plan, int64_t tile, int64_t row);

/* Completes the square on the diagonal in SUMS, this rank's ROWS of the tile. */
void dm_memory_mirror_square(const dm_rank_state *local, dm_view sums, dm_range rows);

/* EXTENT of C in SUMS, rows ROWS and columns COLS. */
dm_view dm_memory_mirror_cut(dm_view sums, dm_range rows, dm_range cols, dm_extent extent);

/* Adds SUMS, this rank's ROWS of the tile, and their mirror images. */
dm_status dm_memory_mirror_check(dm_freivalds *check, const dm_rank_state *local, dm_view sums,
                                 dm_range rows);

#endif
