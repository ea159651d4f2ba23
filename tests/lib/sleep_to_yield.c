/* sched_yield that sleeps. Waiting MPI ranks call it in a loop; with more ranks than cores they
 * would take time from computing ranks and from other tests. */
#include <sched.h>
#include <time.h>

int sched_yield(void) {
  const struct timespec pause = {.tv_nsec = 20000};
  nanosleep(&pause, NULL);
  return 0;
}
