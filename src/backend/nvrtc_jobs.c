/* Compiling takes a second a kernel, and the search for tile sizes compiles dozens: NVRTC may be
 * called from several threads. */
#ifdef DM_HAVE_CUDA

#include <stdatomic.h>

#include "backend/nvrtc.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/fork_join.h"

enum { MOST_THREADS = 32 }; /* each needs some 100 MB */

typedef struct work {
  const dm_nvrtc *nvrtc;
  int capability, count;
  dm_nvrtc_job *jobs;
  atomic_int next;
} work;

static void compile_some(void *argument) {
  work *w = argument;
  for (;;) {
    const int i = atomic_fetch_add(&w->next, 1);
    if (i >= w->count) return;
    dm_nvrtc_job *job = &w->jobs[i];
    const double start = dm_now();
    job->status = dm_nvrtc_compile(w->nvrtc, job->source, w->capability, &job->image, &job->size);
    job->seconds = dm_now() - start;
  }
}

void dm_nvrtc_compile_all(const dm_nvrtc *nvrtc, int capability, dm_nvrtc_job *jobs, int count) {
  work w = {.nvrtc = nvrtc, .capability = capability, .count = count, .jobs = jobs};
  atomic_init(&w.next, 0);
  (void)dm_fork_join((int)dm_min(dm_min(count, dm_cores()), MOST_THREADS), compile_some, &w);
}

#endif
