#include "job/watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "comm/roll.h"
#include "core/checked.h"
#include "core/units.h"

enum { TICKS = 40, TELL_MOST = 6 };
static const double longest_tick = 0.5, grace = 5; /* seconds */

struct dm_watch {
  const dm_comm *world;
  dm_roll *roll;
  pid_t parent;
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
  dm_watch_expired *expired;
  void *context;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool ending;
};

/* Rank 0 goes first, for it knows more; where it is silent, rank 1, then the next two, and so on:
 * the launcher ends all at the first one's exit, and few say the same. */
static double grace_of(int rank) {
  int late = 0;
  for (int r = rank; r > 1 && late < 3; r /= 2) late++;
  return rank == 0 ? 0 : grace + late;
}

/* "rank 3 on n3", "rank 2 on n2, rank 3 on n2 and 4 others": who has not been heard of lately. */
static int list_silent(const dm_watch *w, int now, char *text, size_t size) {
  int silent = 0, shown = 0;
  const char *host = NULL;
  size_t used = 0;
  for (int rank = 1; w->rank == 0 && rank < w->ranks; rank++) {
    if (dm_roll_heard(w->roll, rank) > now - w->limit / 2) continue;
    silent++;
    if (shown == 4) continue;
    const char *at = dm_roll_host(w->roll, rank);
    if (used < size)
      used += (size_t)snprintf(text + used, size - used, "%srank %d on %.60s", host ? ", " : "",
                               rank, at);
    host = at;
    shown++;
  }
  if (silent > shown && used < size)
    snprintf(text + used, size - used, " and %d others", silent - shown);
  return silent;
}

/* Who holds the others up, in words. */
static void accuse(const dm_watch *w, int now, dm_error *error, char *who, size_t size) {
  int patience = atomic_load(&w->patience);
  bool stuck = atomic_load(&w->polled) <= now - w->limit * patience / 2;
  error->rank = w->rank;
  if (stuck) {
    snprintf(who, size, "rank %d itself does not go on", w->rank);
  } else if (w->rank != 0) {
    error->rank = 0;
    snprintf(who, size, "rank 0 on %.60s is awaited and does not answer", dm_roll_host(w->roll, 0));
  } else {
    char list[400];
    int silent = list_silent(w, now, list, sizeof list);
    if (silent == 0)
      snprintf(who, size, "every rank answers, and waits for another");
    else
      snprintf(who, size, "%s %s awaited and %s not answer", list, silent == 1 ? "is" : "are",
               silent == 1 ? "does" : "do");
  }
}

static void expire(const dm_watch *w, int now) {
  char who[520], time[32], at[64] = "";
  dm_error error = {.code = DM_E_HANG};
  accuse(w, now, &error, who, sizeof who);
  long long done = atomic_load(&w->done), total = atomic_load(&w->total);
  if (total > 0) snprintf(at, sizeof at, " (%lld of %lld panels)", done, total);
  snprintf(error.message, sizeof error.message, "nothing has moved for %s: %s",
           dm_format_seconds(w->seconds * atomic_load(&w->patience), time), who);
  snprintf(error.place, sizeof error.place, "%s%s, as rank %d sees it", atomic_load(&w->phase), at,
           w->rank);
  snprintf(error.hint, sizeof error.hint,
           "is its node up and its process running?  --hang-timeout says how long is waited");
  w->expired(&error, w->context);
}

/* The launcher's daemon ended without its ranks: nobody would ever end this one. */
static void be_orphan(const dm_watch *w) {
  dm_error error = {.code = DM_E_MPI, .rank = w->rank};
  snprintf(error.message, sizeof error.message,
           "the process that started rank %d on %.60s is gone: the rank ends too", w->rank,
           dm_comm_host(w->world));
  w->expired(&error, w->context);
}

static void wait_tick(dm_watch *w) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  int64_t nanoseconds = until.tv_nsec + (int64_t)(w->tick * 1e9);
  until.tv_sec += nanoseconds / 1000000000;
  until.tv_nsec = nanoseconds % 1000000000;
  while (!w->ending && pthread_cond_timedwait(&w->wake, &w->lock, &until) != ETIMEDOUT) {
  }
}

