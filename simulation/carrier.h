/* carrier: panels of GPU memory carried by the transport `host`, as an MPI library does that takes
 * GPU memory; and who received how much from where. */
#ifndef SIMULATION_CARRIER_H
#define SIMULATION_CARRIER_H

#include "transport/transport.h"

extern const dm_transport_ops dm_transport_carrier;

#endif
