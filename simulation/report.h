/* report: the results of a simulated multiplication, as a record and as text. */
#ifndef SIMULATION_REPORT_H
#define SIMULATION_REPORT_H

#include "files.h"
#include "options.h"
#include "plan/plan.h"
#include "run/run.h"

/* Results of one rank; plan, begun and planning are set only on rank 0. */
typedef struct sim_outcome {
  dm_plan plan;
  double begun, planning;    /* in real time: start of the simulation, seconds of planning */
  double seconds;            /* simulated, until this rank was done */
  double products, reduced;  /* until products, and the sum over layers, were done */
  double busy;               /* the time in which the GPU multiplied */
  double exposed;            /* the time in which it waited for panels */
  int64_t received, crossed; /* bytes: all, and those from other nodes */
  sim_file_bytes files;
} sim_outcome;

/* Real time in seconds, not SimGrid's. */
double sim_real_seconds(void);

/* Collective.  Rank 0 prints and appends the record. */
dm_status sim_report(const sim_options *options, const dm_run *run, const sim_outcome *outcome);

#endif
