/* clock: monotonic time. */
#ifndef DM_CORE_CLOCK_H
#define DM_CORE_CLOCK_H

#include <time.h>

/* Seconds since some fixed moment. */
static inline double dm_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif
