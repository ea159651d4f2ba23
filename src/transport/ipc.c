/* ipc: GPU memory inside a node. Every rank maps its peers' shares, through CUDA IPC or, in the
 * same process, directly, and pulls its pieces with the copy engines on its own streams:
 * multiprocessors remain free for products, and peers take no part.
 *
 * A pull only waits until the peer has filled its share: a counter in shared memory. Another
 * counter states what was read, so that a part of a share can be refilled. A slot belongs to the
 * puller, which posts a gather only after the product that read the slot has finished. So no rank
 * ever waits for an event of another process. */
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "transport/gpu_peers.h"
#include "transport/shared_memory.h"
#include "transport/transport_list.h"

enum {
  DM_IPC_STREAMS = 4, /* peers that one gather reads from at once */
  DM_IPC_PEERS = 64,  /* maximum ranks of a group; nodes have at most as many GPUs */
  /* Counters in a rank's line, at FILLED + s and DRAINED + s: how often it has filled its share s;
   * up to which filling it has read its peers' shares s. */
  DM_IPC_FILLED = 0,
  DM_IPC_DRAINED = DM_SHARES,
};

/* A peer's share as mapped in this process. */
typedef struct dm_ipc_peer {
  char *memory; /* NULL: not opened; for this rank its own share */
  int64_t bytes;
  int line; /* index in the page */
} dm_ipc_peer;

typedef struct dm_ipc_share {
  const dm_comm *group; /* NULL: not exposed */
  uint64_t latest;      /* latest filling of a posted gather */
  dm_ipc_peer peer[DM_IPC_PEERS];
} dm_ipc_share;

/* One piece of a gather. */
typedef struct dm_ipc_pull {
  const dm_ipc_peer *peer;
  int64_t source, bytes;
  char *to;
  int stream;
} dm_ipc_pull;

/* A gather under way: pulls [0, started) are enqueued; once all are, an event follows the last pull
 * of each stream. */
typedef struct dm_ipc_gather {
  uint64_t filling;
  int share, pulls, started;
  bool recorded, used[DM_IPC_STREAMS];
  cudaEvent_t done[DM_IPC_STREAMS];
  dm_ipc_pull pull[DM_IPC_PEERS];
} dm_ipc_gather;

typedef struct dm_ipc {
  dm_transport base;
  const dm_comm *group;
  int device;
  dm_shared_memory page; /* lines of counters */
  cudaStream_t streams[DM_IPC_STREAMS];
  dm_ipc_share shares[DM_SHARES];
  dm_ipc_gather gathers[DM_GATHERS];
} dm_ipc;

/* ---- shares: ranks exchange handles once and map every peer's share, or, if they are threads of
 * one process, exchange addresses ---- */

/* Sent by each rank about its share. */
typedef struct ipc_offer {
  cudaIpcMemHandle_t handle;
  void *memory; /* for ranks of the same process */
  int64_t bytes;
  int line, device;
  bool failed;
} ipc_offer;

