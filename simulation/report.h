/* report: what a simulated multiplication took, as a record and in a few lines. */
#ifndef SIMULATION_REPORT_H
#define SIMULATION_REPORT_H

#include "files.h"
#include "options.h"
#include "plan/plan.h"
#include "run/run.h"

/* Of one rank; the plan and the first two are rank 0's. */
typedef struct sim_outcome {
  dm_plan plan;
  double begun, planning;    /* seconds of the real clock */
  double seconds;            /* simulated: until this rank was done; */
  double products, reduced;  /* when products, and the sum over layers, were done, */
  double busy;               /* the part in which the GPU multiplied, */
  double exposed;            /* and that in which it waited for panels */
  int64_t received, crossed; /* bytes, and those of them from other nodes */
  sim_file_bytes files;
} sim_outcome;

/* Seconds that really pass, not those that SimGrid counts. */
double sim_real_seconds(void);

/* Collective.  Rank 0 prints, and appends the record. */
dm_status sim_report(const sim_options *options, const dm_run *run, const sim_outcome *outcome);

#endif
