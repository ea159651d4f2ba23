/* carrier: panels of GPU memory carried by the transport `host`, as an MPI library does that takes
 * GPU memory; and who received how much from where.
 *
 * What the way takes is either SimGrid's answer, from a platform whose links share their rate among
 * all messages under way, or that of ports (ports.h).  Messages then only tell that both ends are
 * ready, which they can also see in memory: thousands of ranks then take seconds. */
#ifndef SIMULATION_CARRIER_H
#define SIMULATION_CARRIER_H

#include "transport/transport.h"

extern const dm_transport_ops dm_transport_carrier;

/* Without messages: the first moment after now at which a gather under way is known to get on;
 * INFINITY: when a peer does something, and then rings this rank's bell. */
double sim_carrier_next(const dm_transport *transport);

#endif
