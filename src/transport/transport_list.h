/* transport_list: all transports, one file each. */
#ifndef DM_TRANSPORT_TRANSPORT_LIST_H
#define DM_TRANSPORT_TRANSPORT_LIST_H

#include "transport/transport_table.h"

/* In transport.c, host.c, shared_slots.c, ipc.c, nccl.c (or absent.c) and two_level.c. */
#define DM_TRANSPORT_LIST(X) X(self) X(host) X(shared) X(ipc) X(nccl) X(ipc_nccl)

#define DM_TRANSPORT_DECLARED(name) extern const dm_transport_ops dm_transport_##name;
DM_TRANSPORT_LIST(DM_TRANSPORT_DECLARED)

/* Waits until the oldest gather of HOST, a transport of dm_transport_host, is done; returns at once
 * if there is none. For programs whose waiting ranks need no heartbeat (simulation/). (host.c) */
dm_status dm_host_rest(dm_transport *host);

#endif
