/* blosc2: unpacks chunks of HDF5's filter for Blosc2: a frame that holds one packed chunk, which
 * may be divided into blocks of rows and columns (B2ND). */
#ifndef DM_DATASET_BLOSC2_H
#define DM_DATASET_BLOSC2_H

#include <stdint.h>

enum { DM_BLOSC2_FILTER = 32026 }; /* in HDF5's registry */

/* Prepares the library, if this build has it; one thread calls it at a time. */
void dm_blosc2_start(void);

/* Unpacks LENGTH bytes of DATA to OUT and returns the bytes written, at most ROOM; -1: the data are
 * damaged, or need a codec or filter that is not one of Blosc2's own. */
int64_t dm_blosc2_undo(const void *data, int64_t length, void *out, int64_t room);

#endif
