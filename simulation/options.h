/* options: the simulation's parameters, from the command line. */
#ifndef SIMULATION_OPTIONS_H
#define SIMULATION_OPTIONS_H

#include "plan/machine.h"
#include "plan/problem.h"

typedef struct sim_options {
  dm_problem problem;
  dm_wishes wishes;
  const char *words; /* the machine as given; rate: of one GPU, measured at size rate_at */
  double rate;
  int64_t rate_at;
  dm_machine machine; /* for the planner, derived from these */
  double slow_down;   /* maximum slow-down of a rank, random for each */
  int64_t seed;
  double notice;    /* of ports.h; 0: no ports, SimGrid shares links among messages */
  int servers;      /* file servers; 0: no files */
  double file_rate; /* bytes per second per server */
  double slow_nic;  /* factor on the rate of one adapter, of the middle rank */
  int most_panels;  /* per layer; panels are widened to stay below */
  const char *json; /* NULL: no record */
} sim_options;

/* DM_E_USAGE for invalid options. */
dm_status sim_options_read(int argc, char **argv, sim_options *options);

#endif
