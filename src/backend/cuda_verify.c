/* probe, scan, checksum and fill on the GPU; host memory uses the host's functions.
 *
 * They run on a stream with priority, so that a panel can be probed while products are queued.
 * There is no wait for each: sums stay on the GPU until all are fetched. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_verify.h"
#include "backend/probe.h"
#include "core/checked.h"
#include "kernels/verify_kernels.h"

/* Bytes of a wide number: f64, two f64, int64_t. */
static int64_t wide_size(dm_dtype dtype) {
  return dm_dtype_is_complex(dtype) ? 16 : 8;
}

static dm_status probe(dm_cuda *gpu, dm_view m, const void *x, void *y, double *squares) {
  const int64_t wide = wide_size(m.dtype), parts = dm_kernels_probe_parts(m, gpu->processors);
  const int64_t x_room = dm_round_up(m.cols * wide, 256), counts[2] = {m.rows * wide / 8, m.rows};
  void *const to[2] = {y, squares};
  void *sums[2];
  DM_TRY(dm_cuda_grow(
      gpu, &gpu->vectors,
      dm_max(DM_CUDA_SUMS_LEAST, x_room + parts * m.rows * (wide + (squares ? 8 : 0)))));
  DM_TRY(dm_cuda_pending_add(gpu, to, counts, dm_dtype_is_integer(m.dtype), sums));
  const dm_probe_work work = {.matrix = m,
                              .x = gpu->vectors.memory,
                              .parts = parts,
                              .scratch = (char *)gpu->vectors.memory + x_room,
                              .sums = sums[0],
                              .squares = sums[1],
                              .stream = gpu->side};
  DM_CUDA(gpu, cudaMemcpyAsync(gpu->vectors.memory, x, (size_t)(m.cols * wide),
                               cudaMemcpyHostToDevice, gpu->side));
  DM_CUDA(gpu, dm_kernels_probe(&work));
  return DM_OK;
}

dm_status dm_cuda_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                        double *squares) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (matrix.space == DM_HOST) return dm_host_probe_parallel(matrix, x, y, squares);
  DM_TRY(dm_cuda_enter(gpu));
  return probe(gpu, matrix, x, y, squares);
}

dm_status dm_cuda_scan(dm_backend *backend, dm_view matrix, double *col_squares) {
  dm_cuda *gpu = dm_cuda_of(backend);
  void *const to[2] = {col_squares, NULL};
  void *sums[2];
  if (matrix.space == DM_HOST) return dm_host_scan_parallel(matrix, col_squares);
  DM_TRY(dm_cuda_enter(gpu));
  const int64_t parts = dm_kernels_scan_parts(matrix, gpu->processors);
  DM_TRY(dm_cuda_grow(gpu, &gpu->vectors, dm_max(DM_CUDA_SUMS_LEAST, parts * matrix.cols * 8)));
  DM_TRY(dm_cuda_pending_add(gpu, to, (int64_t[]){matrix.cols, 0}, false, sums));
  DM_CUDA(gpu, dm_kernels_scan(matrix, parts, gpu->vectors.memory, sums[0], gpu->side));
  return DM_OK;
}

dm_status dm_cuda_checksum(dm_backend *backend, dm_view matrix, dm_place place, bool subtract,
                           uint64_t *sum) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  if (matrix.dtype == DM_C128) {
    matrix = dm_view_parts(matrix);
    place.col *= 2;
    place.cols *= 2;
  }
  DM_CUDA(gpu, dm_kernels_checksum(matrix, place, subtract, sum, gpu->processors, gpu->side));
  return DM_OK;
}

dm_status dm_cuda_fill(dm_backend *backend, dm_view view, const dm_generator *generator,
                       int64_t row, int64_t col) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (view.space == DM_HOST) return dm_host_fill_parallel(view, generator, row, col);
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, dm_kernels_fill(view, generator, row, col, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

#endif
