/* cuda_error: converts CUDA and cuBLAS return codes to statuses. */
#ifndef DM_BACKEND_CUDA_ERROR_H
#define DM_BACKEND_CUDA_ERROR_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "core/status.h"

typedef struct dm_cuda dm_cuda;

/* Returns an error from the calling function if CALL, of the CUDA runtime, fails. */
#define DM_CUDA(gpu, call)                                                                         \
  do {                                                                                             \
    cudaError_t dm_cuda_result_ = (call);                                                          \
    if (dm_cuda_result_ != cudaSuccess)                                                            \
      return dm_cuda_error(gpu, dm_cuda_result_, #call, __FILE__, __LINE__, __func__);             \
  } while (0)

/* The same for cuBLAS. */
#define DM_CUBLAS(gpu, call)                                                                       \
  do {                                                                                             \
    cublasStatus_t dm_cublas_result_ = (call);                                                     \
    if (dm_cublas_result_ != CUBLAS_STATUS_SUCCESS)                                                \
      return dm_cublas_error(gpu, dm_cublas_result_, #call, __FILE__, __LINE__, __func__);         \
  } while (0)

dm_status dm_cuda_error(const dm_cuda *gpu, cudaError_t error, const char *call, const char *file,
                        int line, const char *function);
dm_status dm_cublas_error(const dm_cuda *gpu, cublasStatus_t error, const char *call,
                          const char *file, int line, const char *function);

#endif
