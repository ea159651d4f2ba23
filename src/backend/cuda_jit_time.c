/* The GPU's own time of products, for the choice of a tiling. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_gemm.h"
#include "backend/cuda_jit.h"

static dm_status multiply(dm_cuda *gpu, const dm_tiling *tiling, dm_view c, dm_view a, dm_view b,
                          bool accumulate) {
  return tiling ? dm_cuda_jit_multiply_by(gpu, tiling, c, a, b, accumulate)
                : dm_cuda_launch(gpu, DM_KERNEL_warp_tile, c, a, b, accumulate);
}

static dm_status time_between(dm_cuda *gpu, cudaEvent_t begin, cudaEvent_t end,
                              const dm_tiling *tiling, dm_view c, dm_view a, dm_view b,
                              bool accumulate, int repeats, double *seconds) {
  cudaStream_t stream = gpu->lanes[DM_COMPUTE].stream;
  DM_CUDA(gpu, cudaEventRecord(begin, stream));
  for (int i = 0; i < repeats; i++) DM_TRY(multiply(gpu, tiling, c, a, b, accumulate));
  DM_CUDA(gpu, cudaEventRecord(end, stream));
  DM_CUDA(gpu, cudaEventSynchronize(end));
  float milliseconds = 0.0f;
  DM_CUDA(gpu, cudaEventElapsedTime(&milliseconds, begin, end));
  *seconds = 1e-3 * (double)milliseconds / repeats;
  return DM_OK;
}

dm_status dm_cuda_jit_time(dm_backend *backend, const dm_tiling *tiling, dm_view c, dm_view a,
                           dm_view b, bool accumulate, int repeats, double *seconds) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  cudaEvent_t begin, end;
  DM_CUDA(gpu, cudaEventCreate(&begin));
  cudaError_t error = cudaEventCreate(&end);
  if (error != cudaSuccess) {
    (void)cudaEventDestroy(begin);
    return dm_cuda_error(gpu, error, "cudaEventCreate", __FILE__, __LINE__, __func__);
  }
  dm_status status = time_between(gpu, begin, end, tiling, c, a, b, accumulate, repeats, seconds);
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  return status;
}

#endif
