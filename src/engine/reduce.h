/* reduce: partial blocks of C become C, summed over the layers in ascending order of l, so that the
 * bits do not depend on who arrives first.  Each layer sums, and later writes, its own rows. */
#ifndef DM_ENGINE_REDUCE_H
#define DM_ENGINE_REDUCE_H

#include "engine/rank_state.h"

/* What is summed at a time. */
typedef struct dm_sum_part {
  int owner;     /* the layer that sums, ... */
  dm_range rows; /* ... so many of its rows (counted within dm_rank_sums); or -1: all their own */
  bool last;     /* of a block: peers may still read the others when they are done here */
} dm_sum_part;

/* Called by all layers with the same PART, of whose rows all products are done, and again until it
 * is *done; then the owner's are in c_sum.  Parts are summed one after the other, alike in all
 * layers.  PART NULL: everything at once. */
dm_status dm_rank_reduce(dm_rank_state *local, const dm_sum_part *part, bool *done);

/* ---- where the layers exchange GPU memory (reduce_device.c) ---- */

bool dm_rank_reduces_on_device(const dm_rank_state *local);
dm_status dm_rank_reduce_on_device(dm_rank_state *local, const dm_sum_part *part, bool *done);

/* ---- what both ways need ---- */

/* Rows of C, of this rank's block, that layer L sums in PART. */
dm_range dm_sum_rows(const dm_rank_state *local, const dm_sum_part *part, int l);

/* What is added up of SUMS, rows of a block or of c_sum: them, or all their accumulators. */
dm_view dm_sum_added(const dm_rank_state *local, dm_view sums);

/* SUM += MORE, rows as dm_sum_added has them; accumulators by their row's way. */
dm_status dm_sum_add(const dm_rank_state *local, dm_view sum, dm_view more);

/* A layer without panels has computed nothing: its partial block is zero, not what memory held. */
bool dm_sum_has(const dm_plan *plan, int l);

#endif
