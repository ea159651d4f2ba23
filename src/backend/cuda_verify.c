/* probe, scan and fill on the GPU; matrices in host memory go to the host's implementations.
 *
 * They run on a stream of their own with priority, so that a panel can be probed while products
 * wait in the queue, and return when the result is there. */
#ifdef DM_HAVE_CUDA

#include <stdlib.h>

#include "backend/cuda_internal.h"
#include "backend/probe.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "kernels/kernels.h"

/* Bytes of a wide number: f64, two f64, int64_t. */
static int64_t wide_size(dm_dtype dtype) {
  return dm_dtype_is_complex(dtype) ? 16 : 8;
}

/* HOST = COUNT numbers of f64 at DEVICE, when the side stream has computed them. */
static dm_status fetch(dm_cuda *gpu, void *host, const void *device, int64_t bytes) {
  DM_CUDA(gpu, cudaMemcpyAsync(host, device, (size_t)bytes, cudaMemcpyDeviceToHost, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

static void add_f64(double *to, const double *from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

/* Sums of integers wrap. */
static void add_u64(uint64_t *to, const uint64_t *from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

/* Where the vectors of a probe lie in device memory. */
typedef struct layout {
  char *x, *sums, *squares;
} layout;

static dm_status lay_out(dm_cuda *gpu, int64_t x_bytes, int64_t sum_bytes, int64_t square_bytes,
                         layout *at) {
  const int64_t x_room = dm_round_up(x_bytes, 256), sum_room = dm_round_up(sum_bytes, 256);
  DM_TRY(dm_cuda_grow(gpu, &gpu->vectors, x_room + sum_room + square_bytes));
  at->x = gpu->vectors.memory;
  at->sums = at->x + x_room;
  at->squares = square_bytes > 0 ? at->sums + sum_room : NULL;
  return DM_OK;
}

/* RESULT has room for rows wide numbers. */
static dm_status probe(dm_cuda *gpu, dm_view m, const void *x, void *y, double *squares,
                       void *result) {
  const int64_t wide = wide_size(m.dtype), parts = dm_kernels_probe_parts(m, gpu->processors);
  layout at;
  DM_TRY(lay_out(gpu, m.cols * wide, parts * m.rows * wide, squares ? parts * m.rows * 8 : 0, &at));
  DM_CUDA(gpu,
          cudaMemcpyAsync(at.x, x, (size_t)(m.cols * wide), cudaMemcpyHostToDevice, gpu->side));
  DM_CUDA(gpu, dm_kernels_probe(m, at.x, parts, at.sums, (double *)(void *)at.squares, gpu->side));
  DM_TRY(fetch(gpu, result, at.sums, m.rows * wide));
  if (dm_dtype_is_integer(m.dtype))
    add_u64(y, result, m.rows);
  else
    add_f64(y, result, m.rows * (wide / 8));
  if (!squares) return DM_OK;
  DM_TRY(fetch(gpu, result, at.squares, m.rows * 8));
  add_f64(squares, result, m.rows);
  return DM_OK;
}

dm_status dm_cuda_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                        double *squares) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (matrix.space == DM_HOST) return dm_host_probe_parallel(matrix, x, y, squares);
  DM_TRY(dm_cuda_enter(gpu));
  void *result;
  DM_TRY(dm_buffer_alloc(matrix.rows * wide_size(matrix.dtype), &result));
  dm_status status = probe(gpu, matrix, x, y, squares, result);
  free(result);
  return status;
}

static dm_status scan(dm_cuda *gpu, dm_view m, double *col_squares, double *result) {
  const int64_t parts = dm_kernels_scan_parts(m, gpu->processors);
  DM_TRY(dm_cuda_grow(gpu, &gpu->vectors, parts * m.cols * 8));
  DM_CUDA(gpu, dm_kernels_scan(m, parts, gpu->vectors.memory, gpu->side));
  DM_TRY(fetch(gpu, result, gpu->vectors.memory, m.cols * 8));
  add_f64(col_squares, result, m.cols);
  return DM_OK;
}

dm_status dm_cuda_scan(dm_backend *backend, dm_view matrix, double *col_squares) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (matrix.space == DM_HOST) return dm_host_scan_parallel(matrix, col_squares);
  DM_TRY(dm_cuda_enter(gpu));
  void *result;
  DM_TRY(dm_buffer_alloc(matrix.cols * 8, &result));
  dm_status status = scan(gpu, matrix, col_squares, result);
  free(result);
  return status;
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
