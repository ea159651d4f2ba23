/* ports: what the way between GPUs takes where SimGrid's own model of it is not asked.  Every rank
 * sends one piece at a time, and receives one at a time, inside its node and, at the same time,
 * between nodes; pieces queue up in the order in which the transport posts them.
 *
 * All ranks are threads of one process, one of which runs at a time: what stands here is seen by
 * all.  Times are simulated seconds. */
#ifndef SIMULATION_PORTS_H
#define SIMULATION_PORTS_H

#include "transport/gather.h"

/* Bytes per second of a rank's ports, each way; 0: what SimGrid says counts. */
typedef struct sim_ports {
  double inside, between;
  double notice; /* 0: pieces are messages.  Else ranks see in memory that their peers are ready, so
                    many seconds after the last one was, and there are no messages */
} sim_ports;

/* Of RANK, which may be a file server too; ALL: ranks and file servers. */
dm_status sim_ports_set(int rank, int all, sim_ports ports);
sim_ports sim_ports_of(int rank);

/* Sleeps until TIME (INFINITY: for ever), or until somebody rings. */
void sim_bell_wait(int rank, double time);
void sim_bell_ring(int rank);

/* The gathers of one share in a group: who has posted, and when the last one did. */
typedef struct sim_meeting sim_meeting;

/* Collective in GROUP, whose members have RANKS in the job. */
dm_status sim_meeting_open(const dm_comm *group, int share, const int *ranks,
                           sim_meeting **meeting);
void sim_meeting_close(sim_meeting *meeting);

/* RANK posts gather NUMBER (0, 1, ...), and its pieces leave one after the other, beginning with
 * that of the right neighbour; NEAR says which members are on its node. */
void sim_meeting_enter(sim_meeting *meeting, const dm_gather *gather, int64_t number,
                       const bool *near);

/* When all had posted gather NUMBER; INFINITY: not yet. */
double sim_meeting_complete(const sim_meeting *meeting, int64_t number);

/* When all pieces, BYTES from each member, of gather NUMBER, which the member ME posted at POSTED,
 * are there: each has left its rank, and the port was free for it. */
double sim_meeting_received(sim_meeting *meeting, int me, int64_t number, const int64_t *bytes,
                            const bool *near, double posted);

#endif
