/* watch_impl: shared by the files of the watchdog. */
#ifndef DM_RUN_WATCH_IMPL_H
#define DM_RUN_WATCH_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "comm/heartbeat.h"
#include "run/launcher.h"
#include "run/watch.h"

struct dm_watch {
  const dm_comm *world;
  dm_heartbeat *heartbeat;
  dm_launcher launcher;
  int rank, ranks;
  double seconds, tick;
  int limit;               /* ticks without progress that are a hang */
  int grace;               /* additional ticks on all ranks but 0 */
  int reprieve;            /* ticks between a request to stop and the end, on rank 0 */
  int every;               /* ticks between messages to rank 0 */
  atomic_int ticks;        /* counted by the thread */
  atomic_int polled;       /* tick of the main thread's last poll */
  atomic_llong moves, job; /* progress of this rank; of the job, as last received */
  _Atomic(const char *) phase;
  atomic_int patience;
  atomic_llong done, total;
  int told;
  dm_watch_calls calls;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool ending;
  /* Early ends of the job: each is written once, and valid once its flag is set. */
  dm_ending mine, heard;
  atomic_bool leaves, passed_on, hears;
};

/* The error for a hang detected at tick NOW. */
void dm_watch_describe_hang(const dm_watch *watch, int now, dm_error *error);

/* The error for work that did not end when it was asked to. */
void dm_watch_describe_stop(dm_error *error);

/* The error for a rank on HOST whose launcher is gone. */
void dm_watch_describe_orphan(const dm_ending *ending, const char *host, dm_error *error);

#endif
