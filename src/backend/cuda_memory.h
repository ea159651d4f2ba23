#ifndef DM_BACKEND_CUDA_MEMORY_H
#define DM_BACKEND_CUDA_MEMORY_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/cuda_state.h"

/* Large allocations of pinned host memory. In cudaHostAlloc a single thread touches
 * page after page, 2.5 GB/s on a machine with an H200; several threads that touch huge pages, which
 * the driver then registers, are four times as fast. */

/* Whether an allocation of BYTES is large enough. */
bool dm_cuda_pins_by_threads(size_t bytes);

/* Zeroed memory; cudaErrorMemoryAllocation: out of memory. */
cudaError_t dm_cuda_pin(size_t bytes, void **memory);
void dm_cuda_unpin(void *memory, size_t bytes);

/* Memory and streams of the caller; see backend.h. */

dm_status dm_cuda_kind(dm_backend *backend, const void *memory, dm_memory_kind *kind);
dm_status dm_cuda_await(dm_backend *backend, void *stream);

#endif
