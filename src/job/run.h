/* run: the ranks of a job, their nodes, and how they speak to the user. */
#ifndef DM_JOB_RUN_H
#define DM_JOB_RUN_H

#include "comm/comm.h"
#include "core/log.h"

typedef enum dm_progress_mode {
  DM_PROGRESS_AUTO,
  DM_PROGRESS_ALWAYS,
  DM_PROGRESS_NEVER
} dm_progress_mode;

typedef struct dm_run {
  dm_comm *world;
  dm_comm *node; /* the ranks of this computer */
  int rank, ranks;
  int local_rank, local_ranks;
  int nodes;
  dm_log log;
  dm_progress_mode progress;
  const char *command; /* as typed; for records and provenance */
} dm_run;

/* Starts MPI and finds the nodes; LEVEL and PROGRESS come from the command line. */
dm_status dm_run_start(dm_run *run, dm_level level, dm_progress_mode progress, const char *command);

/* Collective; ends MPI. */
void dm_run_stop(dm_run *run);

#endif
