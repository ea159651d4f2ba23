/* heartbeat: tracks which ranks are alive and whether the job makes progress.
 *
 * Every rank sends its progress counter to rank 0 from time to time; rank 0 answers with the sum
 * over all ranks. Each rank has at most one message under way, so messages to a silent rank do not
 * pile up.
 *
 * A rank that must end early sends the reason to rank 0, which forwards it to all: every rank then
 * exits with the same code, whatever the launcher makes of the first exit. */
#ifndef DM_COMM_HEARTBEAT_H
#define DM_COMM_HEARTBEAT_H

#include "comm/comm.h"

typedef struct dm_heartbeat dm_heartbeat;

/* Why the job ends early. */
typedef struct dm_ending {
  dm_code code;
  int rank;          /* the rank that caused it */
  int speaker;       /* the rank that prints it when rank 0 forwards it; -1: already printed */
  char launcher[16]; /* what was lost, for DM_E_MPI; may be empty */
} dm_ending;

/* Collective. */
dm_status dm_heartbeat_open(const dm_comm *world, dm_heartbeat **heartbeat);

/* Collective: waits until no message is under way. NULL is allowed. */
void dm_heartbeat_close(dm_heartbeat *heartbeat);

/* Main thread: processes the messages received by NOW (in the caller's time), and, if SENDS, sends
 * MINE to rank 0; MINE never decreases. *job: the last known sum over all ranks. Sets *ending,
 * whose code is then not 0, if this rank received one. */
dm_status dm_heartbeat_poll(dm_heartbeat *heartbeat, int now, bool sends, int64_t mine,
                            int64_t *job, dm_ending *ending);

/* Main thread: sends ENDING, from rank 0 to all ranks, from others to rank 0; does not wait. Call
 * once. */
dm_status dm_heartbeat_send_ending(dm_heartbeat *heartbeat, const dm_ending *ending);

/* For rank 0: a rank on another node; 0: there is none. */
int dm_heartbeat_elsewhere(const dm_heartbeat *heartbeat);

/* Any thread: when rank 0 last received from RANK, and the name of RANK's node. */
int dm_heartbeat_heard(const dm_heartbeat *heartbeat, int rank);
const char *dm_heartbeat_host(const dm_heartbeat *heartbeat, int rank);

#endif
