/* Elements of a tile of C that a reduction may keep, found on the GPU. Synchronous, as in
 * cuda_moments.c. */
#include "backend/cuda_state.h"
#include "core/checked.h"
#include "kernels/sieve_kernels.h"

static int64_t sieve_room(int64_t bytes) {
  return dm_round_up(bytes, 256);
}

/* Copies COUNT limits to AT and sets *LIMITS to their address there; NULL stays. */
static dm_status put_limits(dm_cuda *gpu, char **at, const float **limits, int64_t count) {
  if (!*limits) return DM_OK;
  const int64_t bytes = count * (int64_t)sizeof **limits;
  DM_CUDA(gpu, cudaMemcpyAsync(*at, *limits, (size_t)bytes, cudaMemcpyHostToDevice, gpu->side));
  *limits = (const float *)(void *)*at;
  *at += sieve_room(bytes);
  return DM_OK;
}

static dm_status sift_there(dm_cuda *gpu, dm_sift_work *work, unsigned long long found[2]) {
  const size_t bytes = 2 * sizeof *found;
  char *at = gpu->sifted.memory;
  work->count = (unsigned long long *)(void *)at;
  work->nans = work->count + 1;
  at += sieve_room((int64_t)bytes);
  DM_TRY(put_limits(gpu, &at, &work->sieve.rows, work->matrix.rows));
  DM_TRY(put_limits(gpu, &at, &work->sieve.cols, work->matrix.cols));
  work->list = (dm_candidate *)(void *)at;
  DM_CUDA(gpu, cudaMemsetAsync(work->count, 0, bytes, gpu->side));
  DM_CUDA(gpu, dm_kernels_sift(work));
  DM_CUDA(gpu, cudaMemcpyAsync(found, work->count, bytes, cudaMemcpyDeviceToHost, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

dm_status dm_cuda_sift(dm_backend *backend, dm_view c, const dm_sieve *sieve, dm_candidate *list,
                       int64_t room, int64_t *count, int64_t *nans) {
  dm_cuda *gpu = dm_cuda_of(backend);
  dm_sift_work work = {.matrix = c, .sieve = *sieve, .room = room, .stream = gpu->side};
  const int64_t limits =
      sieve_room(c.rows * (int64_t)sizeof(float)) + sieve_room(c.cols * (int64_t)sizeof(float));
  unsigned long long found[2];
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(dm_cuda_grow(gpu, &gpu->sifted,
                      sieve_room(sizeof found) + limits + room * (int64_t)sizeof *list));
  DM_TRY(sift_there(gpu, &work, found));
  *count = (int64_t)found[0];
  *nans = (int64_t)found[1];
  if (*count == 0 || *count > room) return DM_OK;
  DM_CUDA(gpu, cudaMemcpyAsync(list, work.list, (size_t)*count * sizeof *list,
                               cudaMemcpyDeviceToHost, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

dm_status dm_cuda_raise(dm_backend *backend, dm_view c, dm_score score, dm_left_out left_out,
                        bool by_row, int64_t best, float *limits) {
  dm_cuda *gpu = dm_cuda_of(backend);
  const size_t bytes = (size_t)(by_row ? c.rows : c.cols) * sizeof *limits;
  if (best > DM_RAISE_GROUPS) return DM_OK;
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(dm_cuda_grow(gpu, &gpu->vectors, dm_max(DM_CUDA_SUMS_LEAST, (int64_t)bytes)));
  const dm_raise_work work = {.matrix = c,
                              .score = score,
                              .left_out = left_out,
                              .by_row = by_row,
                              .best = best,
                              .limits = gpu->vectors.memory,
                              .stream = gpu->side};
  DM_CUDA(gpu, cudaMemcpyAsync(work.limits, limits, bytes, cudaMemcpyHostToDevice, gpu->side));
  DM_CUDA(gpu, dm_kernels_raise(&work));
  DM_CUDA(gpu, cudaMemcpyAsync(limits, work.limits, bytes, cudaMemcpyDeviceToHost, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}
