/* Events: a lane is a queue, so an event is its lane and a number in it. Nothing is freed, and an
 * event that is never queried costs nothing. */
#ifdef DM_HAVE_CUDA

#include <pthread.h>
#include <stdlib.h>

#include "backend/cuda_state.h"
#include "backend/cuda_verify.h"
#include "core/buffer.h"
#include "kernels/verify_kernels.h"

enum { LANE_BITS = 2 };

static void complete(dm_cuda_lane *lane, uint64_t number) {
  if (number > lane->completed) lane->completed = number;
}

dm_status dm_cuda_post(dm_cuda *gpu, dm_cuda_lane_name name, dm_event *done) {
  dm_cuda_lane *lane = &gpu->lanes[name];
  const uint64_t number = lane->posted + 1;
  cudaEvent_t *event = &lane->ring[number % DM_CUDA_RING];
  if (!*event) {
    DM_CUDA(gpu, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  } else if (number > DM_CUDA_RING && number - DM_CUDA_RING > lane->completed) {
    DM_CUDA(gpu, cudaEventSynchronize(*event)); /* it still marks unfinished work */
    complete(lane, number - DM_CUDA_RING);
  }
  DM_CUDA(gpu, cudaEventRecord(*event, lane->stream));
  lane->posted = number;
  *done = number << LANE_BITS | (uint64_t)name;
  return DM_OK;
}

/* *lane is NULL if the work is known to be done. */
static dm_status find(dm_cuda *gpu, dm_event event, dm_cuda_lane **lane, uint64_t *number) {
  *lane = NULL;
  if (event == 0) return DM_OK;
  const uint64_t name = event & ((1u << LANE_BITS) - 1);
  *number = event >> LANE_BITS;
  if (name >= DM_LANES || *number > gpu->lanes[name].posted)
    return dm_fail(DM_E_BUG, "event %llx was never posted", (unsigned long long)event);
  if (*number > gpu->lanes[name].completed) *lane = &gpu->lanes[name];
  return DM_OK;
}

dm_status dm_cuda_test(dm_backend *backend, dm_event event, bool *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  dm_cuda_lane *lane;
  uint64_t number;
  DM_TRY(find(gpu, event, &lane, &number));
  *done = true;
  if (!lane) return DM_OK;
  cudaError_t answer = cudaEventQuery(lane->ring[number % DM_CUDA_RING]);
  if (answer == cudaErrorNotReady) {
    (void)cudaGetLastError(); /* else the next launch would report it */
    *done = false;
    return DM_OK;
  }
  if (answer != cudaSuccess)
    return dm_cuda_error(gpu, answer, "cudaEventQuery", __FILE__, __LINE__, __func__);
  complete(lane, number);
  return DM_OK;
}

dm_status dm_cuda_wait(dm_backend *backend, dm_event event) {
  dm_cuda *gpu = dm_cuda_of(backend);
  dm_cuda_lane *lane;
  uint64_t number;
  DM_TRY(find(gpu, event, &lane, &number));
  if (!lane) return DM_OK;
  DM_CUDA(gpu, cudaEventSynchronize(lane->ring[number % DM_CUDA_RING]));
  complete(lane, number);
  return DM_OK;
}

/* CUDA loads a kernel at its first launch, which takes up to some milliseconds. Those of the
 * verification are loaded while the first panels are read, and their memory is allocated before. */

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
