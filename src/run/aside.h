/* aside: calls to the storage that may take minutes, and show nothing meanwhile, are done by a
 * thread, so that the main thread answers the other ranks. */
#ifndef DM_RUN_ASIDE_H
#define DM_RUN_ASIDE_H

#include "run/run.h"

/* For how long WORK may go without a beat, in seconds: as many timeouts as a phase of files has,
 * and at least so long.  From then on it is no movement. */
enum { DM_ASIDE_LEAST = 600 };

/* WORK(CONTEXT, KEEPALIVE), whose status it returns; not MPI, and not collective.  Its beats say
 * that it moves; all of them are DM_OK. */
dm_status dm_run_aside(dm_run *run, dm_status (*work)(void *context, const dm_keepalive *keepalive),
                       void *context);

#endif
