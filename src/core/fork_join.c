#include "core/fork_join.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

enum { MOST = 256 };

typedef struct call {
  void (*work)(void *context);
  void *context;
} call;

static void *begin(void *argument) {
  const call *one = argument;
  one->work(one->context);
  return NULL;
}

int dm_fork_join(int threads, void (*work)(void *context), void *context) {
  pthread_t others[MOST - 1];
  call one = {work, context};
  int started = 0;
  while (started < threads - 1 && started < MOST - 1 &&
         pthread_create(&others[started], NULL, begin, &one) == 0)
    started++;
  work(context);
  for (int i = 0; i < started; i++) (void)pthread_join(others[i], NULL);
  return started + 1;
}

int dm_cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}
