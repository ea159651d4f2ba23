/* tiles_look: reads the checksums of tiles that damier stored in a finished file
 * (output_tiles.h). */
#ifndef DM_FILE_TILES_LOOK_H
#define DM_FILE_TILES_LOOK_H

#include "file/journal.h"

/* *tiles, freed by the caller, are the *COUNT tiles of the inspected C; COUNT is 0 if the file has
 * none, or those of another dataset. DM_E_INPUT: they are damaged. Forks. */
dm_status dm_tiles_look(const dm_dataset *c, dm_tile_record **tiles, int64_t *count);

#endif
