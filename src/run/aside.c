#include "run/aside.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TURNS = 10 }; /* per second: how often the other ranks are answered */

typedef struct aside {
  dm_status (*work)(void *context, const dm_keepalive *keepalive);
  void *context;
  dm_keepalive keepalive;
  atomic_llong beats;
  int ended; /* an eventfd, set when the work has ended */
  dm_status status;
} aside;

static dm_status beat(void *context) {
  atomic_fetch_add_explicit(&((aside *)context)->beats, 1, memory_order_relaxed);
  return DM_OK;
}

static void *work(void *context) {
  aside *a = context;
  a->status = a->work(a->context, &a->keepalive);
  (void)eventfd_write(a->ended, 1);
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
static bool wait_turn(const aside *a) {
  struct pollfd ended = {.fd = a->ended, .events = POLLIN};
  return poll(&ended, 1, 1000 / TURNS) > 0;
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

dm_status dm_run_aside(dm_run *run, dm_status (*call)(void *context, const dm_keepalive *keepalive),
                       void *context) {
  aside a = {.work = call, .context = context, .keepalive = {beat, &a}, .ended = -1};
  pthread_t thread;
  if (run->watch) a.ended = eventfd(0, EFD_CLOEXEC);
  if (a.ended < 0 || start(&a, &thread) != 0) {
    a.status = call(context, &a.keepalive);
  } else {
    accompany(run, &a);
    pthread_join(thread, NULL);
  }
  if (a.ended >= 0) close(a.ended);
  return a.status;
}
