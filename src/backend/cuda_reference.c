/* A plain library call, the baseline for products. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_gemm.h"

static dm_status time_between(dm_cuda *gpu, cudaEvent_t begin, cudaEvent_t end, dm_view c,
                              dm_view a, dm_view b, double *seconds) {
  cudaStream_t stream = gpu->lanes[DM_COMPUTE].stream;
  DM_CUDA(gpu, cudaEventRecord(begin, stream));
  if (a.dtype == DM_I8) /* includes the transposition that cuBLAS's fast kernels need */
    DM_TRY(dm_cuda_multiply_i8(gpu, c, a, b, false));
  else
    DM_TRY(dm_cuda_product(gpu, c, a, b, false));
  DM_CUDA(gpu, cudaEventRecord(end, stream));
  DM_CUDA(gpu, cudaEventSynchronize(end));
  float milliseconds = 0.0f;
  DM_CUDA(gpu, cudaEventElapsedTime(&milliseconds, begin, end));
  *seconds = 1e-3 * (double)milliseconds;
  return DM_OK;
}

dm_status dm_cuda_time_direct(dm_backend *backend, dm_view c, dm_view a, dm_view b,
                              double *seconds) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  cudaEvent_t begin, end;
  DM_CUDA(gpu, cudaEventCreate(&begin));
  cudaError_t error = cudaEventCreate(&end);
  if (error != cudaSuccess) {
    (void)cudaEventDestroy(begin);
    return dm_cuda_error(gpu, error, "cudaEventCreate", __FILE__, __LINE__, __func__);
  }
  dm_status status = time_between(gpu, begin, end, c, a, b, seconds);
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  return status;
}

#endif
