/* carrier: panels of GPU memory carried by the transport `host`, as an MPI library does that takes
 * GPU memory; and who received how much from where.
 *
 * What the way takes is either SimGrid's answer, from a platform whose links share their rate among
 * all messages under way, or that of ports: every rank sends one piece at a time, and receives one
 * at a time, inside its node and, at the same time, between nodes; pieces queue up in the order in
 * which the transport posts them.  Messages then only tell that both ends are ready.  Ports cost
 * the simulation a moment a message, however many are under way. */
#ifndef SIMULATION_CARRIER_H
#define SIMULATION_CARRIER_H

#include "transport/transport.h"

extern const dm_transport_ops dm_transport_carrier;

/* Bytes per second of a rank's ports, each way; 0: what SimGrid says counts. */
typedef struct sim_ports {
  double inside, between;
} sim_ports;

/* Of the calling rank, before it opens a carrier; all ranks call it. */
dm_status sim_ports_set(int rank, int ranks, sim_ports ports);

#endif
