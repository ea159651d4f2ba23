/* stop_early: what ends a job before it is done: signals, time limits, and the watchdog. */
#ifndef DM_CLI_STOP_EARLY_H
#define DM_CLI_STOP_EARLY_H

#include "cli/verb.h"
#include "run/run.h"

/* From now on SIGUSR1 and SIGTERM only say that the job shall stop, if CALL's verb listens. */
void dm_cli_catch_signals(const dm_call *call);

/* Collective, with the settings that all ranks share: sets RUN's limits and starts its watchdog. */
dm_status dm_cli_watch(dm_run *run, const dm_call *call);

#endif
