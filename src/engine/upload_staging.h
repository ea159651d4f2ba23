/* upload_staging: moves rectangles of files to the device, by strips of rows: threads read them
 * into a few pinned buffers, and the device's copy engines copy from there. */
#ifndef DM_ENGINE_UPLOAD_STAGING_H
#define DM_ENGINE_UPLOAD_STAGING_H

#include "engine/dataset_input.h"

/* Panels FIRST to FIRST + COUNT of MATRIX for TILE: they are adjacent in the file, in ROWS rows of
 * COLS elements. A row of the file is a row of each piece or, if op(X) is transposed, a column. */
typedef struct dm_staged_part {
  dm_matrix matrix;
  int64_t tile, first, count;
  int64_t row, col, rows, cols; /* rectangle of the file */
  int64_t begun, arrived;       /* rows started and arrived, of ROWS */
} dm_staged_part;

typedef struct dm_staging dm_staging;

/* Buffers for this rank's shares; *stage is NULL if none of them is on the device. The caller keeps
 * LOCAL and SOURCES. */
dm_status dm_staging_open(dm_rank_state *local, dm_dataset_input sources[2], dm_staging **stage);

/* Call before LOCAL's memory is freed, and after the read-ahead of the sources is closed. NULL is
 * allowed. */
void dm_staging_close(dm_staging *stage);

/* Starts moving PART's next rows; *begun: a buffer was free for them. PART must live until
 * all of its rows have arrived. */
dm_status dm_staging_begin(dm_staging *stage, dm_staged_part *part, bool *begun);

/* Progresses everything under way. */
dm_status dm_staging_poll(dm_staging *stage);

#endif
