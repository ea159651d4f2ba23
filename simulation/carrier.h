/* carrier: moves panels of GPU memory, and counts the bytes received.
 *
 * Either with the transport `host`, like an MPI library that supports GPU memory, for a platform of
 * SimGrid whose links share their rate among all messages in flight; or through ports (ports.h),
 * without messages, which simulates thousands of ranks in seconds. */
#ifndef SIMULATION_CARRIER_H
#define SIMULATION_CARRIER_H

#include "transport/transport.h"

extern const dm_transport_ops dm_transport_carrier;

/* Bytes from ranks of other nodes so far; TRANSPORT: one of dm_transport_carrier. */
int64_t sim_carrier_crossed(const dm_transport *transport);

/* With ports: the next time at which a pending gather is known to progress; INFINITY: a peer
 * must act first, and then rings this rank's bell. */
double sim_carrier_next(const dm_transport *transport);

#endif
