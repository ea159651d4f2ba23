/* progress: reports progress on rank 0's stderr. Lines come 1, 2, 5, 10 and 30 s after the start of
 * main and then every 30 s; a multiplication shows a bar instead if stderr is a terminal. Under a
 * launcher stderr is a pipe, and prefixes of the launcher would break a bar. */
#ifndef DM_RUN_PROGRESS_H
#define DM_RUN_PROGRESS_H

#include "run/run.h"

/* The progress of this rank; rank 0 reports for the USED ranks, which have equal parts. */
typedef struct dm_standing {
  double done;           /* fraction of the whole work, 0 to 1 */
  int64_t read, written; /* bytes so far */
} dm_standing;

typedef struct dm_progress {
  dm_run *run;
  const char *label;
  bool on, terminal, at_once;
  double flops;  /* operations of the whole work */
  double before; /* fraction done by an earlier run */
  int used;
  double started, shown;
  double measured; /* time of the last rates, */
  dm_standing then;
  char rates[160];
} dm_progress;

/* FLOPS operations in all; an earlier run did the fraction BEFORE (0 to 1). */
void dm_progress_start(dm_progress *progress, dm_run *run, const char *label, double flops,
                       double before, int used);

/* Whether progress is due to be shown. */
bool dm_progress_is_due(const dm_progress *progress);

/* Shows NOW: on a terminal at most 6 times a second, with rates over the last second; else with
 * rates since the last line. */
void dm_progress_show(dm_progress *progress, dm_standing now);

/* Ends the bar's line, so that other output can follow; may be called again. */
void dm_progress_end(dm_progress *progress);

#endif
