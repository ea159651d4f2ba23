/* memory_mirror: sums of a symmetric C that are stored twice, as they are and as a mirror image. */
#ifndef DM_JOB_MEMORY_MIRROR_H
#define DM_JOB_MEMORY_MIRROR_H

#include "check/freivalds.h"
#include "engine/rank_state.h"

/* EXTENT of C in SUMS, rows ROWS and columns COLS. */
dm_view dm_memory_mirror_cut(dm_view sums, dm_range rows, dm_range cols, dm_extent extent);

/* Adds what this rank computed of SUMS, its ROWS of the tile, and the mirror image. */
dm_status dm_memory_mirror_check(dm_freivalds *check, const dm_rank_state *local, dm_view sums,
                                 dm_range rows);

#endif
