/* watch_impl: what the files of the watchdog share. */
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
  int limit;               /* ticks without movement that are a hang */
  int grace;               /* more of them on all ranks but 0 */
  int every;               /* ticks between two messages to rank 0 */
  atomic_int ticks;        /* counted by the thread */
  atomic_int polled;       /* when the main thread was last seen */
  atomic_llong moves, job; /* of this rank; of all, as last heard of */
  _Atomic(const char *) phase;
  atomic_int patience;
  atomic_llong done, total;
  int told;
  dm_watch_calls calls;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool ending;
  /* The end before the job is done: each is written once, and valid once its flag is set. */
  dm_ending mine, heard;
  atomic_bool leaves, passed_on, hears;
};

/* What is said of a hang, seen at tick NOW. */
void dm_watch_describe_hang(const dm_watch *watch, int now, dm_error *error);

/* What is said of a rank on HOST whose launcher is gone. */
void dm_watch_describe_orphan(const dm_ending *ending, const char *host, dm_error *error);

#endif
