#include "run/aside.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { TURNS = 10 }; /* per second: how often the other ranks are answered */

typedef struct aside {
  dm_status (*work)(void *context, const dm_keepalive *keepalive);
  void *context;
  dm_keepalive keepalive;
  atomic_llong beats;
  pthread_mutex_t lock;
  pthread_cond_t ended;
  bool done;
  dm_status status;
} aside;

static dm_status beat(void *context) {
  atomic_fetch_add_explicit(&((aside *)context)->beats, 1, memory_order_relaxed);
  return DM_OK;
}

static void *work(void *context) {
  aside *a = context;
  dm_status status = a->work(a->context, &a->keepalive);
  pthread_mutex_lock(&a->lock);
  a->status = status;
  a->done = true;
  pthread_cond_signal(&a->ended);
  pthread_mutex_unlock(&a->lock);
  return NULL;
}

/* The main thread handles signals. */
static int start(aside *a, pthread_t *thread) {
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before)) return EINVAL;
  const int failed = pthread_create(thread, NULL, work, a);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failed;
}

/* Waits for one turn, or until the work has ended. */
static bool wait_turn(aside *a) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  const int64_t nanoseconds = until.tv_nsec + 1000000000 / TURNS;
  until.tv_sec += nanoseconds / 1000000000;
  until.tv_nsec = nanoseconds % 1000000000;
  pthread_mutex_lock(&a->lock);
  while (!a->done && pthread_cond_timedwait(&a->ended, &a->lock, &until) != ETIMEDOUT) {
  }
  const bool done = a->done;
  pthread_mutex_unlock(&a->lock);
  return done;
}

/* Counts turns instead of time, so that a suspended job loses nothing. */
static void accompany(dm_run *run, aside *a) {
  const double most = fmax(DM_SYNC_PATIENCE * run->timeout, DM_ASIDE_LEAST) * TURNS;
  long long seen = 0;
  for (double turns = 0; !wait_turn(a); turns++) {
    const long long beats = atomic_load_explicit(&a->beats, memory_order_relaxed);
    if (beats != seen) turns = 0;
    seen = beats;
    if (turns < most) dm_watch_moved(run->watch);
    dm_watch_poll(run->watch);
  }
}

static bool prepare(aside *a) {
  pthread_condattr_t monotonic;
  if (pthread_condattr_init(&monotonic)) return false;
  bool good = !pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) &&
              !pthread_mutex_init(&a->lock, NULL);
  if (good && pthread_cond_init(&a->ended, &monotonic)) {
    pthread_mutex_destroy(&a->lock);
    good = false;
  }
  pthread_condattr_destroy(&monotonic);
  return good;
}

dm_status dm_run_aside(dm_run *run, dm_status (*call)(void *context, const dm_keepalive *keepalive),
                       void *context) {
  aside a = {.work = call, .context = context, .keepalive = {beat, &a}};
  pthread_t thread;
  if (!run->watch || !prepare(&a)) return call(context, &a.keepalive);
  const bool threaded = start(&a, &thread) == 0;
  if (threaded) {
    accompany(run, &a);
    pthread_join(thread, NULL);
  } else {
    a.status = call(context, &a.keepalive);
  }
  pthread_cond_destroy(&a.ended);
  pthread_mutex_destroy(&a.lock);
  return a.status;
}
