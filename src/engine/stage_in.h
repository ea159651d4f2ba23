/* stage_in: rectangles of files on their way to the device, by strips of rows that threads read
 * into a few pinned buffers, and that the device's copy engines take from there. */
#ifndef DM_ENGINE_STAGE_IN_H
#define DM_ENGINE_STAGE_IN_H

#include "engine/load.h"

/* Panels FIRST up to FIRST + COUNT of MATRIX for TILE: they stand side by side in the file, which
 * has ROWS of them, each COLS long.  A row of the file is one of the pieces, or, where op(X) is
 * transposed, a column. */
typedef struct dm_transit {
  dm_matrix matrix;
  int64_t tile, first, count;
  int64_t row, col, rows, cols; /* of the file */
  int64_t begun, arrived;       /* rows, of ROWS */
} dm_transit;

typedef struct dm_stage_in dm_stage_in;

/* Buffers for this rank's shares; *stage NULL where none of them lies on the device.  TASK and
 * SOURCES stay the caller's. */
dm_status dm_stage_in_open(dm_task *task, dm_source sources[2], dm_stage_in **stage);

/* Before TASK's memory goes, and after the read-ahead of the sources is closed.  NULL is allowed.
 */
void dm_stage_in_close(dm_stage_in *stage);

/* Starts the way of TRANSIT's next rows; *begun: a buffer was free for them.  TRANSIT must live
 * until all of its rows have arrived. */
dm_status dm_stage_in_begin(dm_stage_in *stage, dm_transit *transit, bool *begun);

/* Moves on everything that is under way. */
dm_status dm_stage_in_poll(dm_stage_in *stage);

#endif
