/* gpus: the GPUs of this computer that a command without a launcher uses. Each gets a rank, which
 * is a thread. */
#ifndef DM_CLI_GPUS_H
#define DM_CLI_GPUS_H

#include "cli/call.h"

/* Chooses them as --gpus says, and hides all others from this process: call before the driver
 * starts. *RANKS: how many threads multiply; 1 also without a GPU. DM_E_USAGE, DM_E_DEVICE: --gpus
 * is wrong, or not for this job. */
dm_status dm_cli_take_gpus(dm_call *call, int *ranks);

#endif
