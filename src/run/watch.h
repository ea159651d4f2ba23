/* watch: ends a run without progress, and names the rank that the others wait for.
 *
 * A thread counts its own ticks, so that a job that was suspended and continues is not a hang.  It
 * never calls MPI: the main thread receives the other ranks' messages while it waits
 * (comm/heartbeat.h).  Rank 0 knows which ranks are silent and ends the run; the others do so if
 * rank 0 is silent.  A rank whose launcher is gone (run/launcher.h) also ends the job, with
 * DM_E_MPI.  Before a rank exits it tells the others, so that each exits with the same code.
 *
 * All functions accept NULL for a run that is not watched. */
#ifndef DM_RUN_WATCH_H
#define DM_RUN_WATCH_H

#include "comm/comm.h"

typedef struct dm_watch dm_watch;

/* Called by the thread. is_asked: whether the job was asked to stop at once (NULL: never); if its
 * work does not end within 8 s, as on slow storage, the rank ends where it is. say: reports why the
 * job ends, with DM_E_HANG, DM_E_MPI or DM_E_STOPPED; end: must not return. */
typedef struct dm_watch_calls {
  bool (*is_asked)(void);
  void (*say)(const dm_error *error);
  void (*end)(int code);
} dm_watch_calls;

/* Collective. The job hangs after SECONDS without progress on any rank; 0: never. */
dm_status dm_watch_start(const dm_comm *world, double seconds, dm_watch_calls calls,
                         dm_watch **watch);

/* Collective. */
void dm_watch_stop(dm_watch *watch);

/* PHASE is kept, not copied. PATIENCE: a multiple of the usual timeout. */
void dm_watch_phase(dm_watch *watch, const char *phase, int patience);

/* Any thread: reports progress. */
void dm_watch_moved(dm_watch *watch);

/* Main thread: reports the position; DONE and TOTAL may be 0. */
void dm_watch_at(dm_watch *watch, int64_t done, int64_t total);

/* Main thread, while it waits: exchanges messages with the other ranks. */
void dm_watch_poll(dm_watch *watch);

#endif
