/* ports: transfer times between GPUs without SimGrid's network model.  Every rank sends one piece
 * at once and receives one at once within its node and, concurrently, between nodes; pieces queue
 * in the order in which the transport posts them.
 *
 * All ranks are threads of one process, one running at a time: they share this state.  Times are
 * simulated seconds. */
#ifndef SIMULATION_PORTS_H
#define SIMULATION_PORTS_H

#include "transport/transport.h"

/* Bytes per second of a rank's ports in each direction; 0: no ports, messages in SimGrid's times.
 */
typedef struct sim_ports {
  double inside, between;
  double notice; /* seconds after which a rank sees in memory that its last peer is ready */
} sim_ports;

/* Sets the ports of RANK, which may be a file server; ALL: number of ranks and file servers. */
dm_status sim_ports_set(int rank, int all, sim_ports ports);
sim_ports sim_ports_of(int rank);

/* Sleeps until TIME (INFINITY: for ever), or until another rank rings the bell. */
void sim_bell_wait(int rank, double time);
void sim_bell_ring(int rank);

/* The gathers of one share in a group: how many members have posted, and the last time. */
typedef struct sim_meeting sim_meeting;

/* Collective in GROUP; RANKS: the job ranks of its members. */
dm_status sim_meeting_open(const dm_comm *group, int share, const int *ranks,
                           sim_meeting **meeting);
void sim_meeting_close(sim_meeting *meeting);

/* This rank posts gather NUMBER (0, 1, ...); its pieces leave in sequence, starting with that for
 * the right neighbour.  NEAR: which members are on its node. */
void sim_meeting_enter(sim_meeting *meeting, const dm_gather *gather, int64_t number,
                       const bool *near);

/* The time at which all had posted gather NUMBER; INFINITY: not yet. */
double sim_meeting_complete(const sim_meeting *meeting, int64_t number);

/* The time at which member ME, which posted gather NUMBER at POSTED, has received all pieces, BYTES
 * from each member: each has left its rank, and has passed the receiving port. */
double sim_meeting_received(sim_meeting *meeting, int me, int64_t number, const int64_t *bytes,
                            const bool *near, double posted);

#endif
