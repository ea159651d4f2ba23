/* volume: what one rank is to receive, told from the plan alone. */
#ifndef SIMULATION_VOLUME_H
#define SIMULATION_VOLUME_H

#include "plan/plan.h"

/* Bytes with rows as they lie on a GPU, padded; and those of them from other nodes,
 * which hold PER_NODE consecutive ranks. */
typedef struct sim_volume {
  int64_t received, crossed;
  int64_t read, written; /* of its parts of A and B, and of C, as they lie in files */
} sim_volume;

sim_volume sim_volume_of(const dm_plan *plan, int rank, int per_node);

#endif
