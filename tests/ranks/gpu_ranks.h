/* gpu_ranks: tests whose ranks have GPU memory. */
#ifndef DM_TESTS_GPU_RANKS_H
#define DM_TESTS_GPU_RANKS_H

#include "backend/backend.h"
#include "backend/cuda.h"
#include "rank_test.h"

typedef struct gpu_test {
  rank_test base;
  dm_backend *gpu;
  dm_device device;
} gpu_test;

/* Returns whether the test can run; EACH: each rank needs a GPU of its own, else one is enough. If
 * not, the test has ended. */
static inline bool gpu_test_start(gpu_test *t, bool each) {
  *t = (gpu_test){.base = rank_test_start()};
  const dm_run *run = &t->base.run;
  const bool enough = dm_cuda_device_count() >= (each ? run->local_ranks : 1);
  const dm_backend_config config = {
      .local_rank = run->local_rank, .local_ranks = run->local_ranks, .kernel = "auto"};
  if (enough) {
    must(&t->base, dm_backend_open(&dm_backend_cuda, &config, &t->gpu));
    must(&t->base, dm_backend_device(t->gpu, &t->device));
  } else {
    dm_run_stop(&t->base.run);
  }
  return enough;
}

static inline int gpu_test_end(gpu_test *t) {
  dm_backend_close(t->gpu);
  return rank_test_end(&t->base);
}

static inline void *gpu_memory(gpu_test *t, int64_t bytes) {
  void *memory;
  must(&t->base, dm_backend_alloc(t->gpu, DM_DEVICE, bytes, &memory));
  return memory;
}

static inline void move(gpu_test *t, dm_space to, void *dst, dm_space from, void *src,
                        int64_t count) {
  dm_event done;
  if (count == 0) return;
  must(&t->base, dm_backend_copy(t->gpu, dm_view_strided(dst, DM_I8, to, 1, count, count),
                                 dm_view_strided(src, DM_I8, from, 1, count, count), &done));
  must(&t->base, dm_backend_wait(t->gpu, done));
}

#endif
