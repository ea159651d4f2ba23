/* Dispatches products to cuBLAS and to our own kernels. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_gemm.h"
#include "backend/cuda_jit.h"
#include "backend/cuda_split.h"

static dm_status multiply_by(dm_cuda *gpu, dm_cuda_library *library, dm_view c, dm_view a,
                             dm_view b, bool accumulate) {
  if (gpu->tile > 0) return dm_cuda_multiply_pieces(gpu, library, c, a, b, accumulate);
  return library(gpu, c, a, b, accumulate);
}

dm_status dm_cuda_multiply(dm_cuda *gpu, const dm_kernel *kernel, dm_view c, dm_view a, dm_view b,
                           bool accumulate) {
  switch (kernel->maker) {
  case DM_BY_KERNEL: /* always reproducible: sums do not depend on how C is cut */
    return dm_cuda_launch(gpu, kernel->id, c, a, b, accumulate);
  case DM_BY_CUBLAS:
    if (a.dtype == DM_I8) return dm_cuda_multiply_i8(gpu, c, a, b, accumulate);
    return multiply_by(gpu, dm_cuda_product, c, a, b, accumulate);
  case DM_BY_CUBLASLT:
    return multiply_by(gpu, dm_cuda_product_lt, c, a, b, accumulate);
  case DM_BY_JIT: /* as reproducible as DM_BY_KERNEL */
    return dm_cuda_jit_multiply(gpu, c, a, b, accumulate);
  }
  return dm_fail(DM_E_BUG, "no launcher for kernel %s", kernel->name);
}

static dm_status multiply(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  if (a.cols == 0)
    return accumulate ? DM_OK : dm_cuda_zero_on(gpu, gpu->lanes[DM_COMPUTE].stream, c);
  if (gpu->splits && dm_dtype_real(a.dtype) == DM_F32)
    return dm_cuda_multiply_split(gpu, c, a, b, accumulate);
  const dm_kernel *kernel = gpu->kernel ? gpu->kernel : dm_cuda_fastest(gpu, c, a, b, accumulate);
  return dm_cuda_multiply(gpu, kernel, c, a, b, accumulate);
}

dm_status dm_cuda_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                       dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(dm_context(multiply(gpu, c, a, b, accumulate),
                    "%s product of %lld x %lld x %lld (m, n, k)", dm_dtype_name(a.dtype),
                    (long long)c.rows, (long long)c.cols, (long long)a.cols));
  return dm_cuda_post(gpu, DM_COMPUTE, done);
}

#endif
