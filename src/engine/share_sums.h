/* share_sums: checksums of the shares that stay in memory, computed when pieces are loaded and
 * compared when the verification scans them. They detect damage before that scan; later damage does
 * not match the sums of the verification.
 *
 * In host memory, a piece is hashed and summed block by block, in one pass through the cache. In
 * GPU memory, the sums stay there until the end. */
#ifndef DM_ENGINE_SHARE_SUMS_H
#define DM_ENGINE_SHARE_SUMS_H

#include "backend/verify_sums.h"
#include "check/freivalds.h"
#include "engine/rank_state.h"

typedef struct dm_share_sums {
  uint64_t *sums[2]; /* one for each place in the shares (plan/tiles.h); NULL: not computed */
  bool *taken[2];
  uint64_t *on_device[2]; /* in GPU memory: sum at loading minus sum at the scan; ends at 0 */
  dm_freivalds *scans;    /* scans pieces of B as they are loaded; NULL: scanned elsewhere */
  bool compared[2];
  int64_t changed[2]; /* this rank's pieces in host memory that changed since loading */
} dm_share_sums;

/* LOCAL is open. Shares that stay in files get no checksums. */
dm_status dm_share_sums_open(dm_rank_state *local, dm_freivalds *check, dm_share_sums *sums);
void dm_share_sums_close(dm_share_sums *sums);

/* Adds the piece of PANEL in LOCAL's current tile, which has just been loaded. */
dm_status dm_share_sums_take(dm_share_sums *sums, const dm_rank_state *local, dm_matrix matrix,
                             int64_t panel);

/* Whether the columns of this piece of B were scanned when it was loaded. */
bool dm_share_sums_scanned(const dm_share_sums *sums, const dm_rank_state *local, int64_t panel);

/* Compares a piece with its checksum. *shown: TAKE has added the piece to CHECK; false if the
 * backend has device memory or the piece has no checksum: then the caller adds it. */
dm_status dm_share_sums_show(dm_share_sums *sums, dm_rank_state *local, dm_matrix matrix,
                             int64_t panel, dm_freivalds_part *take, dm_freivalds *check,
                             bool *shown);

/* Collective: compares the pieces that show has not compared, and counts those of A and of B, on
 * all ranks, that changed since loading. */
dm_status dm_share_sums_compare(dm_share_sums *sums, dm_rank_state *local, int64_t changed[2]);

/* Passes LOCAL's piece of PANEL to TAKE of CHECK. */
dm_status dm_check_piece(dm_freivalds *check, dm_freivalds_part *take, const dm_rank_state *local,
                         dm_matrix matrix, int64_t panel);

/* ---- checksums accumulated in device memory (dm_backend_checksum) ---- */

/* Copies COUNT sums from HOST to DEVICE. */
dm_status dm_device_sums_set(dm_backend *backend, uint64_t *device, uint64_t *host, int64_t count);

/* Copies COUNT sums from DEVICE to HOST once all posted sums are done. */
dm_status dm_device_sums_get(dm_backend *backend, uint64_t *host, uint64_t *device, int64_t count);

#endif
