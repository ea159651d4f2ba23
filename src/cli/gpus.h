/* gpus: the GPUs of this computer that a command without a launcher uses. Each gets a rank, which
 * is a thread. */
#ifndef DM_CLI_GPUS_H
#define DM_CLI_GPUS_H

#include "backend/gpu_list.h"
#include "cli/call.h"
#include "plan/machine.h"
#include "plan/problem.h"

typedef struct dm_gpu_choice {
  int ranks; /* threads that multiply; 1 also without a GPU */
  int most;  /* number of GPUs chosen from; 0: --gpus states it, or there is no choice */
  bool uses; /* GPUs are expected to multiply, of a command without a launcher */
  double seconds[DM_GPUS]; /* predicted for 1, 2, ... of them; INFINITY: no plan */
  dm_gpu_list spare;       /* those that the plan has not chosen */
} dm_gpu_choice;

/* Chooses GPUs for PROBLEM as --gpus says, else by the plan, and hides the others from this
 * process: call before the driver starts. Under a launcher every rank has one, and nothing is
 * chosen. DM_E_USAGE, DM_E_DEVICE: --gpus is wrong, or not for this job. */
dm_status dm_cli_take_gpus(dm_call *call, const dm_problem *problem, dm_gpu_choice *choice);

/* The same without a plan: only what --gpus states. */
dm_status dm_cli_take_stated_gpus(dm_call *call, dm_gpu_choice *choice);

/* The choice by the plan from MOST GPUs, each as in MACHINE, which describes one. */
void dm_cli_weigh_gpus(const dm_call *call, const dm_problem *problem, const dm_machine *machine,
                       int most, dm_gpu_choice *choice);

/* ---- the machine that `damier plan` plans for ---- */

/* The machine that --machine describes, or this computer, for PROBLEM with *ranks ranks. */
dm_status dm_cli_machine(const dm_call *call, const dm_problem *problem, dm_machine *machine,
                         int *ranks);

#endif
