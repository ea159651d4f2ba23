/* Sums and dot products on the GPU; host memory uses the host's functions. Synchronous, and ahead
 * of waiting products, as in cuda_verify.c. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_internal.h"
#include "backend/probe.h"
#include "kernels/kernels.h"

/* Rows are narrower than a block of add_2d. */
static bool few_columns(dm_view z) {
  return z.cols * dm_dtype_size(z.dtype) < 512;
}

dm_status dm_cuda_add(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha,
                      double beta) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (z.space == DM_HOST) return dm_host_add(backend, z, x, y, alpha, beta);
  DM_TRY(dm_cuda_enter(gpu));
  const dm_addition addition = {.z = dm_view_parts(z),
                                .x = dm_view_parts(x),
                                .y = dm_view_parts(y),
                                .alpha = alpha,
                                .beta = beta,
                                .stream = gpu->side};
  DM_CUDA(gpu, few_columns(addition.z) ? dm_kernels_add_grid_stride(&addition)
                                       : dm_kernels_add_2d(&addition));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

dm_status dm_cuda_dot(dm_backend *backend, dm_view x, dm_view y, double *sum) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (x.space == DM_HOST) return dm_host_dot(backend, x, y, sum);
  DM_TRY(dm_cuda_enter(gpu));
  dm_dot_product product = {.x = dm_view_parts(x),
                            .y = dm_view_parts(y),
                            .processors = gpu->processors,
                            .stream = gpu->side};
  const int64_t room = dm_kernels_dot_scratch(&product);
  DM_TRY(dm_cuda_grow(gpu, &gpu->vectors, room + (int64_t)sizeof(double)));
  product.scratch = gpu->vectors.memory;
  product.result = (double *)(void *)((char *)gpu->vectors.memory + room);
  DM_CUDA(gpu, dm_kernels_dot_shuffle(&product));
  DM_CUDA(gpu,
          cudaMemcpyAsync(sum, product.result, sizeof *sum, cudaMemcpyDeviceToHost, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

#endif
