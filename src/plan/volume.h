/* volume: the traffic of a plan between ranks, counted from the partition itself. */
#ifndef DM_PLAN_VOLUME_H
#define DM_PLAN_VOLUME_H

#include "plan/plan.h"

typedef struct dm_volume {
  double most_words;    /* elements received by the rank that receives most */
  double total_bytes;   /* received by all ranks */
  double between_nodes; /* bytes of it whose sender is on another node */
} dm_volume;

/* Exact for few tiles (with many, each counts as the first), in O(ranks * tiles) time.  Pieces go
 * from rank to rank: one that several ranks of a node need crosses to it several times.  Nodes hold
 * RANKS_PER_NODE consecutive ranks. */
dm_volume dm_plan_volume(const dm_plan *plan, int ranks_per_node);

#endif
