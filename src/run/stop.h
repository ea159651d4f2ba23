/* stop: requests to end a run early, and the panel after which all ranks end.
 *
 * Each rank checks for requests; all learn of one by a maximum that is computed while they
 * multiply. Then they agree, in the same way, on the last panel: the furthest that any rank has
 * begun, so that every gather begun is finished by its whole group. A rank that fails alone
 * requests the same. */
#ifndef DM_RUN_STOP_H
#define DM_RUN_STOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"

enum { DM_STOP_BY_CALLER = 999 }; /* a program asks, without a signal */

typedef struct dm_stop {
  bool on; /* false: nobody asks, and nothing is sent */
  const volatile sig_atomic_t
      *arrived;             /* the signal that asked, or DM_STOP_BY_CALLER; 0: none yet */
  double limit, allocation; /* as of dm_now(): --time-limit, Slurm's end; 0: none */
} dm_stop;

/* DM_OK, or DM_E_STOPPED from this rank alone. */
dm_status dm_stop_check(const dm_stop *stop);

/* Collective: the same for all ranks, agreed. */
dm_status dm_stop_agree(const dm_stop *stop, const dm_comm *world);

/* ---- while panels are multiplied ---- */

typedef enum dm_halt_state {
  DM_HALT_WATCHING, /* whether anyone asks */
  DM_HALT_DECIDING, /* one does: which panel is the last? */
  DM_HALT_DECIDED,
  DM_HALT_OVER, /* all ranks have done everything */
} dm_halt_state;

typedef struct dm_halt {
  const dm_stop *stop; /* NULL: never */
  const dm_comm *world;
  dm_halt_state state;
  dm_round *round;
  double next; /* when the next round begins */
  int64_t reason;
  int64_t limit; /* what reaches further is not begun */
  bool failed;   /* set by this rank: all are to stop */
} dm_halt;

void dm_halt_start(dm_halt *halt, const dm_stop *stop, const dm_comm *world);

/* To be called again and again by all ranks until leaving.  BEGUN: how far this rank has
 * begun to go, in panels; FINISHED: it has nothing left to do. */
dm_status dm_halt_poll(dm_halt *halt, int64_t begun, bool finished);

/* Whether a rank that is finished may leave; the others hear of it at the same time. */
bool dm_halt_leaves(const dm_halt *halt);

/* After leaving, where no rank failed: DM_OK, or DM_E_STOPPED, agreed.  WHOLE: how far the run
 * would have gone; a rank that stops there has done everything. */
dm_status dm_halt_status(const dm_halt *halt, int64_t whole);

/* A rank whose file fails alone goes on until all end after a common step, so that nobody waits for
 * it.  Takes STATUS: what is not to be endured is returned, the rest is kept in *FAILURE. */
dm_status dm_halt_endure(dm_halt *halt, dm_status status, dm_status *failure);

#endif
