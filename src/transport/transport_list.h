/* transport_list: all transports, one file each. */
#ifndef DM_TRANSPORT_TRANSPORT_LIST_H
#define DM_TRANSPORT_TRANSPORT_LIST_H

#include "transport/transport_table.h"

/* NULL at the end. */
extern const dm_transport_ops *const dm_transport_list[];

extern const dm_transport_ops dm_transport_self;     /* self.c */
extern const dm_transport_ops dm_transport_host;     /* host.c */
extern const dm_transport_ops dm_transport_shared;   /* shared_memory.c */
extern const dm_transport_ops dm_transport_ipc;      /* ipc.c, or absent.c */
extern const dm_transport_ops dm_transport_nccl;     /* nccl.c, or absent.c */
extern const dm_transport_ops dm_transport_ipc_nccl; /* two_level.c */

/* Waits until the oldest gather of HOST, a transport of dm_transport_host, is done; returns at once
 * if there is none. For programs whose waiting ranks need no heartbeat (simulation/). (host.c) */
dm_status dm_host_wait_oldest(dm_transport *host);

/* ---- two transports as one, inside nodes and between them (two_level.c) ---- */

/* Implements dm_transport_ops.open for OPS, which has no other functions. Pieces of ranks on
 * config.node, including the rank's own, use INSIDE; all others use BETWEEN. Both borrow CONFIG's
 * communicators. */
dm_status dm_two_level_open(const dm_transport_ops *ops, const dm_transport_ops *inside,
                            const dm_transport_ops *between, const dm_transport_config *config,
                            dm_transport **transport);

#endif
