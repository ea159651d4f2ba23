/* reduce: sums the layers' partial blocks of C in ascending order of l, so that the bits do not
 * depend on arrival times. Each layer sums, and later writes, its own rows. */
#ifndef DM_ENGINE_REDUCE_H
#define DM_ENGINE_REDUCE_H

#include "engine/rank_state.h"

/* The part of the block to sum. */
typedef struct dm_sum_part {
  int owner; /* the layer that sums, ... */
  dm_range
      rows;  /* ... these of its rows (counted within dm_rank_sums); or -1: each layer its own */
  bool last; /* last part of a block: peers may still be reading other parts */
} dm_sum_part;

/* All layers call it with the same PART, for whose rows all products are done, repeatedly until
 * *done; the owner's sums are then in c_sum. Parts are summed in the same order on all layers. PART
 * NULL: everything at once. */
dm_status dm_rank_reduce(dm_rank_state *local, const dm_sum_part *part, bool *done);

#endif
