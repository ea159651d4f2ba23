/* cuda_foreign: memory and streams of the caller; see backend.h. */
#ifndef DM_BACKEND_CUDA_FOREIGN_H
#define DM_BACKEND_CUDA_FOREIGN_H

#include "backend/cuda_internal.h"

dm_status dm_cuda_kind(dm_backend *backend, const void *memory, dm_memory_kind *kind);
dm_status dm_cuda_await(dm_backend *backend, void *stream);

#endif
