/* Starts a GPU while MPI starts, which takes as long. */
#include <pthread.h>
#include <stdlib.h>

#include "backend/cuda.h"

struct dm_warm_up {
  pthread_t thread;
  int local_rank;
};

static void *start(void *argument) {
  dm_cuda_start(((dm_warm_up *)argument)->local_rank);
  return NULL;
}

dm_warm_up *dm_backend_warm_up(int local_rank, bool only) {
  if (dm_backend_cuda.not_built || local_rank < 0 || !dm_cuda_has_driver()) return NULL;
  if (only) dm_cuda_see_one();
  dm_warm_up *w = malloc(sizeof *w);
  if (!w) return NULL;
  w->local_rank = local_rank;
  if (pthread_create(&w->thread, NULL, start, w) == 0) return w;
  free(w);
  return NULL;
}

void dm_warm_up_end(dm_warm_up *w) {
  if (!w) return;
  (void)pthread_join(w->thread, NULL);
  free(w);
}
