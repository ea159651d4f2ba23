/* bench_round: C of another type than the sums of products that it is rounded from. */
#ifndef DM_MEASURE_BENCH_ROUND_H
#define DM_MEASURE_BENCH_ROUND_H

#include "engine/rank_state.h"

typedef struct dm_bench_round {
  dm_rank_state *local; /* NULL: C is of the type of its sums */
  dm_view c;            /* this rank's part, where the sums are */
} dm_bench_round;

/* Takes memory for C where PLAN's C is of another type.  Close frees also what a failed open has
 * left. */
dm_status dm_bench_round_open(dm_rank_state *local, dm_bench_round *round);
void dm_bench_round_close(dm_bench_round *round);

/* Rounds the sums (the block's, or, with layers, this rank's), and waits for it. */
dm_status dm_bench_round_run(const dm_bench_round *round);

/* Puts what was rounded in the place of the sums: what is verified is C. */
dm_status dm_bench_round_show(const dm_bench_round *round);

#endif
