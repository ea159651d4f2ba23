/* stop_early: ends a job before it is done: signals, time limits, and the watchdog. */
#ifndef DM_CLI_STOP_EARLY_H
#define DM_CLI_STOP_EARLY_H

#include "cli/call.h"
#include "run/run.h"

/* From now on SIGUSR1, SIGTERM and the first SIGINT only request a stop, if CALL's verb supports
 * it. */
void dm_cli_catch_signals(const dm_call *call);

/* Call when the work is over: launchers end the other ranks by signals when the first one exits. */
void dm_cli_stop_speaking(void);

/* Collective; all ranks have the same settings. Sets RUN's limits and starts its watchdog. */
dm_status dm_cli_watch(dm_run *run, const dm_call *call);

#endif
