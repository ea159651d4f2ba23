/* transport_list: all transports, one file each. */
#ifndef DM_TRANSPORT_TRANSPORT_LIST_H
#define DM_TRANSPORT_TRANSPORT_LIST_H

#include "transport/transport_table.h"

/* NULL at the end. */
extern const dm_transport_ops *const dm_transport_list[];

extern const dm_transport_ops dm_transport_self;     /* transport.c */
extern const dm_transport_ops dm_transport_host;     /* host.c */
extern const dm_transport_ops dm_transport_shared;   /* shared_slots.c */
extern const dm_transport_ops dm_transport_ipc;      /* ipc.c, or absent.c */
extern const dm_transport_ops dm_transport_nccl;     /* nccl.c, or absent.c */
extern const dm_transport_ops dm_transport_ipc_nccl; /* two_level.c */

/* Waits until the oldest gather of HOST, a transport of dm_transport_host, is done; returns at once
 * if there is none. For programs whose waiting ranks need no heartbeat (simulation/). (host.c) */
dm_status dm_host_rest(dm_transport *host);

#endif
