/* signals: SIGTERM, SIGINT and SIGUSR1, from the handler to the request that run/stop.h sees, and
 * the watchdog that ends a rank which does not stop in time. */
#ifndef DM_CLI_SIGNALS_H
#define DM_CLI_SIGNALS_H

#include "cli/call.h"
#include "run/run.h"

/* From now on SIGUSR1, SIGTERM and the first SIGINT only request a stop, if CALL's verb supports
 * it. */
void dm_cli_catch_signals(const dm_call *call);

/* Collective; all ranks have the same settings: sets RUN's limits and starts its watchdog. */
dm_status dm_cli_watch_run(dm_run *run, const dm_call *call);

/* The work is over: launchers end the other ranks by signals when the first one exits. */
void dm_cli_stop_speaking(void);

#endif
