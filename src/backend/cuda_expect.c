/* CUDA loads a kernel at its first launch, which takes up to some milliseconds. Those of the
 * verification are loaded while the first panels are read, and their memory is allocated before. */
#ifdef DM_HAVE_CUDA

#include <pthread.h>
#include <stdlib.h>

#include "backend/cuda_verify.h"
#include "core/buffer.h"
#include "kernels/verify_kernels.h"

struct dm_cuda_loading {
  pthread_t thread;
  int device;
  dm_dtype types[2]; /* type of A and B, and of C */
};

/* An error here recurs at the launch, which reports it. */
static void *load(void *argument) {
  const dm_cuda_loading *l = argument;
  if (cudaSetDevice(l->device) == cudaSuccess) {
    (void)dm_kernels_checksum_load(l->types[0]);
    (void)dm_kernels_scan_load(l->types[0]);
    for (int i = 0; i < 2; i++) (void)dm_kernels_probe_load(l->types[i]);
    (void)dm_kernels_checksum_load(l->types[1]);
  }
  (void)cudaGetLastError();
  return NULL;
}

dm_status dm_cuda_expect_sums(dm_backend *backend, dm_dtype operands, dm_dtype c) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_pending_open(gpu));
  DM_TRY(dm_cuda_grow(gpu, &gpu->vectors, DM_CUDA_SUMS_LEAST));
  if (gpu->loading) return DM_OK;
  dm_cuda_loading *new;
  DM_TRY(dm_buffer_table(1, &new));
  *new = (dm_cuda_loading){.device = gpu->index, .types = {operands, c}};
  if (pthread_create(&new->thread, NULL, load, new) == 0)
    gpu->loading = new;
  else
    free(new);
  return DM_OK;
}

void dm_cuda_expect_end(dm_cuda *gpu) {
  if (!gpu->loading) return;
  (void)pthread_join(gpu->loading->thread, NULL);
  free(gpu->loading);
  gpu->loading = NULL;
}

#endif
