/* carrier: moves panels of GPU memory with the transport `host`, like an MPI library that supports
 * GPU memory; and counts the bytes received.
 *
 * Transfer times come either from SimGrid, for a platform whose links share their rate among all
 * messages in flight, or from ports (ports.h).  With ports, messages only show that both ends are
 * ready; ranks can also see that in memory, which simulates thousands of ranks in seconds. */
#ifndef SIMULATION_CARRIER_H
#define SIMULATION_CARRIER_H

#include "transport/transport.h"

extern const dm_transport_ops dm_transport_carrier;

/* Without messages: the next time at which a pending gather is known to progress; INFINITY: a peer
 * must act first, and then rings this rank's bell. */
double sim_carrier_next(const dm_transport *transport);

#endif
