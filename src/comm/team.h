/* team: ranks that are threads of one process. They exchange messages through each other's memory,
 * and need neither a launcher nor MPI. */
#ifndef DM_COMM_TEAM_H
#define DM_COMM_TEAM_H

#include "comm/comm.h"

/* Runs WORK on RANKS threads, the calling one being rank 0. Each gets a WORLD of its own, which it
 * frees or stops. Returns when all have returned. DM_E_FIT: not enough threads; none has run. */
dm_status dm_team_run(int ranks, void (*work)(dm_comm *world, void *context), void *context);

/* The communicators of RANKS ranks, for threads of the caller's own. DM_E_FIT. */
dm_status dm_team_worlds(int ranks, dm_comm **worlds);

/* Ends the team of COMM after WHY, which only this rank knows: what other ranks wait for, and what
 * they begin later, fails with a copy of the first such error. */
void dm_team_break(const dm_comm *comm, const dm_error *why);

#endif
