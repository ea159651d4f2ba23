/* roll: who of the job is still there, and whether anything moves anywhere.
 *
 * Every rank tells rank 0 now and then how much it has done; rank 0 answers how much all have done.
 * A rank has one message under way at most, so nothing piles up where one is silent. */
#ifndef DM_COMM_ROLL_H
#define DM_COMM_ROLL_H

#include "comm/comm.h"

typedef struct dm_roll dm_roll;

/* Collective. */
dm_status dm_roll_open(const dm_comm *world, dm_roll **roll);

/* Collective: waits until nothing is under way any more.  NULL is allowed. */
void dm_roll_close(dm_roll *roll);

/* Main thread: hears what has arrived at NOW (a time of the caller's own), and, if TELL, tells rank
 * 0 MINE, which never decreases.  *job: the sum over all ranks, as last heard of. */
dm_status dm_roll_poll(dm_roll *roll, int now, bool tell, int64_t mine, int64_t *job);

/* Any thread: the time at which rank 0 last heard of RANK, and the name of its node.  Other ranks
 * know the name of rank 0's only. */
int dm_roll_heard(const dm_roll *roll, int rank);
const char *dm_roll_host(const dm_roll *roll, int rank);

#endif
