/* watch: ends a run without progress, and names the rank that the others wait for.
 *
 * A thread counts ticks of its own, so that a job that was suspended and goes on is not a hang.  It
 * never calls MPI: the main thread hears of the other ranks while it waits (comm/heartbeat.h). Rank
 * 0 knows who has fallen silent and ends the run; the others do so where rank 0 itself is silent.
 * A rank whose launcher is gone (run/launcher.h) ends the job too, with DM_E_MPI.  Before a rank
 * ends it tells the others, so that each ends by itself with the same code.
 *
 * All functions take NULL for a run that is not watched. */
#ifndef DM_RUN_WATCH_H
#define DM_RUN_WATCH_H

#include "comm/comm.h"

typedef struct dm_watch dm_watch;

/* Called by the thread.  say: why the job ends, with DM_E_HANG or DM_E_MPI; end: must not return.
 */
typedef struct dm_watch_calls {
  void *context;
  void (*say)(const dm_error *error, void *context);
  void (*end)(int code, void *context);
} dm_watch_calls;

/* Collective.  SECONDS without any movement in the whole job are a hang; 0: nothing is. */
dm_status dm_watch_start(const dm_comm *world, double seconds, dm_watch_calls calls,
                         dm_watch **watch);

/* Collective. */
void dm_watch_stop(dm_watch *watch);

/* PHASE is kept, not copied: what the run is at.  PATIENCE: so many times the usual time. */
void dm_watch_phase(dm_watch *watch, const char *phase, int patience);

/* Any thread: something was done. */
void dm_watch_moved(dm_watch *watch);

/* Main thread: where it stands; done of total may be 0 of 0. */
void dm_watch_at(dm_watch *watch, int64_t done, int64_t total);

/* Main thread, while it waits: is heard by the others, and hears them. */
void dm_watch_poll(dm_watch *watch);

#endif
