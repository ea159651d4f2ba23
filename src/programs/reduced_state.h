/* reduced_state: all that was kept of the first tiles of a C, and how many these are, in a file
 * beside the result (state_file.h); or, of a C that is stored whole, in which file they are. */
#ifndef DM_PROGRAMS_REDUCED_STATE_H
#define DM_PROGRAMS_REDUCED_STATE_H

#include "io/output.h"
#include "product/state_file.h"

typedef struct dm_reduced_state {
  dm_state file;
  int64_t tiles;       /* that it has; 0: there is none */
  int64_t step;        /* rows and columns of most tiles */
  bool unchecked;      /* part of them could not be verified */
  dm_output_file part; /* of a C that is stored whole: its id and offset */
} dm_reduced_state;

/* The reducers of a C, M's. */
typedef struct dm_reduced_c {
  dm_run *run;
  const dm_multiply *m;
  dm_reducer *const *reducer;
  int count;
} dm_reduced_c;

/* Collective: reducers that have nothing get what an earlier run left, if its STEP is at most MOST.
 * METRIC: what else must be equal. */
dm_status dm_reduced_state_open(dm_reduced_c c, const dm_problem *problem, const char *metric,
                                int64_t most, dm_reduced_state *state);

/* Collective: whether it is time to record TILES, or NOW. */
dm_status dm_reduced_state_is_due(dm_run *run, const dm_reduced_state *state, int64_t tiles,
                                  bool now, bool *due);

/* Collective, then: writes what follows from TILES of STEP. */
dm_status dm_reduced_state_keep(dm_reduced_c c, int64_t tiles, int64_t step, bool unchecked,
                                dm_reduced_state *state);

/* Rank 0: the result has its name. */
void dm_reduced_state_remove(const dm_multiply *m, const dm_reduced_state *state);

#endif
