/* The caller's memory and streams. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_foreign.h"

dm_status dm_cuda_kind(dm_backend *backend, const void *memory, dm_memory_kind *kind) {
  const dm_cuda *gpu = dm_cuda_of(backend);
  struct cudaPointerAttributes found;
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, cudaPointerGetAttributes(&found, memory));
  const bool managed = found.type == cudaMemoryTypeManaged;
  const bool device = found.type == cudaMemoryTypeDevice;
  *kind = (dm_memory_kind){.host = !device,
                           .gpu = device || managed,
                           .index = device ? found.device : -1,
                           .foreign = device && found.device != gpu->index};
  return DM_OK;
}

dm_status dm_cuda_await(dm_backend *backend, void *stream) {
  const dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, cudaStreamSynchronize(stream));
  return DM_OK;
}

#endif
