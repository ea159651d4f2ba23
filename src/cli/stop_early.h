/* stop_early: what ends a job before it is done: signals, time limits, and the watchdog. */
#ifndef DM_CLI_STOP_EARLY_H
#define DM_CLI_STOP_EARLY_H

#include "cli/verb.h"
#include "run/run.h"

/* From now on SIGUSR1, SIGTERM and the first SIGINT only say that the job shall stop, if CALL's
 * verb listens. */
void dm_cli_catch_signals(const dm_call *call);

/* The work is over: launchers end the other ranks by signals when the first one leaves. */
void dm_cli_stop_speaking(void);

/* Collective, with the settings that all ranks share: sets RUN's limits and starts its watchdog. */
dm_status dm_cli_watch(dm_run *run, const dm_call *call);

#endif
