/* output_tiles: what C's file says of its tiles.  Private to io. */
#ifndef DM_IO_OUTPUT_TILES_H
#define DM_IO_OUTPUT_TILES_H

#include <hdf5.h>

#include "io/journal.h"

/* Writes dataset /.damier/tiles: row, col, rows, cols, checksum of COUNT tiles; its attribute
 * "hash" is the XXH3-64 of these numbers, tile by tile. */
dm_status dm_output_write_tiles(const dm_location *at, hid_t file, const dm_tile_record *tiles,
                                int64_t count);

#endif