static void *count_ticks(void *argument) {
  dm_watch *w = argument;
  long long seen = -1;
  int changed = 0;
  pthread_mutex_lock(&w->lock);
  for (wait_tick(w); !w->ending; wait_tick(w)) {
    int now = atomic_fetch_add(&w->ticks, 1) + 1;
    if (w->ranks > 1 && getppid() != w->parent) be_orphan(w);
    long long moves = atomic_load(&w->moves) + atomic_load(&w->job);
    if (moves != seen) changed = now;
    seen = moves;
    int limit = w->limit * atomic_load(&w->patience) + w->grace;
    if (now - changed >= limit) expire(w, now);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

static dm_status start_thread(dm_watch *w) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->wake, &attributes);
  pthread_condattr_destroy(&attributes);
  int code = pthread_create(&w->thread, NULL, count_ticks, w);
  return code ? dm_fail(DM_E_FIT, "no thread for the watchdog: %s", strerror(code)) : DM_OK;
}

dm_status dm_watch_start(const dm_comm *world, double seconds, dm_watch_expired *expired,
                         void *context, dm_watch **out) {
  dm_watch *w = calloc(1, sizeof *w);
  DM_TRY(dm_comm_agree(world, w ? DM_OK : dm_fail(DM_E_FIT, "no memory for the watchdog")));
  w->world = world;
  w->parent = getppid();
  w->rank = dm_comm_rank(world);
  w->ranks = dm_comm_size(world);
  w->seconds = seconds;
  w->tick = seconds / TICKS < longest_tick ? seconds / TICKS : longest_tick;
  w->limit = (int)(seconds / w->tick + 0.5);
  w->grace = (int)(grace_of(w->rank) / w->tick);
  w->every = (int)dm_min(TELL_MOST, w->limit / 16);
  w->expired = expired;
  w->context = context;
  atomic_init(&w->phase, "starting");
  atomic_init(&w->patience, 1);
  DM_TRY(dm_roll_open(world, &w->roll));
  DM_TRY(dm_comm_agree(world, start_thread(w)));
  *out = w;
  return DM_OK;
}

void dm_watch_stop(dm_watch *w) {
  if (!w) return;
  dm_roll_close(w->roll); /* still watched: it waits for all */
  pthread_mutex_lock(&w->lock);
  w->ending = true;
  pthread_cond_signal(&w->wake);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  pthread_cond_destroy(&w->wake);
  pthread_mutex_destroy(&w->lock);
  free(w);
}

void dm_watch_phase(dm_watch *w, const char *phase, int patience) {
  if (!w) return;
  atomic_store(&w->done, 0);
  atomic_store(&w->total, 0);
  atomic_store(&w->phase, phase);
  atomic_store(&w->patience, patience);
  dm_watch_moved(w);
}

void dm_watch_moved(dm_watch *w) {
  if (w) atomic_fetch_add_explicit(&w->moves, 1, memory_order_relaxed);
}

void dm_watch_at(dm_watch *w, int64_t done, int64_t total) {
  if (!w) return;
  atomic_store_explicit(&w->done, done, memory_order_relaxed);
  atomic_store_explicit(&w->total, total, memory_order_relaxed);
}

/* Once a tick is enough. */
void dm_watch_poll(dm_watch *w) {
  if (!w) return;
  int now = atomic_load_explicit(&w->ticks, memory_order_relaxed);
  if (now == atomic_load_explicit(&w->polled, memory_order_relaxed)) return;
  atomic_store_explicit(&w->polled, now, memory_order_relaxed);
  int64_t job = 0;
  bool tells = now - w->told >= w->every;
  /* An error of MPI shows itself to those who need MPI. */
  dm_status_free(dm_roll_poll(w->roll, now, tells, atomic_load(&w->moves), &job));
  if (tells) w->told = now;
  atomic_store(&w->job, job);
}
