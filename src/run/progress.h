/* progress: how far a run is, on stderr of rank 0.  Lines come after 1, 2, 5, 10 and 30 s and then
 * every 30 s, since main began; a multiplication has a bar instead where stderr is a terminal.
 * Under a launcher stderr is a pipe, and prefixes of the launcher would break a bar. */
#ifndef DM_RUN_PROGRESS_H
#define DM_RUN_PROGRESS_H

#include "run/run.h"

/* Where this rank stands; rank 0 speaks for the USED ranks, which have equal parts. */
typedef struct dm_standing {
  double done;           /* of the whole work, 0 to 1 */
  int64_t read, written; /* bytes so far */
} dm_standing;

/* Seconds since main at which the next line is due, where the last one was at SHOWN (0: none). */
double dm_progress_next(double shown);

/* A line that names RUN's phase, where one is due. */
void dm_progress_phase(dm_run *run);

typedef struct dm_progress {
  dm_run *run;
  const char *label;
  bool on, terminal, at_once;
  double flops;  /* of the whole work */
  double before; /* part of it that an earlier run did */
  int used;
  double started, shown;
  double measured; /* when rates were last taken, */
  dm_standing then;
  char rates[160];
} dm_progress;

/* FLOPS operations in all, of which the part BEFORE (0 to 1) was done by an earlier run. */
void dm_progress_start(dm_progress *progress, dm_run *run, const char *label, double flops,
                       double before, int used);

/* Whether it is time to show again. */
bool dm_progress_is_due(const dm_progress *progress);

/* Shows NOW, at most 6 times a second on a terminal, with the rates since a second ago there, since
 * the last line else. */
void dm_progress_show(dm_progress *progress, dm_standing now);

/* A bar leaves its line to what is said next; once more does no harm. */
void dm_progress_end(dm_progress *progress);

#endif
