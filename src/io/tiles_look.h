/* tiles_look: the checksums of tiles that damier left in a finished file (output_tiles.h). */
#ifndef DM_IO_TILES_LOOK_H
#define DM_IO_TILES_LOOK_H

#include "io/journal.h"

/* *tiles, freed by the caller, are the *COUNT tiles of C, which was inspected; COUNT is 0 where the
 * file has none, or those of another dataset.  DM_E_INPUT where they are damaged.  Forks. */
dm_status dm_tiles_look(const dm_dataset *c, dm_tile_record **tiles, int64_t *count);

#endif
