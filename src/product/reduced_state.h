/* reduced_state: the state of a reduction beside its result, from which the same command goes on.
 *
 * FILE.damier-kept has all that was kept of the first tiles, and how many these are. It is written
 * under another name, synced and renamed, so that a run that is killed at any moment leaves a whole
 * one, or none. A file of another command, of other inputs or one that was changed is not taken. */
#ifndef DM_PRODUCT_REDUCED_STATE_H
#define DM_PRODUCT_REDUCED_STATE_H

#include "product/description.h"
#include "run/run.h"

typedef struct dm_reduced_state {
  bool on;
  double interval, last; /* seconds */
  uint64_t command;      /* a checksum of what must be equal for a run to resume another */
  int64_t tiles;         /* that the file has; 0: there is none */
  int64_t step;          /* rows and columns of most tiles */
  bool unchecked;        /* part of them could not be verified */
} dm_reduced_state;

/* Collective: whether the reduction M of PROBLEM is recorded: from files to a file, unless the user
 * does not want that. COUNT reducers that have nothing get what an earlier run left, if its STEP
 * is at most MOST. METRIC: what else must be equal. */
dm_status dm_reduced_state_open(dm_run *run, const dm_multiply *m, const dm_problem *problem,
                                const char *metric, int64_t most, dm_reducer *const *reducers,
                                int count, dm_reduced_state *state);

/* Collective, after TILES of STEP: writes all if the interval has passed, or NOW. A disk that does
 * not take it is a warning, and nothing is recorded any more. */
dm_status dm_reduced_state_keep(dm_run *run, const dm_multiply *m, int64_t tiles, int64_t step,
                                bool unchecked, bool now, dm_reducer *const *reducers, int count,
                                dm_reduced_state *state);

/* Rank 0: the result has its name. */
void dm_reduced_state_remove(const dm_multiply *m, const dm_reduced_state *state);

#endif
