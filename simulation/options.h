/* options: what is to be simulated, from the command line. */
#ifndef SIMULATION_OPTIONS_H
#define SIMULATION_OPTIONS_H

#include "plan/machine.h"
#include "plan/problem.h"

typedef struct sim_options {
  dm_problem problem;
  dm_wishes wishes;
  const char *words; /* the machine's, and the rate of one GPU with its size, as they were given */
  double rate;
  int64_t rate_at;
  dm_machine machine; /* as the planner knows it, from these */
  double slow_down;   /* the most by which a rank is slower, chosen at random for each */
  int64_t seed;
  bool ports;           /* queue up at ports; else SimGrid shares links among messages */
  double notice;        /* ports without messages (ports.h); 0: with */
  int servers;          /* of files; 0: no files */
  double file_rate;     /* bytes per second of each */
  double slow_nic;      /* part of its rate that one adapter has, in the middle of the job */
  int most_panels;      /* of a layer; wider panels are taken where there were more */
  const char *platform; /* words about it for the record */
  const char *json;     /* NULL: no record */
} sim_options;

/* DM_E_USAGE for what is not understood. */
dm_status sim_options_read(int argc, char **argv, sim_options *options);

#endif
