/* aside: runs storage calls that may take minutes without progress in a thread, so that the main
 * thread can answer the other ranks. */
#ifndef DM_RUN_ASIDE_H
#define DM_RUN_ASIDE_H

#include "run/run.h"

/* How long WORK may go without a beat, in seconds: as many timeouts as a phase with files has, and
 * at least this long. After that it counts as hung. */
enum { DM_ASIDE_LEAST = 600 };

/* Calls WORK(CONTEXT, KEEPALIVE) and returns its status; WORK must not use MPI. Not collective. Its
 * beats report progress and always return DM_OK. */
dm_status dm_run_aside(dm_run *run, dm_status (*work)(void *context, const dm_keepalive *keepalive),
                       void *context);

#endif
