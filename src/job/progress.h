/* progress: how far a run is, on stderr of rank 0: a bar on a terminal, a line now and then in a
 * log. */
#ifndef DM_JOB_PROGRESS_H
#define DM_JOB_PROGRESS_H

#include "job/run.h"

typedef struct dm_progress {
  const dm_run *run;
  const char *label;
  bool on, terminal;
  double started, shown;
} dm_progress;

void dm_progress_start(dm_progress *progress, const dm_run *run, const char *label);

/* Shows DONE of TOTAL, at most 6 times a second on a terminal and every 30 s else. */
void dm_progress_show(dm_progress *progress, int64_t done, int64_t total);

void dm_progress_end(dm_progress *progress);

#endif
