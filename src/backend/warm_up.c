/* Starts a GPU while MPI starts, which takes as long, and shuts it down while MPI ends. */
#include <pthread.h>
#include <stdlib.h>

#include "backend/cuda.h"

struct dm_warm_up {
  pthread_t thread;
  bool runs; /* the thread must be joined */
  int local_rank;
};

static void *start(void *argument) {
  dm_cuda_start(((dm_warm_up *)argument)->local_rank);
  return NULL;
}

static void *stop(void *argument) {
  dm_cuda_stop(((dm_warm_up *)argument)->local_rank);
  return NULL;
}

static void begin(dm_warm_up *w, void *(*work)(void *)) {
  w->runs = pthread_create(&w->thread, NULL, work, w) == 0;
}

static void join(dm_warm_up *w) {
  if (w->runs) (void)pthread_join(w->thread, NULL);
  w->runs = false;
}

dm_warm_up *dm_backend_warm_up(int local_rank, bool only) {
  if (dm_backend_cuda.not_built || local_rank < 0 || !dm_cuda_has_driver()) return NULL;
  if (only) dm_cuda_see_one();
  dm_warm_up *w = malloc(sizeof *w);
  if (!w) return NULL;
  w->local_rank = local_rank;
  begin(w, start);
  return w;
}

void dm_warm_up_undo(dm_warm_up *w) {
  if (!w) return;
  join(w);
  begin(w, stop);
}

void dm_warm_up_end(dm_warm_up *w) {
  if (!w) return;
  join(w);
  free(w);
}
