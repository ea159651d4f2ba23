/* Whether ranks can access each other's GPUs. CUDA IPC needs the peer's GPU to be visible to the
 * opening process; launchers that show each process only its own GPU prevent that. */
#ifdef DM_HAVE_CUDA

#include "transport/gpu_peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"

/* Sent by each rank about its GPU. */
typedef struct card {
  char host[64], bus[16]; /* its node and slot */
  char uuid[16];          /* only asked for if it matters, which takes milliseconds */
  int visible;            /* GPUs visible to its process; 0: it uses none */
  int rank;
} card;

dm_status dm_gpu_error(cudaError_t error, const char *call, const char *file, int line,
                       const char *function) {
  (void)cudaGetLastError(); /* clears the error, or a later call reports it again */
  return dm_status_new(error == cudaErrorMemoryAllocation ? DM_E_FIT : DM_E_DEVICE, file, line,
                       function, "%.*s: %s (%s)", (int)strcspn(call, "("), call,
                       cudaGetErrorString(error), cudaGetErrorName(error));
}

static dm_status own_card(const dm_comm *group, int device, dm_gpu_wish wish, card *own) {
  struct cudaDeviceProp properties;
  own->rank = dm_comm_rank(group);
  snprintf(own->host, sizeof own->host, "%.63s", dm_comm_host(group));
  if (device < 0) return DM_OK;
  DM_GPU_TRY(cudaDeviceGetPCIBusId(own->bus, sizeof own->bus, device));
  DM_GPU_TRY(cudaGetDeviceCount(&own->visible));
  if (wish == DM_GPUS_READ) return DM_OK;
  DM_GPU_TRY(cudaGetDeviceProperties(&properties, device));
  memcpy(own->uuid, properties.uuid.bytes, sizeof own->uuid);
  return DM_OK;
}

/* This process's index of the GPU of CARD; -1: not visible. */
static dm_status gpu_peers_find(const card *wanted, int visible, int *device) {
  for (*device = 0; *device < visible; ++*device) {
    char bus[sizeof wanted->bus];
    DM_GPU_TRY(cudaDeviceGetPCIBusId(bus, sizeof bus, *device));
    if (strcmp(bus, wanted->bus) == 0) return DM_OK;
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
  return dm_hint(
      status, "make all GPUs of the node visible to every process: with Slurm --gpus-per-node=N in "
              "place of --gpus-per-task=1 (or beside it --gpu-bind=none); elsewhere "
              "leave CUDA_VISIBLE_DEVICES unset");
}

static dm_status reach(const card *own, int device, const card *other) {
  int there, allowed = 1;
  if (strcmp(own->host, other->host) != 0)
    return dm_fail(DM_E_DEVICE, "ranks %d and %d are on different nodes, %s and %s", own->rank,
                   other->rank, own->host, other->host);
  DM_TRY(gpu_peers_find(other, own->visible, &there));
  if (there < 0) return hidden(own, other);
  if (there != device) DM_GPU_TRY(cudaDeviceCanAccessPeer(&allowed, device, there));
  if (allowed) return DM_OK;
  return dm_hint(dm_fail(DM_E_DEVICE, "GPU %d of rank %d cannot read the memory of GPU %d", device,
                         own->rank, there),
                 "nvidia-smi topo -p2p r shows which GPUs are linked");
}

static dm_status gpu_peers_differ(const card *own, const card *other) {
  if (strcmp(own->host, other->host) != 0) return DM_OK;
  if (memcmp(own->uuid, other->uuid, sizeof own->uuid) != 0) return DM_OK;
  return dm_fail(DM_E_DEVICE, "ranks %d and %d share a GPU", own->rank, other->rank);
}

static dm_status check(const card *own, int device, const card *all, int ranks, dm_gpu_wish wish) {
  for (int i = 0; i < ranks; i++) {
    if (i == own->rank) continue;
    DM_TRY(wish == DM_GPUS_READ ? reach(own, device, &all[i]) : gpu_peers_differ(own, &all[i]));
  }
  return DM_OK;
}

dm_status dm_gpu_check_peers(const dm_comm *group, int device, dm_gpu_wish wish) {
  const int ranks = dm_comm_size(group);
  card own;
  DM_FREED card *all = NULL;
  memset(&own, 0, sizeof own);
  dm_status status = own_card(group, device, wish, &own);
  if (!status && device < 0)
    status = dm_fail(DM_E_DEVICE, "rank %d multiplies without a GPU", own.rank);
  if (!status) status = dm_buffer_table(ranks, &all);
  DM_TRY(dm_comm_agree(group, status));
  DM_TRY(dm_comm_allgather(group, &own, sizeof own, all));
  return dm_comm_agree(group, check(&own, device, all, ranks, wish));
}

#endif
