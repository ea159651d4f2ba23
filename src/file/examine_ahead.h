/* examine_ahead: examines many datasets at once, in several processes.
 *
 * HDF5 serves one thread at a time, and opening a file may wait for storage far away. */
#ifndef DM_FILE_EXAMINE_AHEAD_H
#define DM_FILE_EXAMINE_AHEAD_H

#include "file/inspect.h"

/* Fills *AT with the location of dataset I, below the number of datasets. */
typedef dm_status dm_ahead_name(const void *owner, int64_t i, dm_location *at);

/* All zero: nothing was examined. */
typedef struct dm_ahead {
  struct dm_ahead_work *work; /* in memory that the processes share */
  int64_t first, count, bytes;
} dm_ahead;

/* Examines datasets FIRST to FIRST + COUNT - 1. What fails, or is made of others, is left out: the
 * caller examines it again, for the error. Call in the inspecting child only. */
void dm_ahead_examine(dm_ahead *ahead, const dm_trust *trust, dm_ahead_name *name,
                      const void *owner, int64_t first, int64_t count);

/* Dataset I, or NULL: not examined, or not as VECTOR though it has one dimension. */
const dm_dataset *dm_ahead_find(const dm_ahead *ahead, int64_t i, dm_vector vector);

void dm_ahead_free(dm_ahead *ahead);

#endif