static dm_status make_offer(const dm_ipc *ipc, void *memory, int64_t bytes, ipc_offer *own) {
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
static dm_status map_share(const dm_ipc *ipc, const ipc_offer *theirs, void **memory) {
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

static dm_status ipc_accept(dm_ipc *ipc, dm_ipc_share *share, const ipc_offer *all) {
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
static dm_status ipc_exchange(dm_ipc *ipc, dm_ipc_share *share, ipc_offer *own, dm_status made) {
  const int ranks = dm_comm_size(share->group);
  DM_FREED ipc_offer *all = NULL;
  own->failed = made != DM_OK;
  dm_status status = dm_buffer_table(ranks, &all);
  if (status) return dm_status_first(made, status); /* leaks a few KiB; the job ends here */
  status = dm_comm_allgather(share->group, own, sizeof *own, all);
  if (!made && !status) status = ipc_accept(ipc, share, all);
  return dm_status_first(made, status);
}

static dm_status ipc_expose(dm_transport *transport, int share, const dm_comm *group, void *memory,
                            int64_t bytes) {
  dm_ipc *ipc = (dm_ipc *)transport;
  if (dm_comm_size(group) > DM_IPC_PEERS)
    return dm_fail(DM_E_DEVICE, "transport ipc serves groups of at most %d ranks", DM_IPC_PEERS);
  dm_ipc_share *mine = &ipc->shares[share];
  mine->group = group;
  mine->peer[dm_comm_rank(group)].memory = memory;
  ipc_offer own;
  memset(&own, 0, sizeof own);
  return ipc_exchange(ipc, mine, &own, make_offer(ipc, memory, bytes, &own));
}

static void withdraw(dm_ipc *ipc) {
  const bool mapped = !dm_comm_is_one_process(ipc->group);
  for (int s = 0; s < DM_SHARES; s++) {
    dm_ipc_share *share = &ipc->shares[s];
    for (int r = 0; mapped && share->group && r < dm_comm_size(share->group); r++)
      if (r != dm_comm_rank(share->group) && share->peer[r].memory)
        (void)cudaIpcCloseMemHandle(share->peer[r].memory);
    share->group = NULL;
  }
}

/* ---- the transport ---- */

static dm_status open_streams(dm_ipc *ipc) {
  int least, greatest;
  DM_GPU_TRY(cudaSetDevice(ipc->device));
  DM_GPU_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (int i = 0; i < DM_IPC_STREAMS; i++)
    DM_GPU_TRY(cudaStreamCreateWithPriority(&ipc->streams[i], cudaStreamNonBlocking, greatest));
  for (int g = 0; g < DM_GATHERS; g++)
    for (int i = 0; i < DM_IPC_STREAMS; i++)
      DM_GPU_TRY(cudaEventCreateWithFlags(&ipc->gathers[g].done[i], cudaEventDisableTiming));
  return DM_OK;
}

/* Local; ignores failures. */
static void ipc_release(dm_ipc *ipc) {
  if (ipc->device >= 0) (void)cudaSetDevice(ipc->device);
  for (int g = 0; g < DM_GATHERS; g++)
    for (int i = 0; i < DM_IPC_STREAMS; i++)
      if (ipc->gathers[g].done[i]) (void)cudaEventDestroy(ipc->gathers[g].done[i]);
  for (int i = 0; i < DM_IPC_STREAMS; i++)
    if (ipc->streams[i]) (void)cudaStreamDestroy(ipc->streams[i]);
  (void)cudaGetLastError();
  dm_shared_memory_close(&ipc->page);
  free(ipc);
}

/* Same answer on all ranks, even with pretended nodes. */
static dm_status check_node(const dm_transport_config *config) {
  if (!config->node || dm_comm_size(config->node) == dm_comm_size(config->group)) return DM_OK;
  return dm_hint(dm_fail(DM_E_DEVICE, "these ranks are on several nodes"), "use ipc+nccl or host");
}

static dm_status ipc_open(const dm_transport_config *config, dm_transport **transport) {
  dm_ipc *ipc = NULL;
  dm_status status = dm_buffer_table(1, &ipc);
  DM_TRY(dm_comm_agree(config->group, status));
  ipc->base.ops = &dm_transport_ipc;
  ipc->group = config->group;
  ipc->device = config->device;
  status = check_node(config);
  if (!status) status = dm_gpu_check_peers(ipc->group, ipc->device, DM_GPUS_READ);
  if (!status)
    status = dm_shared_memory_open(ipc->group, dm_shared_lines_bytes(ipc->group), &ipc->page);
  if (!status) status = dm_comm_agree(ipc->group, open_streams(ipc));
  if (status)
    ipc_release(ipc);
  else
    *transport = &ipc->base;
  return status;
}

/* Peers may still be reading this rank's shares when it has all its own pieces. */
static void ipc_close(dm_transport *transport) {
  dm_ipc *ipc = (dm_ipc *)transport;
  (void)cudaSetDevice(ipc->device);
  for (int i = 0; i < DM_IPC_STREAMS; i++) (void)cudaStreamSynchronize(ipc->streams[i]);
  withdraw(ipc);
  dm_status_free(dm_comm_barrier(ipc->group));
  ipc_release(ipc);
}

/* Only this rank writes these counters. */
static void ipc_advance(dm_ipc *ipc, int counter, uint64_t times) {
  _Atomic uint64_t *mine = &dm_shared_lines(&ipc->page)[dm_comm_rank(ipc->group)].counter[counter];
  if (atomic_load_explicit(mine, memory_order_relaxed) < times)
    atomic_store_explicit(mine, times, memory_order_release);
}

static bool has_reached(const dm_ipc *ipc, int line, int counter, uint64_t times) {
  const dm_shared_line *theirs = &dm_shared_lines(&ipc->page)[line];
  return atomic_load_explicit(&theirs->counter[counter], memory_order_acquire) >= times;
}

static void ipc_refilled(dm_transport *transport, int share, uint64_t times) {
  ipc_advance((dm_ipc *)transport, DM_IPC_FILLED + share, times);
}

static bool ipc_drained(const dm_transport *transport, int s, uint64_t times) {
  const dm_ipc *ipc = (const dm_ipc *)transport;
  const dm_ipc_share *share = &ipc->shares[s];
  for (int r = 0; share->group && r < dm_comm_size(share->group); r++)
    if (!has_reached(ipc, share->peer[r].line, DM_IPC_DRAINED + s, times)) return false;
  return true;
}

/* Publishes what this rank has read: all fillings before those still being read. */
static void signal_drained(dm_ipc *ipc, int s) {
  uint64_t times = ipc->shares[s].latest;
  for (int g = 0; g < DM_GATHERS; g++) {
    const dm_ipc_gather *gather = &ipc->gathers[g];
    if (ipc->base.busy[g] && gather->share == s && gather->filling <= times)
      times = gather->filling - 1;
  }
  ipc_advance(ipc, DM_IPC_DRAINED + s, times);
}

/* Peers get what this rank's memory holds, and wait for it no more. */
static void ipc_abandon(dm_transport *transport) {
  for (int s = 0; s < DM_SHARES; s++) {
    ipc_advance((dm_ipc *)transport, DM_IPC_FILLED + s, UINT64_MAX);
    ipc_advance((dm_ipc *)transport, DM_IPC_DRAINED + s, UINT64_MAX);
  }
}

/* Enqueues in order the pulls that may start. The first that may not start delays those after it,
 * but only briefly, as all shares are filled at about the same time. */
static dm_status ipc_start(dm_ipc *ipc, dm_ipc_gather *gather) {
  for (; gather->started < gather->pulls; gather->started++) {
    const dm_ipc_pull *pull = &gather->pull[gather->started];
    if (!has_reached(ipc, pull->peer->line, DM_IPC_FILLED + gather->share, gather->filling))
      return DM_OK;
    DM_GPU_TRY(cudaMemcpyAsync(pull->to, pull->peer->memory + pull->source, (size_t)pull->bytes,
                               cudaMemcpyDeviceToDevice, ipc->streams[pull->stream]));
    gather->used[pull->stream] = true;
  }
  if (gather->recorded) return DM_OK;
  for (int i = 0; i < DM_IPC_STREAMS; i++)
    if (gather->used[i]) DM_GPU_TRY(cudaEventRecord(gather->done[i], ipc->streams[i]));
  gather->recorded = true;
  return DM_OK;
}

/* Every rank starts with its right neighbour, so that not all read the same share at once; its own
 * piece comes last. */
static dm_status list_pulls(dm_ipc *ipc, const dm_gather *wanted, dm_ipc_gather *gather) {
  const dm_ipc_share *share = &ipc->shares[wanted->share];
  const int ranks = dm_comm_size(wanted->group), me = dm_comm_rank(wanted->group);
  for (int i = 1; i <= ranks; i++) {
    const int r = (me + i) % ranks;
    const dm_ipc_peer *peer = &share->peer[r];
    dm_ipc_pull pull = {.peer = peer,
                        .source = wanted->source[r],
                        .bytes = wanted->bytes[r],
                        .to = (char *)wanted->slot + wanted->offset[r],
                        .stream = i % DM_IPC_STREAMS};
    if (pull.bytes == 0 || pull.to == peer->memory + pull.source) continue;
    if (pull.source < 0 || pull.bytes < 0 || pull.source > peer->bytes - pull.bytes)
      return dm_fail(DM_E_BUG, "a piece beyond the share of rank %d", peer->line);
    gather->pull[gather->pulls++] = pull;
    if (r != me) ipc->base.received += pull.bytes;
  }
  return DM_OK;
}

static dm_status ipc_post(dm_transport *transport, const dm_gather *wanted, int *ticket) {
  dm_ipc *ipc = (dm_ipc *)transport;
  DM_TRY(dm_transport_ticket(transport, ticket));
  dm_ipc_gather *gather = &ipc->gathers[*ticket];
  gather->share = wanted->share;
  gather->filling = wanted->filling > 0 ? wanted->filling : 1;
  ipc->shares[wanted->share].latest = gather->filling;
  gather->pulls = gather->started = 0;
  gather->recorded = false;
  memset(gather->used, 0, sizeof gather->used);
  DM_TRY(list_pulls(ipc, wanted, gather));
  DM_GPU_TRY(cudaSetDevice(ipc->device));
  return ipc_start(ipc, gather);
}

static dm_status ipc_test(dm_transport *transport, int ticket, bool *done) {
  dm_ipc *ipc = (dm_ipc *)transport;
  dm_ipc_gather *gather = &ipc->gathers[ticket];
  *done = false;
  DM_TRY(ipc_start(ipc, gather));
  if (!gather->recorded) return DM_OK;
  for (int i = 0; i < DM_IPC_STREAMS; i++) {
    if (!gather->used[i]) continue;
    cudaError_t answer = cudaEventQuery(gather->done[i]);
    if (answer == cudaErrorNotReady) {
      (void)cudaGetLastError(); /* else the next launch reports it */
      return DM_OK;
    }
    DM_GPU_TRY(answer);
    gather->used[i] = false;
  }
  transport->busy[ticket] = false;
  signal_drained(ipc, gather->share);
  *done = true;
  return DM_OK;
}

const dm_transport_ops dm_transport_ipc = {
    .name = "ipc",
    .about = "GPU to GPU inside a node: pulls through CUDA IPC",
    .device_memory = true,
    .one_node = true,
    .open = ipc_open,
    .close = ipc_close,
    .abandon = ipc_abandon,
    .expose = ipc_expose,
    .refilled = ipc_refilled,
    .drained = ipc_drained,
    .post = ipc_post,
    .test = ipc_test,
};
