/* upload_staging: rectangles of files on their way to the device, by strips of rows that threads
 * read into a few pinned buffers, and that the device's copy engines take from there. */
#ifndef DM_ENGINE_UPLOAD_STAGING_H
#define DM_ENGINE_UPLOAD_STAGING_H

#include "engine/dataset_input.h"

/* Panels FIRST up to FIRST + COUNT of MATRIX for TILE: they stand side by side in the file, which
 * has ROWS of them, each COLS long.  A row of the file is one of the pieces, or, where op(X) is
 * transposed, a column. */
typedef struct dm_transit {
  dm_matrix matrix;
  int64_t tile, first, count;
  int64_t row, col, rows, cols; /* of the file */
  int64_t begun, arrived;       /* rows, of ROWS */
} dm_transit;

typedef struct dm_staging dm_staging;

/* Buffers for this rank's shares; *stage NULL where none of them lies on the device.  LOCAL and
 * SOURCES stay the caller's. */
dm_status dm_staging_open(dm_rank_state *local, dm_dataset_input sources[2], dm_staging **stage);

/* Before LOCAL's memory goes, and after the read-ahead of the sources is closed.  NULL is allowed.
 */
void dm_staging_close(dm_staging *stage);

/* Starts the way of TRANSIT's next rows; *begun: a buffer was free for them.  TRANSIT must live
 * until all of its rows have arrived. */
dm_status dm_staging_begin(dm_staging *stage, dm_transit *transit, bool *begun);

/* Moves on everything that is under way. */
dm_status dm_staging_poll(dm_staging *stage);

#endif
