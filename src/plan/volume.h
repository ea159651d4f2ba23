/* volume: the traffic of a plan between ranks, counted from the partition itself. */
#ifndef DM_PLAN_VOLUME_H
#define DM_PLAN_VOLUME_H

#include "plan/plan.h"

typedef struct dm_volume {
  double most_words;    /* elements received by the rank that receives most */
  double total_bytes;   /* received by all ranks */
  double between_nodes; /* bytes of it from another node */
} dm_volume;

/* Takes O(ranks * tiles) time. Exact for few tiles; with many, each counts as the first. Pieces go
 * from rank to rank: one needed by several ranks of a node is sent to it several times. Nodes have
 * RANKS_PER_NODE consecutive ranks. */
dm_volume dm_plan_volume(const dm_plan *plan, int ranks_per_node);

#endif
