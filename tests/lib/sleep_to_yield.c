/* sched_yield that sleeps.  MPI's ranks call it over and over while they wait; where they are more
 * than the cores, that takes the time of those that compute, and of other tests. */
#include <sched.h>
#include <time.h>

int sched_yield(void) {
  const struct timespec pause = {.tv_nsec = 20000};
  nanosleep(&pause, NULL);
  return 0;
}
