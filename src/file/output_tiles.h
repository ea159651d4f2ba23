/* output_tiles: the record of tiles in C's file. Private to io. */
#ifndef DM_FILE_OUTPUT_TILES_H
#define DM_FILE_OUTPUT_TILES_H

#include <hdf5.h>

#include "file/journal.h"

#define DM_TILES "/.damier/tiles"
#define DM_TILES_OF "dataset" /* attribute: the dataset of the tiles */
#define DM_TILES_HASH "hash"
#define DM_TILES_CHECKSUM "checksum" /* attribute: DM_CHECKSUM */

/* Writes dataset /.damier/tiles: row, col, rows, cols, checksum of COUNT tiles of AT's dataset; its
 * attribute "hash" is the XXH3-64 of these numbers in the order of the tiles. */
dm_status dm_output_write_tiles(const dm_location *at, hid_t file, const dm_tile_record *tiles,
                                int64_t count);

/* The HDF5 type of such a record in memory; < 0: failed. The hash of COUNT records. */
hid_t dm_output_tile_type(void);
uint64_t dm_output_tiles_hash(const dm_tile_record *tiles, int64_t count);

#endif
