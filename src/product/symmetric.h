/* symmetric: what products with a symmetric C need: the old C is symmetric, too; sums are stored
 * twice. */
#ifndef DM_PRODUCT_SYMMETRIC_H
#define DM_PRODUCT_SYMMETRIC_H

#include "check/freivalds.h"
#include "engine/rank_state.h"
#include "file/read.h"
#include "plan/problem.h"
#include "run/run.h"

/* Collective: the ranks share the matrix OLD, block by block; NaN equals NaN. DM_E_INPUT: it is not
 * symmetric, or Hermitian, as PROBLEM's C. */
dm_status dm_old_is_symmetric(dm_run *run, const dm_problem *problem, dm_reader *old);

/* ---- sums of a symmetric C that are stored twice, as they are and as a mirror image ---- */

/* EXTENT of C in SUMS, rows ROWS and columns COLS. */
dm_view dm_memory_mirror_cut(dm_view sums, dm_range rows, dm_range cols, dm_extent extent);

/* Adds what this rank computed of SUMS, its ROWS of the tile, and the mirror image. */
dm_status dm_memory_mirror_check(dm_freivalds *check, const dm_rank_state *local, dm_view sums,
                                 dm_range rows);

#endif
