/* Sums of blocks, on the lane of the products. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_internal.h"
#include "kernels/kernels.h"

/* Complex numbers are added part by part. */
static dm_view real_view(dm_view view) {
  if (!dm_dtype_is_complex(view.dtype)) return view;
  return dm_view_strided(view.base, dm_dtype_real(view.dtype), view.space, view.rows, 2 * view.cols,
                         2 * view.row_stride);
}

dm_status dm_cuda_add(dm_backend *backend, dm_view sum, dm_view other, dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  const dm_view z = real_view(sum);
  const dm_addition addition = {.z = z,
                                .x = z,
                                .y = real_view(other),
                                .alpha = 1.0,
                                .beta = 1.0,
                                .stream = gpu->lanes[DM_COMPUTE].stream};
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, dm_kernels_add_2d(&addition));
  return dm_cuda_post(gpu, DM_COMPUTE, done);
}

#endif
