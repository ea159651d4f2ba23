/* Launches the kernels of the registry. */

#include "backend/cuda_gemm.h"
#include "backend/kernel_list.h"
#include "kernels/kernels.h"

typedef struct launcher {
  cudaError_t (*launch)(const dm_gemm *product);
  int64_t (*scratch)(const dm_gemm *product);
} launcher;

#define LAUNCHER(name, types, first, last, sums, scratch, ...)                                     \
  [DM_KERNEL_##name] = {dm_kernels_##name, dm_kernels_##scratch},
static const launcher launchers[DM_KERNEL_COUNT] = {DM_KERNEL_LIST(LAUNCHER)};

dm_status dm_cuda_need_nvrtc(dm_cuda *gpu) {
  if (!gpu->nvrtc) gpu->nvrtc = dm_cuda_library_open("nvrtc", CUBLAS_VER_MAJOR);
  if (gpu->nvrtc) return DM_OK;
  return dm_hint(
      dm_fail(DM_E_USAGE, "it needs NVRTC, and libnvrtc.so.%d was not found", CUBLAS_VER_MAJOR),
      "install it (it is a part of the CUDA Toolkit), or choose tiled_32, the same kernel");
}

dm_status dm_cuda_launch(dm_cuda *gpu, dm_kernel_id kernel, dm_view c, dm_view a, dm_view b,
                         bool accumulate) {
  const launcher *l = &launchers[kernel];
  if (kernel == DM_KERNEL_jit) DM_TRY(dm_cuda_need_nvrtc(gpu));
  dm_gemm product = {.c = dm_gemm_matrix_of(c),
                     .a = dm_gemm_matrix_of(a),
                     .b = dm_gemm_matrix_of(b),
                     .dtype = a.dtype,
                     .size = (int)dm_dtype_size(a.dtype),
                     .tf32 = gpu->operand == DM_TF32,
                     .accumulate = accumulate,
                     .processors = gpu->processors,
                     .nvrtc = gpu->nvrtc,
                     .compiled = &gpu->compiled,
                     .stream = gpu->lanes[DM_COMPUTE].stream};
  DM_TRY(dm_cuda_grow(gpu, &gpu->scratch, l->scratch(&product)));
  product.scratch = gpu->scratch.memory;
  cudaError_t answer = l->launch(&product);
  if (answer == cudaSuccess) return DM_OK;
  return dm_cuda_error(gpu, answer, dm_cuda_registry()[kernel].name, __FILE__, __LINE__, __func__);
}
