/* share_sums: checksums of the shares, taken when they are read, and compared when the check sums
 * them up: they show damage in memory before that; what is damaged later does not fit the check's
 * sums.  Of shares that stay in memory.  In that of the host a piece is hashed and summed up block
 * by block, so that it passes the cache once; in that of a GPU sums stay there until the end. */
#ifndef DM_ENGINE_SHARE_SUMS_H
#define DM_ENGINE_SHARE_SUMS_H

#include "check/freivalds.h"
#include "engine/rank_state.h"

typedef struct dm_share_sums {
  uint64_t *sums[2]; /* of each place in the shares (plan/tiles.h); NULL: none are taken */
  bool *taken[2];
  uint64_t *on_device[2]; /* in place of SUMS: what was brought less what was shown, 0 in the end */
  dm_freivalds *scans;    /* scans what is brought of B; NULL: that is left to others */
  bool compared[2];
  int64_t changed[2]; /* pieces of this rank in host memory that were not what was brought */
} dm_share_sums;

/* LOCAL is open.  Where shares stay in files nothing will be taken. */
dm_status dm_share_sums_open(dm_rank_state *local, dm_freivalds *check, dm_share_sums *sums);
void dm_share_sums_close(dm_share_sums *sums);

/* The piece of PANEL in the tile that LOCAL is at has just been brought. */
dm_status dm_share_sums_take(dm_share_sums *sums, const dm_rank_state *local, dm_matrix matrix,
                             int64_t panel);

/* Whether the columns of this piece of B were scanned when it was brought. */
bool dm_share_sums_scanned(const dm_share_sums *sums, const dm_rank_state *local, int64_t panel);

/* Compares a piece with what was brought, and gives it to TAKE, which adds rows to CHECK, unless
 * the backend would rather have it: then *shown is false. */
dm_status dm_share_sums_show(dm_share_sums *sums, dm_rank_state *local, dm_matrix matrix,
                             int64_t panel, dm_freivalds_part *take, dm_freivalds *check,
                             bool *shown);

/* Collective: pieces of A and of B, on all ranks, that are not what was brought. */
dm_status dm_share_sums_compare(dm_share_sums *sums, dm_rank_state *local, int64_t changed[2]);

#endif
