/* gpu_peers: checks of the GPUs of all ranks that open a transport together. */
#ifndef DM_TRANSPORT_GPU_PEERS_H
#define DM_TRANSPORT_GPU_PEERS_H

#include <cuda_runtime_api.h>

#include "comm/comm.h"
#include "core/status.h"

/* Returns from the calling function with an error if CALL, of the CUDA runtime, fails. */
#define DM_GPU_TRY(call)                                                                           \
  do {                                                                                             \
    cudaError_t dm_gpu_result_ = (call);                                                           \
    if (dm_gpu_result_ != cudaSuccess)                                                             \
      return dm_gpu_error(dm_gpu_result_, #call, __FILE__, __LINE__, __func__);                    \
  } while (0)

dm_status dm_gpu_error(cudaError_t error, const char *call, const char *file, int line,
                       const char *function);

/* What a group of ranks requires of its GPUs. */
typedef enum dm_gpu_wish {
  DM_GPUS_READ,    /* on one node, each can read the memory of all others; may be shared */
  DM_GPUS_DISTINCT /* no two ranks use the same GPU */
} dm_gpu_wish;

/* Collective in GROUP; DEVICE is the index of this rank's GPU, or -1. Same result on all;
 * DM_E_DEVICE names the ranks that fail the requirement. */
dm_status dm_gpu_check_peers(const dm_comm *group, int device, dm_gpu_wish wish);

#endif
