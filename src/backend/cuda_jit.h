/* cuda_jit: warp_tile, compiled by NVRTC for the tiling that is fastest here, loaded through the
 * driver and launched on the compute lane. Compiled kernels are kept until the backend is closed.
 */
#ifndef DM_BACKEND_CUDA_JIT_H
#define DM_BACKEND_CUDA_JIT_H

#include "backend/cuda_state.h"
#include "backend/kernel_list.h"

extern const dm_jit_ops dm_cuda_jit_ops;

/* Finds the compiler; later calls do nothing. */
dm_status dm_cuda_jit_open(dm_cuda *gpu);
void dm_cuda_jit_close(dm_cuda *gpu);

/* C (+)= A B; k >= 1. The first product of a type chooses the tiling, unless one is in use. */
dm_status dm_cuda_jit_multiply(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate);

#endif
