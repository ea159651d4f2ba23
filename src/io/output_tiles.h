/* output_tiles: the record of tiles in C's file. */
#ifndef DM_IO_OUTPUT_TILES_H
#define DM_IO_OUTPUT_TILES_H

#include <jansson.h>

#include "io/journal.h"

#define DM_TILES_HASH "damier_tiles_hash"

/* Writes attributes of SET, AT's open dataset: damier_tiles, damier_tiles_2, ... are rows (row,
 * col, rows, cols, checksum) of COUNT tiles, as many as an attribute holds in each;
 * damier_tiles_checksum names the kind of their checksums; damier_tiles_hash is the XXH3-64 of all
 * rows in order. */
dm_status dm_output_write_tiles(const dm_location *at, int64_t set, const dm_tile_record *tiles,
                                int64_t count);

/* The same in the ATTRIBUTES of an array of Zarr: a list of six numbers for each tile, of which the
 * last two are halves of its checksum. */
void dm_output_state_tiles(json_t *attributes, const dm_tile_record *tiles, int64_t count);

/* Reads the checksums of the tiles back from a finished file: *tiles, freed by the caller, are the
 * *COUNT tiles of the inspected C; COUNT is 0 if the file has none, or those of another kind.
 * DM_E_INPUT: they are damaged. Forks. */
dm_status dm_output_tiles_read(const dm_dataset *c, dm_tile_record **tiles, int64_t *count);

#endif
