/* verify_tiles: compares C in its file with the checksums of its tiles from when it was
 * computed. */
#ifndef DM_PRODUCT_VERIFY_TILES_H
#define DM_PRODUCT_VERIFY_TILES_H

#include "file/tile_sums.h"
#include "product/verify.h"

/* Collective: sends rank 0's tiles of VERIFY to every rank, and opens VERIFY->sums. */
dm_status dm_verify_tiles_open(dm_run *run, dm_verify *verify);
void dm_verify_tiles_close(dm_verify *verify);

/* Collective, after every rank has added its part of C: DM_E_VERIFY, agreed, names the first tile
 * that has changed. */
dm_status dm_verify_tiles_compare(dm_run *run, const dm_verify *verify);

/* Collective: reads C only for the tiles. */
dm_status dm_verify_tiles_read(dm_run *run, const dm_verify *verify);

#endif
