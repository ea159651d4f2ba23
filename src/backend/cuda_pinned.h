/* cuda_pinned: large pieces of pinned host memory.  cudaHostAlloc lets one thread take page after
 * page, 2.5 GB/s on a machine with an H200; several threads that take huge pages, which the driver
 * then registers, are four times as fast. */
#ifndef DM_BACKEND_CUDA_PINNED_H
#define DM_BACKEND_CUDA_PINNED_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether BYTES are worth it. */
bool dm_cuda_pins_by_threads(size_t bytes);

/* All 0; cudaErrorMemoryAllocation where there is not so much. */
cudaError_t dm_cuda_pin(size_t bytes, void **memory);
void dm_cuda_unpin(void *memory, size_t bytes);

#endif
