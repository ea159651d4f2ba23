/* Whether ranks see each other's GPUs.  CUDA IPC opens the memory of a GPU that the opening process
 * sees itself; a launcher that shows each process one GPU only, to keep them apart, hides the rest.
 */
#ifdef DM_HAVE_CUDA

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "transport/ipc_internal.h"

/* What a rank tells the others of its GPU. */
typedef struct card {
  char host[64], uuid[16];
  int visible; /* GPUs that its process sees; 0: it has none */
  int rank;
} card;

static dm_status own_card(const dm_comm *group, int device, card *own) {
  struct cudaDeviceProp properties;
  own->rank = dm_comm_rank(group);
  snprintf(own->host, sizeof own->host, "%.63s", dm_comm_host(group));
  if (device < 0) return DM_OK;
  DM_IPC_TRY(cudaGetDeviceProperties(&properties, device));
  DM_IPC_TRY(cudaGetDeviceCount(&own->visible));
  memcpy(own->uuid, properties.uuid.bytes, sizeof own->uuid);
  return DM_OK;
}

/* The index under which this process sees the GPU of CARD; -1: it does not. */
static dm_status find(const card *wanted, int visible, int *device) {
  for (*device = 0; *device < visible; ++*device) {
    struct cudaDeviceProp properties;
    DM_IPC_TRY(cudaGetDeviceProperties(&properties, *device));
    if (memcmp(properties.uuid.bytes, wanted->uuid, sizeof wanted->uuid) == 0) return DM_OK;
  }
  *device = -1;
  return DM_OK;
}

static dm_status hidden(const card *own, const card *other) {
  const char *listed = getenv("CUDA_VISIBLE_DEVICES");
  char variable[120] = "";
  if (listed) snprintf(variable, sizeof variable, " (CUDA_VISIBLE_DEVICES is '%.60s')", listed);
  dm_status status = own->visible == 1
                         ? dm_fail(DM_E_DEVICE,
                                   "one GPU is visible per process: rank %d does not see that of "
                                   "rank %d%s",
                                   own->rank, other->rank, variable)
                         : dm_fail(DM_E_DEVICE, "rank %d sees %d GPUs, but not that of rank %d%s",
                                   own->rank, own->visible, other->rank, variable);
  return dm_hint(status, "show every process all GPUs of its node: with Slurm --gpus-per-node=N in "
                         "place of --gpus-per-task=1 (or beside it --gpu-bind=none); elsewhere "
                         "leave CUDA_VISIBLE_DEVICES unset");
}

static dm_status reach(const card *own, int device, const card *other) {
  int there, allowed = 1;
  if (strcmp(own->host, other->host) != 0)
    return dm_fail(DM_E_DEVICE, "ranks %d and %d are on different nodes, %s and %s", own->rank,
                   other->rank, own->host, other->host);
  DM_TRY(find(other, own->visible, &there));
  if (there < 0) return hidden(own, other);
  if (there != device) DM_IPC_TRY(cudaDeviceCanAccessPeer(&allowed, device, there));
  if (allowed) return DM_OK;
  return dm_hint(dm_fail(DM_E_DEVICE, "GPU %d of rank %d cannot read the memory of GPU %d", device,
                         own->rank, there),
                 "nvidia-smi topo -p2p r tells which GPUs are linked");
}

static dm_status reach_all(const card *own, int device, const card *all, int ranks) {
  for (int i = 0; i < ranks; i++)
    if (i != own->rank) DM_TRY(reach(own, device, &all[i]));
  return DM_OK;
}

dm_status dm_ipc_check_peers(const dm_comm *group, int device) {
  const int ranks = dm_comm_size(group);
  card own = {.visible = 0}, *all = NULL;
  dm_status status = own_card(group, device, &own);
  if (!status && device < 0)
    status = dm_fail(DM_E_DEVICE, "rank %d multiplies without a GPU", own.rank);
  if (!status) status = dm_buffer_zeroed(ranks, sizeof *all, (void **)&all);
  status = dm_comm_agree(group, status);
  if (!status) status = dm_comm_gather(group, &own, sizeof own, all, 0);
  if (!status) status = dm_comm_broadcast(group, all, ranks * (int64_t)sizeof *all, 0);
  if (!status) status = dm_comm_agree(group, reach_all(&own, device, all, ranks));
  free(all);
  return status;
}

#endif
