/* share_check: the verification's sums of A and B where a rank's shares are in memory; those of
 * files: streamed_check.h. C's are taken while it is stored (dm_freivalds_add_c). */
#ifndef DM_ENGINE_SHARE_CHECK_H
#define DM_ENGINE_SHARE_CHECK_H

#include "check/freivalds.h"
#include "engine/rank_state.h"
#include "engine/share_sums.h"

/* Calls TAKE(CONTEXT, ...) once for each piece of op(A) or op(B) that resides on this rank. */
dm_status dm_each_piece(dm_rank_state *local, dm_matrix matrix, dm_piece_taker *take,
                        void *context);

/* Collective: creates a check of PLAN's product, with one group of columns if GPUs multiply: each
 * group would scan A in GPU memory again. */
dm_status dm_check_new(const dm_run *run, const dm_plan *plan, const double alpha[2],
                       const double beta[2], dm_freivalds **check);

/* Collective: sums what the verification needs of A and B from the shares, and compares them with
 * SUMS (NULL: none). */
dm_status dm_check_operands(dm_rank_state *local, dm_freivalds *check, dm_share_sums *sums);

#endif
