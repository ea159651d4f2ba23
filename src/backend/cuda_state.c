/* Return codes of CUDA and cuBLAS as statuses: the GPU, the call, the library's message. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_state.h"

#include <string.h>

/* The function's name in the text of a call. */
static int name_length(const char *call) {
  return (int)strcspn(call, "(");
}

dm_status dm_cuda_error(const dm_cuda *gpu, cudaError_t error, const char *call, const char *file,
                        int line, const char *function) {
  (void)cudaGetLastError(); /* report a recoverable error only once */
  dm_code code = error == cudaErrorMemoryAllocation ? DM_E_FIT : DM_E_DEVICE;
  dm_status status =
      gpu ? dm_status_new(code, file, line, function, "GPU %d (%s, %s): %.*s: %s (%s)", gpu->index,
                          gpu->name, gpu->id, name_length(call), call, cudaGetErrorString(error),
                          cudaGetErrorName(error))
          : dm_status_new(code, file, line, function, "%.*s: %s (%s)", name_length(call), call,
                          cudaGetErrorString(error), cudaGetErrorName(error));
  if (cudaPeekAtLastError() != cudaSuccess)
    dm_hint(status,
            "nothing more can run on this GPU in this process; the kernel's log may say why "
            "(dmesg, lines with Xid)");
  return status;
}

dm_status dm_cublas_error(const dm_cuda *gpu, cublasStatus_t error, const char *call,
                          const char *file, int line, const char *function) {
  cudaError_t cause = cudaGetLastError();
  dm_code code = error == CUBLAS_STATUS_ALLOC_FAILED ? DM_E_FIT : DM_E_DEVICE;
  dm_status status =
      dm_status_new(code, file, line, function, "GPU %d (%s, %s): %.*s: %s", gpu->index, gpu->name,
                    gpu->id, name_length(call), call, cublasGetStatusString(error));
  if (cause != cudaSuccess) dm_hint(status, "the GPU says: %s", cudaGetErrorString(cause));
  return status;
}

#endif
