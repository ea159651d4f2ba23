/* ipc_internal: shared by the files of the ipc transport. */
#ifndef DM_TRANSPORT_IPC_INTERNAL_H
#define DM_TRANSPORT_IPC_INTERNAL_H

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

/* dm_transport_expose and its reverse (ipc_share.c). */
dm_status dm_ipc_expose(dm_transport *transport, int share, const dm_comm *group, void *memory,
                        int64_t bytes);
void dm_ipc_withdraw(dm_ipc *ipc);

#endif
