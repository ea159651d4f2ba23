/* plan_slurm: the request for Slurm. */
#ifndef DM_CLI_PLAN_SLURM_H
#define DM_CLI_PLAN_SLURM_H

#include "cli/call.h"
#include "plan/plan.h"

/* A Slurm partition as a machine with all its nodes. */
typedef struct dm_partition {
  char name[128]; /* "": described by --machine */
  dm_machine machine;
  int gpus;          /* per node */
  int cores;         /* per rank; 0: not known */
  int64_t memory;    /* of a node; 0: not known */
  double time_limit; /* seconds; 0: none, or not known */
} dm_partition;

/* Finds the partition NAME ("": the default) in sinfo's output, formatted as
 * "%P|%D|%c|%m|%G|%l". */
dm_status dm_partition_parse(const char *text, const char *name, dm_partition *partition);

/* The same from running sinfo. */
dm_status dm_partition_detect(const char *name, dm_partition *partition);

/* Finds the fewest nodes on which PROBLEM fits and finishes in time; prints the #SBATCH lines and
 * returns the plan with its machine. */
dm_status dm_cli_plan_slurm(const dm_call *call, const dm_problem *problem, dm_plan *plan,
                            dm_machine *machine);

#endif
