/* store: a rank's rows of C: fetched from the device, finished, checked, written. */
#ifndef DM_JOB_STORE_H
#define DM_JOB_STORE_H

#include "io/output.h"
#include "io/read.h"
#include "job/checkpoint.h"
#include "job/freivalds.h"
#include "job/task.h"

typedef struct dm_sink {
  dm_output *output;
  dm_reader *old;      /* the old C; NULL where beta is 0 */
  dm_freivalds *check; /* NULL: not verified */
  dm_checkpoint *checkpoint;
  int64_t written; /* bytes so far */
  double alpha[2], beta[2];
} dm_sink;

dm_status dm_store_block(dm_task *task, dm_sink *sink);

#endif
