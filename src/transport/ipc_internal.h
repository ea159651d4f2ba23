/* ipc_internal: what the files of the ipc transport share. */
#ifndef DM_TRANSPORT_IPC_INTERNAL_H
#define DM_TRANSPORT_IPC_INTERNAL_H

#include "transport/gpu_peers.h"
#include "transport/shared_page.h"
#include "transport/transport_list.h"

enum {
  DM_IPC_STREAMS = 4, /* peers that one gather reads from at the same time */
  DM_IPC_PEERS = 64,  /* ranks of a group at most: no node holds more GPUs */
  /* Counters in a rank's line, at FILLED + s and DRAINED + s: how many times it has filled its
   * share s; up to which filling it has read its peers' shares s. */
  DM_IPC_FILLED = 0,
  DM_IPC_DRAINED = DM_SHARES,
};

/* A peer's share, as this process sees it. */
typedef struct dm_ipc_peer {
  char *memory; /* NULL: not opened; this rank's own share for itself */
  int64_t bytes;
  int line; /* of the page */
} dm_ipc_peer;

typedef struct dm_ipc_share {
  const dm_comm *group; /* NULL: not exposed */
  uint64_t latest;      /* filling that a gather was posted for */
  dm_ipc_peer peer[DM_IPC_PEERS];
} dm_ipc_share;

/* One piece of a gather. */
typedef struct dm_ipc_pull {
  const dm_ipc_peer *peer;
  int64_t source, bytes;
  char *to;
  int stream;
} dm_ipc_pull;

/* A gather under way: pulls [0, started) have been given to their streams, and once all are, an
 * event stands behind the last one of each stream. */
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

/* dm_transport_expose, and its opposite; (ipc_share.c). */
dm_status dm_ipc_expose(dm_transport *transport, int share, const dm_comm *group, void *memory,
                        int64_t bytes);
void dm_ipc_withdraw(dm_ipc *ipc);

#endif
