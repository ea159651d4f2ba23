/* cuda_verify: sums for the verification, and generated matrices, on the GPU. */
#ifndef DM_BACKEND_CUDA_VERIFY_H
#define DM_BACKEND_CUDA_VERIFY_H

#include "backend/cuda_state.h"

enum { DM_CUDA_SUMS_LEAST = 4 << 20 }; /* smallest area in bytes: growing waits for the GPU */

dm_status dm_cuda_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                        double *squares);
dm_status dm_cuda_scan(dm_backend *backend, dm_view matrix, double *col_squares);
dm_status dm_cuda_checksum(dm_backend *backend, dm_view matrix, dm_place place, bool subtract,
                           uint64_t *sum);
dm_status dm_cuda_fill(dm_backend *backend, dm_view view, const dm_generator *generator,
                       int64_t row, int64_t col);

dm_status dm_cuda_expect_sums(dm_backend *backend, dm_dtype operands, dm_dtype c);
void dm_cuda_expect_end(dm_cuda *gpu); /* waits for it */

/* For 2 vectors TO[i] of COUNT[i] 8-byte numbers, *DEVICE[i] is the device memory whose sums
 * settling adds to TO[i]; NULL for NULL. IS_WHOLE: the first has integers. */
dm_status dm_cuda_pending_open(dm_cuda *gpu); /* allocates the usual size */
dm_status dm_cuda_pending_add(dm_cuda *gpu, void *const to[2], const int64_t count[2],
                              bool is_whole, void *device[2]);
dm_status dm_cuda_settle(dm_backend *backend);

#endif
