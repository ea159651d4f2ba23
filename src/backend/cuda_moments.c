/* Moments of rows or columns, centered copies, and covariances of pairs on the GPU. Synchronous,
 * and ahead of waiting products, as in cuda_verify.c. */
#include "backend/cuda_state.h"
#include "core/checked.h"
#include "kernels/line_kernels.h"

/* Vectors of f64 in device memory, one after the other. */
typedef struct vectors {
  dm_cuda *gpu;
  char *at;
} vectors;

static int64_t cuda_room(int64_t count) {
  return dm_round_up(8 * count, 256);
}

/* Copies COUNT numbers to the device and sets *VECTOR to their address there; NULL stays. */
static dm_status cuda_put(vectors *v, const double **vector, int64_t count) {
  if (!*vector) return DM_OK;
  DM_CUDA(v->gpu, cudaMemcpyAsync(v->at, *vector, (size_t)(8 * count), cudaMemcpyHostToDevice,
                                  v->gpu->side));
  *vector = (const double *)(void *)v->at;
  v->at += cuda_room(count);
  return DM_OK;
}

dm_status dm_cuda_moments(dm_backend *backend, dm_view matrix, const dm_moments_how *how,
                          double *numbers, int64_t *first) {
  dm_cuda *gpu = dm_cuda_of(backend);
  const bool by_rows = how->by_rows;
  const double *weights = how->weights, *powers = how->powers;
  const dm_view lines = by_rows ? dm_view_transpose(matrix) : matrix;
  const int64_t width = lines.cols * (dm_dtype_is_complex(matrix.dtype) ? 2 : 1);
  const int64_t parts = dm_kernels_moments_parts(lines, gpu->processors);
  const int64_t scratch = dm_round_up(dm_kernels_moments_scratch(lines, parts), 256);
  *first = INT64_MAX;
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(dm_cuda_grow(
      gpu, &gpu->vectors,
      dm_max(DM_CUDA_SUMS_LEAST, scratch + cuda_room(1) + cuda_room(DM_MOMENTS * width) +
                                     cuda_room(lines.rows) + cuda_room(lines.cols))));
  char *const at = (char *)gpu->vectors.memory + scratch, *const found = at + cuda_room(1);
  vectors v = {gpu, found + cuda_room(DM_MOMENTS * width)};
  DM_TRY(cuda_put(&v, &weights, lines.rows));
  DM_TRY(cuda_put(&v, &powers, lines.cols));
  const dm_moments_work work = {.matrix = lines,
                                .gaps = *how->gaps,
                                .weights = weights,
                                .powers = powers,
                                .row_place = by_rows ? 1 : matrix.cols,
                                .col_place = by_rows ? matrix.cols : 1,
                                .parts = parts,
                                .scratch = gpu->vectors.memory,
                                .numbers = (double *)(void *)found,
                                .first = (int64_t *)(void *)at,
                                .stream = gpu->side};
  DM_CUDA(gpu, cudaMemcpyAsync(at, first, sizeof *first, cudaMemcpyHostToDevice, gpu->side));
  DM_CUDA(gpu, dm_kernels_moments(&work));
  DM_CUDA(gpu, cudaMemcpyAsync(numbers, found, (size_t)(8 * DM_MOMENTS * width),
                               cudaMemcpyDeviceToHost, gpu->side));
  DM_CUDA(gpu, cudaMemcpyAsync(first, at, sizeof *first, cudaMemcpyDeviceToHost, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

dm_status dm_cuda_center(dm_backend *backend, dm_view to, dm_view from, const dm_gaps *gaps,
                         const dm_centering *centering) {
  dm_cuda *gpu = dm_cuda_of(backend);
  dm_center_work work = {
      .to = to, .from = from, .gaps = *gaps, .centering = *centering, .stream = gpu->side};
  dm_centering *c = &work.centering;
  const int64_t lines = c->lines == DM_ROW_LINES ? from.rows : from.cols;
  const int64_t weights = c->weight_lines == DM_ROW_LINES ? from.rows : from.cols;
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(dm_cuda_grow(gpu, &gpu->vectors,
                      dm_max(DM_CUDA_SUMS_LEAST, 2 * cuda_room(c->parts * lines) +
                                                     2 * cuda_room(lines) + cuda_room(weights))));
  vectors v = {gpu, gpu->vectors.memory};
  DM_TRY(cuda_put(&v, &c->shift, c->parts * lines));
  DM_TRY(cuda_put(&v, &c->fill, c->parts * lines));
  DM_TRY(cuda_put(&v, &c->factor, lines));
  DM_TRY(cuda_put(&v, &c->power, lines));
  DM_TRY(cuda_put(&v, &c->weight, weights));
  DM_CUDA(gpu, dm_kernels_center(&work));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

dm_status dm_cuda_pairs(dm_backend *backend, dm_view c, const dm_pairs *of,
                        const dm_pair_form *form, bool *doubtful) {
  dm_cuda *gpu = dm_cuda_of(backend);
  dm_pairs there = *of;
  int64_t found = 0;
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(dm_cuda_grow(
      gpu, &gpu->vectors,
      dm_max(DM_CUDA_SUMS_LEAST, cuda_room(1) + cuda_room(c.rows) + cuda_room(c.cols))));
  char *const at = gpu->vectors.memory;
  vectors v = {gpu, at + cuda_room(1)};
  DM_TRY(cuda_put(&v, &there.exponents[0], c.rows));
  DM_TRY(cuda_put(&v, &there.exponents[1], c.cols));
  DM_CUDA(gpu, cudaMemsetAsync(at, 0, sizeof found, gpu->side));
  DM_CUDA(gpu, dm_kernels_pairs(c, &there, form, (int64_t *)(void *)at, gpu->side));
  DM_CUDA(gpu, cudaMemcpyAsync(&found, at, sizeof found, cudaMemcpyDeviceToHost, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  *doubtful = found != 0;
  return DM_OK;
}

dm_status dm_cuda_correlate(dm_backend *backend, dm_view c, int64_t row, int64_t col, double factor,
                            bool diagonal) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, dm_kernels_correlate(c, col - row, factor, diagonal, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}
