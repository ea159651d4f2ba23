/* plan_machine: the machine that `damier plan` plans for. */
#ifndef DM_CLI_PLAN_MACHINE_H
#define DM_CLI_PLAN_MACHINE_H

#include "cli/call.h"
#include "plan/machine.h"

/* The machine that --machine describes, or this computer, with *ranks ranks. */
dm_status dm_cli_machine(const dm_call *call, dm_machine *machine, int *ranks);

/* This computer with one GPU of that product name, as stated; starts nothing. */
dm_status dm_cli_machine_of_gpu(const dm_call *call, const char *name, dm_machine *machine);

#endif
