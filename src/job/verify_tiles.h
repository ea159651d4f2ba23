/* verify_tiles: C as it is in its file against the checksums that its tiles had when it was
 * computed. */
#ifndef DM_JOB_VERIFY_TILES_H
#define DM_JOB_VERIFY_TILES_H

#include "io/tile_sums.h"
#include "job/verify.h"

/* Collective: gives every rank rank 0's tiles of VERIFY, and opens VERIFY->sums. */
dm_status dm_verify_tiles_open(dm_run *run, dm_verify *verify);
void dm_verify_tiles_close(dm_verify *verify);

/* Collective, when every rank has added its part of C: DM_E_VERIFY, agreed, names the first tile
 * that is not as it was. */
dm_status dm_verify_tiles_compare(dm_run *run, const dm_verify *verify);

/* Collective: reads C for the tiles alone. */
dm_status dm_verify_tiles_read(dm_run *run, const dm_verify *verify);

#endif
