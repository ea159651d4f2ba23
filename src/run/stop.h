/* stop: requests to end a run early, and the panel after which all ranks end.
 *
 * Each rank checks for requests; all learn of one by a maximum that is computed while they
 * multiply. Then they agree, in the same way, on the last panel: the furthest that any rank has
 * begun, so that every gather begun is finished by its whole group. A rank that fails alone
 * requests the same. */
#ifndef DM_RUN_STOP_H
#define DM_RUN_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"

enum { DM_STOP_BY_CALLER = 999 }; /* requested by a program, without a signal */

typedef struct dm_stop {
  bool on;                   /* false: there are no requests, and nothing is sent */
  const atomic_int *arrived; /* the signal received, or DM_STOP_BY_CALLER; 0: none yet */
  double limit, allocation;  /* in seconds of dm_now(): --time-limit, Slurm's end; 0: none */
} dm_stop;

/* DM_OK, or DM_E_STOPPED on this rank only. */
dm_status dm_stop_check(const dm_stop *stop);

/* Collective: the same outcome for all ranks, agreed. */
dm_status dm_stop_agree(const dm_stop *stop, const dm_comm *world);

/* ---- while panels are multiplied ---- */

typedef enum dm_halt_state {
  DM_HALT_WATCHING, /* waiting for a request */
  DM_HALT_DECIDING, /* agreeing on the last panel */
  DM_HALT_DECIDED,
  DM_HALT_OVER, /* all ranks have done everything */
} dm_halt_state;

typedef struct dm_halt {
  const dm_stop *stop; /* NULL: never */
  const dm_comm *world;
  dm_halt_state state;
  dm_comm_pending *round;
  double next; /* time of the next round */
  int64_t reason;
  int64_t limit; /* nothing beyond it is started */
  bool failed;   /* set by this rank to stop all */
} dm_halt;

void dm_halt_start(dm_halt *halt, const dm_stop *stop, const dm_comm *world);

/* All ranks call it repeatedly until they leave. BEGUN: how far this rank has started, in panels;
 * FINISHED: it has nothing left to do. */
dm_status dm_halt_poll(dm_halt *halt, int64_t begun, bool finished);

/* Whether a finished rank may leave; all ranks learn it at the same step. */
bool dm_halt_leaves(const dm_halt *halt);

/* After leaving, if no rank failed: DM_OK, or DM_E_STOPPED, agreed. WHOLE: the length of the
 * complete run; a rank that stops there is done. */
dm_status dm_halt_status(const dm_halt *halt, int64_t whole);

/* A rank whose file fails continues until all stop after a common step, so that no rank waits for
 * it. Takes STATUS: returns errors that must end the run at once, keeps others in *FAILURE. */
dm_status dm_halt_keep_error(dm_halt *halt, dm_status status, dm_status *failure);

#endif
