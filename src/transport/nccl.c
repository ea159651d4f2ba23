/* nccl: NCCL sends and receives GPU memory, inside a node and between nodes.
 *
 * Every share has a communicator of its group and a stream. All ranks of a group post its gathers
 * in the same order, as NCCL requires: ascending panels, A before B. NCCL's kernels occupy
 * multiprocessors, so it gets few channels; ipc occupies none, where peers' memory can be read.
 *
 * Communicators are non-blocking: a lost peer becomes an error after a while instead of a call that
 * never returns. Communicators are then aborted, or their kernels would spin on the GPU. */
#if defined(DM_HAVE_CUDA) && defined(DM_HAVE_NCCL)

#include <nccl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/clock.h"
#include "transport/gpu_peers.h"
#include "transport/transport_list.h"

enum { CHANNELS = 4 }; /* maximum thread blocks per communicator */

static const double patience = 60.0; /* seconds to wait for peers in collective calls */

typedef struct nccl_share {
  const dm_comm *group; /* NULL: not exposed */
  char *memory;
  ncclComm_t comm;
  cudaStream_t stream;
} nccl_share;

typedef struct nccl_gather {
  int share;
  cudaEvent_t done;
} nccl_gather;

typedef struct dm_nccl {
  dm_transport base;
  int device;
  nccl_share shares[DM_SHARES];
  nccl_gather gathers[DM_GATHERS];
} dm_nccl;

static dm_status nccl_error(ncclResult_t error, const char *call, const char *file, int line,
                            const char *function) {
  (void)cudaGetLastError();
  return dm_status_new(DM_E_DEVICE, file, line, function, "%.*s: %s: %s", (int)strcspn(call, "("),
                       call, ncclGetErrorString(error), ncclGetLastError(NULL));
}

/* An operation in progress is no failure. */
#define NCCL_TRY(call)                                                                             \
  do {                                                                                             \
    ncclResult_t nccl_result_ = (call);                                                            \
    if (nccl_result_ != ncclSuccess && nccl_result_ != ncclInProgress)                             \
      return nccl_error(nccl_result_, #call, __FILE__, __LINE__, __func__);                        \
  } while (0)

/* Waits until COMM has finished its last operation; no other may be started before. */
static dm_status settle(ncclComm_t comm, const char *what) {
  const double start = dm_now();
  for (ncclResult_t state = ncclInProgress;;) {
    NCCL_TRY(ncclCommGetAsyncError(comm, &state));
    if (state == ncclSuccess) return DM_OK;
    if (state != ncclInProgress) return nccl_error(state, what, __FILE__, __LINE__, __func__);
    if (dm_now() - start > patience)
      return dm_fail(DM_E_DEVICE, "%s: a peer was missing for %.0f s", what, patience);
    sched_yield();
  }
}

static void nccl_abandon(dm_transport *transport) {
  dm_nccl *nccl = (dm_nccl *)transport;
  for (int s = 0; s < DM_SHARES; s++) {
    if (nccl->shares[s].comm) (void)ncclCommAbort(nccl->shares[s].comm);
    nccl->shares[s].comm = NULL;
  }
}

/* Returns STATUS; if it is an error, aborts everything still running. */
static dm_status or_abandon(dm_nccl *nccl, dm_status status) {
  if (status) nccl_abandon(&nccl->base);
  return status;
}

static dm_status nccl_open_streams(dm_nccl *nccl) {
  int least, greatest;
  DM_GPU_TRY(cudaSetDevice(nccl->device));
  DM_GPU_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (int s = 0; s < DM_SHARES; s++)
    DM_GPU_TRY(
        cudaStreamCreateWithPriority(&nccl->shares[s].stream, cudaStreamNonBlocking, greatest));
  for (int g = 0; g < DM_GATHERS; g++)
    DM_GPU_TRY(cudaEventCreateWithFlags(&nccl->gathers[g].done, cudaEventDisableTiming));
  return DM_OK;
}

static void destroy(ncclComm_t comm) {
  const ncclResult_t answer = ncclCommFinalize(comm);
  dm_status status = answer == ncclSuccess || answer == ncclInProgress
                         ? settle(comm, "ncclCommFinalize")
                         : nccl_error(answer, "ncclCommFinalize", __FILE__, __LINE__, __func__);
  (void)(status ? ncclCommAbort(comm) : ncclCommDestroy(comm));
  dm_status_free(status);
}

/* Ignores failures. */
static void nccl_close(dm_transport *transport) {
  dm_nccl *nccl = (dm_nccl *)transport;
  if (nccl->device >= 0) (void)cudaSetDevice(nccl->device);
  for (int s = 0; s < DM_SHARES; s++) {
    nccl_share *share = &nccl->shares[s];
    if (share->stream) (void)cudaStreamSynchronize(share->stream);
    if (share->comm) destroy(share->comm);
    if (share->stream) (void)cudaStreamDestroy(share->stream);
  }
  for (int g = 0; g < DM_GATHERS; g++)
    if (nccl->gathers[g].done) (void)cudaEventDestroy(nccl->gathers[g].done);
  (void)cudaGetLastError();
  free(nccl);
}

static dm_status nccl_open(const dm_transport_config *config, dm_transport **transport) {
  dm_nccl *nccl = NULL;
  dm_status status = dm_buffer_table(1, &nccl);
  DM_TRY(dm_comm_agree(config->group, status));
  nccl->base.ops = &dm_transport_nccl;
  nccl->device = config->device;
  /* Multicast only helps reductions; it needs memory and fails on some virtual machines. */
  (void)setenv("NCCL_NVLS_ENABLE", "0", 0);
  status = dm_gpu_check_peers(config->group, config->device, DM_GPUS_DISTINCT);
  if (!status) status = dm_comm_agree(config->group, nccl_open_streams(nccl));
  if (status)
    nccl_close(&nccl->base);
  else
    *transport = &nccl->base;
  return status;
}

/* Clusters of one thread block: the default of four finds room beside a product later. */
static dm_status nccl_join(const dm_nccl *nccl, nccl_share *share, ncclUniqueId id) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.cgaClusterSize = 0;
  config.minCTAs = 1;
  config.maxCTAs = CHANNELS;
  DM_GPU_TRY(cudaSetDevice(nccl->device));
  NCCL_TRY(ncclCommInitRankConfig(&share->comm, dm_comm_size(share->group), id,
                                  dm_comm_rank(share->group), &config));
  return settle(share->comm, "ncclCommInitRankConfig");
}

