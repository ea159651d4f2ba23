/* watch: ends a run without progress, and names the rank that the others wait for.
 *
 * A thread counts its own ticks, so that a job that was suspended and continues is not a hang. It
 * never calls MPI: the main thread exchanges messages while it waits. Every rank sends its count of
 * progress to rank 0 from time to time (the heartbeat), and rank 0 answers with that of the job.
 * Each rank has at most one message under way, so messages to a silent rank do not pile up. Rank 0
 * knows which ranks are silent and ends the run; the others do so if rank 0 is silent. A rank whose
 * launcher is gone (run/launcher.h) ends the job with DM_E_MPI. A rank that ends tells rank 0,
 * which tells all: each exits with the same code, whatever the launcher makes of the first exit.
 *
 * All functions accept NULL for a run that is not watched. */
#ifndef DM_RUN_WATCH_H
#define DM_RUN_WATCH_H

#include "comm/comm.h"

/* How many times longer a phase that syncs many GB may go without progress. */
enum { DM_SYNC_PATIENCE = 6 };

typedef struct dm_watch dm_watch;

/* Called by the thread. is_asked: whether the job was asked to stop at once (NULL: never); if its
 * work does not end within 8 s, as on slow storage, the rank ends where it is. say: reports why the
 * job ends, with DM_E_HANG, DM_E_MPI or DM_E_STOPPED; end: must not return. */
typedef struct dm_watch_calls {
  bool (*is_asked)(void);
  void (*say)(const dm_error *error);
  void (*end)(int code);
} dm_watch_calls;

/* Both collective. The job hangs after SECONDS without progress on any rank; 0: never. */
dm_status dm_watch_start(const dm_comm *world, double seconds, dm_watch_calls calls,
                         dm_watch **watch);
void dm_watch_stop(dm_watch *watch);

/* PHASE is kept, not copied. PATIENCE: a multiple of the usual timeout. */
void dm_watch_phase(dm_watch *watch, const char *phase, int patience);

/* Any thread: reports progress. */
void dm_watch_moved(dm_watch *watch);

/* Main thread: reports the position; DONE and TOTAL may be 0. */
void dm_watch_at(dm_watch *watch, int64_t done, int64_t total);

/* Main thread, while it waits: exchanges messages with the other ranks. */
void dm_watch_poll(dm_watch *watch);

/* Main thread: calls WORK(CONTEXT, KEEPALIVE) in another one and returns its status, for storage
 * calls that may take minutes without progress: messages are exchanged meanwhile. WORK must not use
 * MPI. Its beats report progress and return DM_OK. Without a beat for DM_SYNC_PATIENCE timeouts,
 * and at least for 10 minutes, it counts as hung. */
dm_status dm_watch_work(dm_watch *watch,
                        dm_status (*work)(void *context, const dm_keepalive *keepalive),
                        void *context);

#endif
