/* heartbeat: who of the job is still there, and whether anything moves anywhere.
 *
 * Every rank tells rank 0 now and then how much it has done; rank 0 answers how much all have done.
 * A rank has one message under way at most, so nothing piles up where one is silent.
 *
 * A rank that must end before the job is done tells rank 0 why, and rank 0 tells all: then each
 * ends by itself with the same code, whatever the launcher would make of the first one's end. */
#ifndef DM_COMM_HEARTBEAT_H
#define DM_COMM_HEARTBEAT_H

#include "comm/comm.h"

typedef struct dm_heartbeat dm_heartbeat;

/* Why ranks end before the job is done. */
typedef struct dm_ending {
  dm_code code;
  int rank;          /* because of which */
  int speaker;       /* who of those that hear of it from rank 0 says so; -1: it was said */
  char launcher[16]; /* what was lost, for DM_E_MPI; may be empty */
} dm_ending;

/* Collective. */
dm_status dm_heartbeat_open(const dm_comm *world, dm_heartbeat **heartbeat);

/* Collective: waits until nothing is under way any more.  NULL is allowed. */
void dm_heartbeat_close(dm_heartbeat *heartbeat);

/* Main thread: hears what has arrived at NOW (a time of the caller's own), and, if TELL, tells rank
 * 0 MINE, which never decreases.  *job: the sum over all ranks, as last heard of. */
dm_status dm_heartbeat_poll(dm_heartbeat *heartbeat, int now, bool tell, int64_t mine,
                            int64_t *job);

/* Main thread: rank 0 tells all others of ENDING, another rank tells rank 0; does not wait.  Once.
 */
dm_status dm_heartbeat_tell(dm_heartbeat *heartbeat, const dm_ending *ending);

/* Main thread, after dm_heartbeat_poll: whether this rank was told; *ending then says of what. */
bool dm_heartbeat_told(const dm_heartbeat *heartbeat, dm_ending *ending);

/* A rank whose node is another one than rank 0's; 0: there is none.  For rank 0. */
int dm_heartbeat_elsewhere(const dm_heartbeat *heartbeat);

/* Any thread: the time at which rank 0 last heard of RANK, and the name of its node.  Other ranks
 * know the name of rank 0's only. */
int dm_heartbeat_heard(const dm_heartbeat *heartbeat, int rank);
const char *dm_heartbeat_host(const dm_heartbeat *heartbeat, int rank);

#endif
