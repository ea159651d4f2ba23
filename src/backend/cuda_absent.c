/* What is left of the cuda backend in a program built without CUDA: its name, and the reason. */
#include "backend/cuda.h"

#ifndef DM_HAVE_CUDA

const dm_backend_ops dm_backend_cuda = {
    .name = "cuda",
    .about = "NVIDIA GPUs: cuBLAS and own kernels",
    .not_built = "this program was built without CUDA (configure with -DDAMIER_CUDA=ON)",
    .device_memory = true,
    .kernels = dm_cuda_kernels,
    .takes = dm_cuda_takes,
};

int dm_cuda_device_count(void) {
  return 0;
}

dm_status dm_cuda_time_direct(dm_backend *backend, dm_view c, dm_view a, dm_view b,
                              double *seconds) {
  (void)backend, (void)c, (void)a, (void)b, (void)seconds;
  return dm_fail(DM_E_DEVICE, "cuBLAS cannot be timed: %s", dm_backend_cuda.not_built);
}

#endif
