/* progress: how far a multiplication is, on stderr of rank 0: a bar on a terminal, a line now and
 * then in a log. */
#ifndef DM_RUN_PROGRESS_H
#define DM_RUN_PROGRESS_H

#include "run/run.h"

/* Where this rank stands; rank 0 speaks for the USED ranks, which have equal parts. */
typedef struct dm_standing {
  double done;           /* of the whole work, 0 to 1 */
  int64_t read, written; /* bytes so far */
} dm_standing;

typedef struct dm_progress {
  const dm_run *run;
  const char *label;
  bool on, terminal;
  double flops;  /* of the whole work */
  double before; /* part of it that an earlier run did */
  int used;
  double started, shown;
  double measured; /* when rates were last taken, */
  dm_standing then;
  char rates[160];
} dm_progress;

/* FLOPS operations in all, of which the part BEFORE (0 to 1) was done by an earlier run. */
void dm_progress_start(dm_progress *progress, const dm_run *run, const char *label, double flops,
                       double before, int used);

/* Whether it is time to show again. */
bool dm_progress_is_due(const dm_progress *progress);

/* Shows NOW, at most 6 times a second on a terminal and every 30 s else, with the rates since a
 * second ago there, since the last line else. */
void dm_progress_show(dm_progress *progress, dm_standing now);

/* A bar leaves its line to what is said next; once more does no harm. */
void dm_progress_end(dm_progress *progress);

#endif
