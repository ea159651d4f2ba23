/* Extremes and sums of rows or columns on the GPU; host memory uses the host's functions.
 * Synchronous, and ahead of waiting products, as in cuda_verify.c. */
#include "backend/cuda_state.h"

#include <string.h>

#include "backend/probe.h"
#include "backend/verify_sums.h"
#include "core/checked.h"
#include "kernels/residue_kernels.h"

enum {
  EXTREMES = DM_RESIDUE_LINE_EXTREMES,
  STAGED = 1 << 17 /* 8-byte numbers in pinned memory: new memory, and memory that is not pinned,
                      takes longer than the scan of thousands of lines */
};

_Static_assert((int)DM_LINE_SUMS == (int)DM_RESIDUE_LINE_SUMS, "the kernel's sums");

/* Clears COUNT 8-byte numbers after SKIP such numbers in device memory. */
static dm_status cuda_make_room(dm_cuda *gpu, int64_t skip, int64_t count, char **device) {
  DM_TRY(dm_cuda_grow(gpu, &gpu->vectors, 8 * (skip + count)));
  *device = (char *)gpu->vectors.memory + 8 * skip;
  DM_CUDA(gpu, cudaMemsetAsync(*device, 0, (size_t)(8 * count), gpu->side));
  return DM_OK;
}

static dm_status cuda_need_staged(dm_cuda *gpu) {
  return gpu->staged ? DM_OK : dm_cuda_alloc(&gpu->base, DM_HOST, 8 * STAGED, &gpu->staged);
}

/* Brings COUNT numbers, at most STAGED, and waits for them and all before. */
static dm_status cuda_lines_fetch(dm_cuda *gpu, const char *device, int64_t count) {
  DM_CUDA(gpu, cudaMemcpyAsync(gpu->staged, device, (size_t)(8 * count), cudaMemcpyDeviceToHost,
                               gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

static dm_status cuda_lines_send(dm_cuda *gpu, const double *numbers, int64_t count) {
  char *device = gpu->vectors.memory;
  for (int64_t i = 0; i < count; i += STAGED) {
    const size_t bytes = (size_t)(8 * dm_min(STAGED, count - i));
    if (i > 0) DM_CUDA(gpu, cudaStreamSynchronize(gpu->side)); /* the memory is free again */
    memcpy(gpu->staged, numbers + i, bytes);
    DM_CUDA(gpu,
            cudaMemcpyAsync(device + 8 * i, gpu->staged, bytes, cudaMemcpyHostToDevice, gpu->side));
  }
  return DM_OK;
}

static double cuda_number_of(uint64_t bits) {
  double number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* Decodes the kernel's bits. */
static void cuda_take_extremes(const uint64_t *found, int64_t lines, double *extremes) {
  const uint64_t infinite = (uint64_t)0x7ff << 52;
  for (int64_t l = 0; l < lines; l++) {
    const double largest = cuda_number_of(found[EXTREMES * l]), old = extremes[2 * l];
    const double least = -cuda_number_of(infinite - found[EXTREMES * l + 1]);
    if (!(largest <= old)) extremes[2 * l] = largest;
    if (least > extremes[2 * l + 1]) extremes[2 * l + 1] = least;
  }
}

dm_status dm_cuda_extremes(dm_backend *backend, dm_view matrix, bool by_row, double *extremes) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (matrix.space == DM_HOST) return dm_host_extremes_parallel(backend, matrix, by_row, extremes);
  const dm_view lines = by_row ? matrix : dm_view_transpose(matrix);
  const int64_t most = STAGED / EXTREMES;
  char *device;
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(cuda_need_staged(gpu));
  DM_TRY(cuda_make_room(gpu, 0, EXTREMES * lines.rows, &device));
  DM_CUDA(gpu, dm_kernels_residue_extremes(lines, (uint64_t *)(void *)device, gpu->side));
  for (int64_t l = 0; l < lines.rows; l += most) {
    const int64_t count = dm_min(most, lines.rows - l);
    DM_TRY(cuda_lines_fetch(gpu, device + 8 * EXTREMES * l, EXTREMES * count));
    cuda_take_extremes(gpu->staged, count, extremes + 2 * l);
  }
  return DM_OK;
}

dm_status dm_cuda_line_sums(dm_backend *backend, dm_view matrix, bool by_row,
                            const double *extremes, int64_t *sums) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (matrix.space == DM_HOST)
    return dm_host_line_sums_parallel(backend, matrix, by_row, extremes, sums);
  const dm_view lines = by_row ? matrix : dm_view_transpose(matrix);
  const int64_t all = DM_LINE_SUMS * lines.rows;
  char *device;
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(cuda_need_staged(gpu));
  DM_TRY(cuda_make_room(gpu, 2 * lines.rows, all, &device));
  DM_TRY(cuda_lines_send(gpu, extremes, 2 * lines.rows));
  DM_CUDA(gpu, dm_kernels_residue_sums(lines, gpu->vectors.memory, dm_line_depths,
                                       (int64_t *)(void *)device, gpu->side));
  for (int64_t i = 0; i < all; i += STAGED) {
    const int64_t count = dm_min(STAGED, all - i), *found = gpu->staged;
    DM_TRY(cuda_lines_fetch(gpu, device + 8 * i, count));
    for (int64_t x = 0; x < count; x++) sums[i + x] += found[x];
  }
  return DM_OK;
}
