/* state_file: the state of a job beside its result, from which the same command goes on.
 *
 * FILE.damier-kept has what the job has so far. It is written under another name, synced and
 * renamed, so that a run that is killed at any moment leaves a whole one, or none. A file of
 * another command, of other inputs or one that was changed is not taken. */
#ifndef DM_PRODUCT_STATE_FILE_H
#define DM_PRODUCT_STATE_FILE_H

#include "product/description.h"
#include "run/run.h"

typedef struct dm_state {
  bool on;
  double interval, last; /* seconds */
  uint64_t command;      /* a checksum of what must be equal for a run to resume another */
} dm_state;

/* Collective: whether M of PROBLEM is recorded: from files to a file, unless the user does not want
 * that. MORE: what else must be equal. */
dm_status dm_state_open(dm_run *run, const dm_multiply *m, const dm_problem *problem,
                        const char *more, dm_state *state);

/* Passes the next BYTES of DATA to or from the FILE. */
typedef struct dm_state_file dm_state_file;
dm_status dm_state_move(void *file, void *data, int64_t bytes);

/* Moves all that is kept, in the same pieces whether the file is read or written. */
typedef dm_status dm_state_work(void *context, dm_state_file *file);

/* Rank 0: if there is a state of this command WORK reads it. */
dm_status dm_state_read(dm_run *run, const dm_location *out, const dm_state *state,
                        dm_state_work *work, void *context);

/* Rank 0: says that all begins again, because the file beside OUT is not what it was taken for. */
void dm_state_refuse(dm_run *run, const dm_location *out);

/* Collective: whether it is time, or NOW. */
dm_status dm_state_is_due(dm_run *run, const dm_state *state, bool now, bool *due);

/* Collective: WORK writes on rank 0. A disk that does not take it is a warning, and nothing is
 * recorded any more. */
dm_status dm_state_write(dm_run *run, const dm_location *out, dm_state *state, dm_state_work *work,
                         void *context);

/* Rank 0: the result has its name. */
void dm_state_remove(const dm_location *out);

#endif