static dm_status nccl_expose(dm_transport *transport, int s, const dm_comm *group, void *memory,
                             int64_t bytes) {
  (void)bytes;
  dm_nccl *nccl = (dm_nccl *)transport;
  nccl_share *share = &nccl->shares[s];
  share->group = group;
  share->memory = memory;
  if (dm_comm_size(group) == 1) return DM_OK;
  ncclUniqueId id;
  dm_status status = DM_OK;
  memset(&id, 0, sizeof id);
  if (dm_comm_rank(group) == 0) {
    ncclResult_t answer = ncclGetUniqueId(&id);
    if (answer != ncclSuccess)
      status = nccl_error(answer, "ncclGetUniqueId", __FILE__, __LINE__, __func__);
  }
  DM_TRY(dm_comm_agree(group, status));
  DM_TRY(dm_comm_broadcast(group, &id, sizeof id, 0));
  return or_abandon(nccl, nccl_join(nccl, share, id));
}

static dm_status exchange(dm_nccl *nccl, nccl_share *share, const dm_gather *g) {
  const int ranks = dm_comm_size(g->group), me = dm_comm_rank(g->group);
  for (int i = 1; i < ranks; i++) {
    const int to = (me + i) % ranks, from = (me - i + ranks) % ranks;
    const char *piece = g->sent ? share->memory + g->sent[to] : g->own;
    const int64_t bytes = g->sent ? g->sent_bytes[to] : g->bytes[me];
    if (bytes > 0)
      NCCL_TRY(ncclSend(piece, (size_t)bytes, ncclInt8, to, share->comm, share->stream));
    if (g->bytes[from] == 0) continue;
    NCCL_TRY(ncclRecv((char *)g->slot + g->offset[from], (size_t)g->bytes[from], ncclInt8, from,
                      share->comm, share->stream));
    nccl->base.received += g->bytes[from];
  }
  return DM_OK;
}

/* Sends and receives, and copies this rank's own piece if it is not in its place. */
static dm_status nccl_start(dm_nccl *nccl, nccl_share *share, const dm_gather *wanted,
                            cudaEvent_t done) {
  const int me = dm_comm_rank(wanted->group);
  DM_GPU_TRY(cudaSetDevice(nccl->device));
  if (share->comm) {
    NCCL_TRY(ncclGroupStart());
    dm_status status = exchange(nccl, share, wanted);
    const ncclResult_t ended = ncclGroupEnd();
    if (status) return status;
    NCCL_TRY(ended);
    DM_TRY(settle(share->comm, "ncclGroupEnd"));
  }
  char *place = (char *)wanted->slot + wanted->offset[me];
  if (place != wanted->own && wanted->bytes[me] > 0)
    DM_GPU_TRY(cudaMemcpyAsync(place, wanted->own, (size_t)wanted->bytes[me],
                               cudaMemcpyDeviceToDevice, share->stream));
  DM_GPU_TRY(cudaEventRecord(done, share->stream));
  return DM_OK;
}

static dm_status nccl_post(dm_transport *transport, const dm_gather *wanted, int *ticket) {
  dm_nccl *nccl = (dm_nccl *)transport;
  DM_TRY(dm_transport_ticket(transport, ticket));
  nccl_gather *gather = &nccl->gathers[*ticket];
  gather->share = wanted->share;
  return or_abandon(nccl, nccl_start(nccl, &nccl->shares[wanted->share], wanted, gather->done));
}

static dm_status nccl_ask(const nccl_share *share, cudaEvent_t event, bool *done) {
  const cudaError_t answer = cudaEventQuery(event);
  *done = answer == cudaSuccess;
  if (*done) return DM_OK;
  if (answer != cudaErrorNotReady) DM_GPU_TRY(answer);
  (void)cudaGetLastError();
  if (!share->comm) return DM_OK;
  ncclResult_t trouble;
  NCCL_TRY(ncclCommGetAsyncError(share->comm, &trouble));
  NCCL_TRY(trouble);
  return DM_OK;
}

/* Also detects a lost peer. */
static dm_status nccl_test(dm_transport *transport, int ticket, bool *done) {
  dm_nccl *nccl = (dm_nccl *)transport;
  nccl_gather *gather = &nccl->gathers[ticket];
  DM_TRY(or_abandon(nccl, nccl_ask(&nccl->shares[gather->share], gather->done, done)));
  if (*done) transport->busy[ticket] = false;
  return DM_OK;
}

const dm_transport_ops dm_transport_nccl = {
    .name = "nccl",
    .about = "GPU to GPU, also between nodes: sent by NCCL",
    .device_memory = true,
    .open = nccl_open,
    .close = nccl_close,
    .abandon = nccl_abandon,
    .expose = nccl_expose,
    .post = nccl_post,
    .test = nccl_test,
};

#endif
