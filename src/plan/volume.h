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

/* Lower bounds, for any algorithm, of the elements that a rank receives. */

/* Elements that at least one of RANKS ranks must receive if A, B and C are distributed evenly: the
 * larger of the tight memory-independent bound of Al Daas, Ballard, Grigori, Kumar, Rouse 2022
 * (arXiv 2205.13407, corollary 4) and the memory-dependent 2mnk/(P sqrt(M)) - 2M of Smith et al.
 * (arXiv 1702.02017), M = MEMORY_WORDS elements per rank (0: unknown, only the first). 0 for one
 * rank. */
double dm_bound_words(int64_t m, int64_t n, int64_t k, int64_t ranks, double memory_words);

/* Elements that must be read from and written to files if all ranks together hold MEMORY_WORDS:
 * max(2mnk / sqrt(S) + mn, mk + kn + mn) (Hong and Kung 1981, with the constant of Smith et al.); S
 * = 0: unlimited. */
double dm_bound_file_words(int64_t m, int64_t n, int64_t k, double memory_words);

#endif
