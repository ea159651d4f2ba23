/* Exposes shares: ranks exchange handles once and map every peer's share. Ranks that are threads of
 * one process exchange addresses. */
#ifdef DM_HAVE_CUDA

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "transport/ipc_internal.h"

/* Sent by each rank about its share. */
typedef struct offer {
  cudaIpcMemHandle_t handle;
  void *memory; /* for ranks of the same process */
  int64_t bytes;
  int line, device;
  bool failed;
} offer;

static dm_status make_offer(const dm_ipc *ipc, void *memory, int64_t bytes, offer *own) {
  own->bytes = bytes;
  own->line = dm_comm_rank(ipc->group);
  own->memory = memory;
  own->device = ipc->device;
  if (bytes == 0 || dm_comm_is_one_process(ipc->group)) return DM_OK;
  DM_GPU_TRY(cudaSetDevice(ipc->device));
  DM_GPU_TRY(cudaIpcGetMemHandle(&own->handle, memory));
  return DM_OK;
}

/* With this rank's GPU current: maps THEIRS, of a peer. */
static dm_status map_share(const dm_ipc *ipc, const offer *theirs, void **memory) {
  *memory = NULL;
  if (theirs->bytes == 0) return DM_OK;
  if (!dm_comm_is_one_process(ipc->group)) {
    DM_GPU_TRY(cudaIpcOpenMemHandle(memory, theirs->handle, cudaIpcMemLazyEnablePeerAccess));
    return DM_OK;
  }
  *memory = theirs->memory;
  if (theirs->device == ipc->device) return DM_OK;
  const cudaError_t answer = cudaDeviceEnablePeerAccess(theirs->device, 0);
  if (answer != cudaErrorPeerAccessAlreadyEnabled) DM_GPU_TRY(answer);
  (void)cudaGetLastError();
  return DM_OK;
}

static dm_status accept(dm_ipc *ipc, dm_ipc_share *share, const offer *all) {
  const int ranks = dm_comm_size(share->group), me = dm_comm_rank(share->group);
  DM_GPU_TRY(cudaSetDevice(ipc->device));
  for (int r = 0; r < ranks; r++) {
    dm_ipc_peer *peer = &share->peer[r];
    peer->bytes = all[r].bytes;
    peer->line = all[r].line;
    if (all[r].failed)
      return dm_fail(DM_E_DEVICE, "rank %d could not expose its share", all[r].line);
    void *memory;
    if (r == me) continue;
    DM_TRY(map_share(ipc, &all[r], &memory));
    peer->memory = memory;
  }
  return DM_OK;
}

/* A rank that failed sends that instead of a handle: no rank waits for it. */
static dm_status exchange(dm_ipc *ipc, dm_ipc_share *share, offer *own, dm_status made) {
  const int ranks = dm_comm_size(share->group);
  offer *all = NULL;
  own->failed = made != DM_OK;
  dm_status status = dm_buffer_table(ranks, &all);
  if (status) return dm_status_first(made, status); /* leaks a few KiB; the job ends here */
  status = dm_comm_gather(share->group, own, sizeof *own, all, 0);
  if (!status) status = dm_comm_broadcast(share->group, all, ranks * (int64_t)sizeof *all, 0);
  if (!made && !status) status = accept(ipc, share, all);
  free(all);
  return dm_status_first(made, status);
}

dm_status dm_ipc_expose(dm_transport *transport, int share, const dm_comm *group, void *memory,
                        int64_t bytes) {
  dm_ipc *ipc = (dm_ipc *)transport;
  if (dm_comm_size(group) > DM_IPC_PEERS)
    return dm_fail(DM_E_DEVICE, "transport ipc serves groups of at most %d ranks", DM_IPC_PEERS);
  dm_ipc_share *mine = &ipc->shares[share];
  mine->group = group;
  mine->peer[dm_comm_rank(group)].memory = memory;
  offer own;
  memset(&own, 0, sizeof own);
  return exchange(ipc, mine, &own, make_offer(ipc, memory, bytes, &own));
}

void dm_ipc_withdraw(dm_ipc *ipc) {
  const bool mapped = !dm_comm_is_one_process(ipc->group);
  for (int s = 0; s < DM_SHARES; s++) {
    dm_ipc_share *share = &ipc->shares[s];
    for (int r = 0; mapped && share->group && r < dm_comm_size(share->group); r++)
      if (r != dm_comm_rank(share->group) && share->peer[r].memory)
        (void)cudaIpcCloseMemHandle(share->peer[r].memory);
    share->group = NULL;
  }
}

#endif
