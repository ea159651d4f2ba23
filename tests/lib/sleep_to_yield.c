/* sched_yield that sleeps. Waiting MPI ranks call it in a loop; with more ranks than cores they
 * would take time from computing ranks and from other tests. Who waits longer sleeps longer. */
#include <sched.h>
#include <time.h>

static long since(const struct timespec *then, const struct timespec *now) {
  return (now->tv_sec - then->tv_sec) * 1000000000L + now->tv_nsec - then->tv_nsec;
}

int sched_yield(void) {
  enum { LEAST = 20000, MOST = 320000, BUSY = 100000 }; /* nanoseconds */
  static _Thread_local struct timespec last;
  static _Thread_local long length;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  length = since(&last, &now) > BUSY || length < LEAST ? LEAST : length + length / 4;
  if (length > MOST) length = MOST;
  nanosleep(&(struct timespec){.tv_nsec = length}, NULL);
  clock_gettime(CLOCK_MONOTONIC, &last);
  return 0;
}
