/* share_sums: checksums of the shares, taken when they are read and compared after all products:
 * they show damage in memory.  Only of shares that stay in host memory. */
#ifndef DM_ENGINE_SHARE_SUMS_H
#define DM_ENGINE_SHARE_SUMS_H

#include "engine/rank_state.h"

typedef struct dm_share_sums {
  uint64_t *sums[2]; /* of each place in the shares (plan/tiles.h); NULL: none are taken */
  bool *taken[2];
} dm_share_sums;

/* LOCAL is open.  Where shares stay in files, or on a GPU, nothing will be taken. */
dm_status dm_share_sums_open(const dm_rank_state *local, dm_share_sums *sums);
void dm_share_sums_close(dm_share_sums *sums);

/* The piece of PANEL in the tile that LOCAL is at has just been brought. */
void dm_share_sums_take(dm_share_sums *sums, const dm_rank_state *local, dm_matrix matrix,
                        int64_t panel);

/* Collective: pieces of A and of B, on all ranks, that are not what was brought. */
dm_status dm_share_sums_compare(const dm_share_sums *sums, dm_rank_state *local,
                                int64_t changed[2]);

#endif
