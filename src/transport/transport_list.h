/* transport_list: the transports that exist, one file each. */
#ifndef DM_TRANSPORT_TRANSPORT_LIST_H
#define DM_TRANSPORT_TRANSPORT_LIST_H

#include "transport/transport.h"

extern const dm_transport_ops dm_transport_self;     /* self.c */
extern const dm_transport_ops dm_transport_host;     /* host.c */
extern const dm_transport_ops dm_transport_shared;   /* shared_slots.c */
extern const dm_transport_ops dm_transport_ipc;      /* ipc.c, or absent.c */
extern const dm_transport_ops dm_transport_nccl;     /* nccl.c, or absent.c */
extern const dm_transport_ops dm_transport_ipc_nccl; /* two_level.c */
extern const dm_transport_ops dm_transport_ipc_host; /* two_level.c */
extern const dm_transport_ops dm_transport_cuda_mpi; /* absent.c */

/* A ticket for a gather, from 0 on: busy until the transport's test says that it is done.
 * (transport.c) */
dm_status dm_transport_ticket(dm_transport *transport, int *ticket);

/* Waits until the gather that HOST, a transport of dm_transport_host, was asked for first is done;
 * at once where none is under way.  For a program whose ranks need not be heard while they wait
 * (simulation/).  (host.c) */
dm_status dm_host_rest(dm_transport *host);

/* Not in the list of all: GPU memory through the host, between the nodes of ipc+host.  It needs
 * config.mover, and moves no piece of a rank to itself.  (staged.c) */
extern const dm_transport_ops dm_transport_staged;
enum { DM_STAGED_BYTES = 48 << 20 }; /* its staging */

#endif
