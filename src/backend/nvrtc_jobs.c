/* Compiling takes a second a kernel, and the search for tile sizes compiles dozens: NVRTC may be
 * called from several threads. */
#ifdef DM_HAVE_CUDA

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "backend/nvrtc.h"
#include "core/checked.h"
#include "core/clock.h"

enum { MOST_THREADS = 32 }; /* each needs some 100 MB */

typedef struct work {
  const dm_nvrtc *nvrtc;
  int capability, count;
  dm_nvrtc_job *jobs;
  atomic_int next;
} work;

static void *compile_some(void *argument) {
  work *w = argument;
  for (;;) {
    const int i = atomic_fetch_add(&w->next, 1);
    if (i >= w->count) return NULL;
    dm_nvrtc_job *job = &w->jobs[i];
    const double start = dm_now();
    job->status = dm_nvrtc_compile(w->nvrtc, job->source, w->capability, &job->image, &job->size);
    job->seconds = dm_now() - start;
  }
}

static int cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void dm_nvrtc_compile_all(const dm_nvrtc *nvrtc, int capability, dm_nvrtc_job *jobs, int count) {
  work w = {.nvrtc = nvrtc, .capability = capability, .count = count, .jobs = jobs};
  pthread_t threads[MOST_THREADS];
  const int most = (int)dm_min(dm_min(count, cores()), MOST_THREADS);
  int started = 0;
  atomic_init(&w.next, 0);
  while (started < most - 1 && pthread_create(&threads[started], NULL, compile_some, &w) == 0)
    started++;
  (void)compile_some(&w); /* this thread too: it is enough where no other could be started */
  for (int i = 0; i < started; i++) (void)pthread_join(threads[i], NULL);
}

#endif
