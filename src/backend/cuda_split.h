/* cuda_split: products of f32 and c64 whose operands are sums of two f16 (core/split.h), on the
 * GPU. */
#ifndef DM_BACKEND_CUDA_SPLIT_H
#define DM_BACKEND_CUDA_SPLIT_H

#include "backend/cuda_state.h"

/* Prepares GPU for COMPUTE if that splits operands; NULL is allowed. The lanes must be open. */
dm_status dm_cuda_open_split(dm_cuda *gpu, const dm_compute *compute);

/* C (+)= A B of f32 or c64, k >= 1. */
dm_status dm_cuda_multiply_split(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate);

dm_status dm_cuda_natively(dm_backend *backend, int64_t *lines);

#endif
