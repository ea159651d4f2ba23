/* store: a rank's rows of C: fetched from the device, finished, checked, written. */
#ifndef DM_JOB_STORE_H
#define DM_JOB_STORE_H

#include "check/freivalds.h"
#include "engine/rank_state.h"
#include "io/file_queue.h"
#include "io/read.h"
#include "job/checkpoint.h"

typedef struct dm_sink {
  dm_output *output;
  dm_file_queue *behind; /* writes to it */
  dm_reader *old;        /* the old C; NULL where beta is 0 */
  dm_freivalds *check;   /* NULL: not verified */
  dm_checkpoint *checkpoint;
  int64_t written; /* bytes so far */
  double alpha[2], beta[2];
  struct dm_storing *storing; /* NULL before the first rows */
} dm_sink;

/* Moves ROWS of this rank's sums of the local's tile (dm_rank_sums) on towards the file; to be
 * called again, with the same local and rows, until they are written: *done.  The sums are not to
 * be touched until then.  Does little at a time: threads write meanwhile. */
dm_status dm_store_rows(dm_rank_state *local, dm_sink *sink, dm_range rows, bool *done);

/* Frees what storing took, also when something is under way: once SINK->behind is closed. */
void dm_store_close(dm_rank_state *local, dm_sink *sink);

#endif
