/* file_stream: passes a matrix in a file once, in runs of rows. */
#ifndef DM_PRODUCT_FILE_STREAM_H
#define DM_PRODUCT_FILE_STREAM_H

#include "core/view.h"
#include "file/read.h"
#include "plan/plan.h"
#include "run/run.h"

/* Processes PART of op(X), whose first element is (row, col), in host memory. */
typedef dm_status dm_part_taker(void *context, dm_view part, int64_t row, int64_t col);

/* How elements are read: op(X), rounded to AS (DM_DTYPE_NONE: not rounded), as elements of WORK. */
typedef struct dm_reading {
  dm_op op;
  dm_dtype as, work;
} dm_reading;

/* Passes columns COLS of ROWS of DATASET to TAKE, its first column as column 0, read on THREADS
 * threads (negative: as many as help); parts are cut alike whatever the number of ranks. MISSING
 * (or NULL): the missing values met. */
dm_status dm_file_stream(dm_run *run, int threads, const dm_dataset *dataset, dm_range rows,
                         dm_range cols, const dm_reading *how, dm_part_taker *take, void *context,
                         dm_missing_found *missing);

#endif
