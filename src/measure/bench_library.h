/* bench_library: one plain call of the library on a rank's whole block of C: what a product is
 * measured against. */
#ifndef DM_MEASURE_BENCH_LIBRARY_H
#define DM_MEASURE_BENCH_LIBRARY_H

#include "core/fill.h"
#include "engine/rank_state.h"

/* op(A) and op(B) as the block needs them, whole, where the backend multiplies. */
typedef struct dm_bench_library {
  dm_view a, b;
  bool owned;
} dm_bench_library;

/* On one rank with one panel the shares do; else memory beside the plan's is taken and filled by
 * GENERATORS of A and B.  DM_E_FIT where there is not enough. */
dm_status dm_bench_library_open(dm_rank_state *local, const dm_generator generators[2],
                                dm_bench_library *library);
void dm_bench_library_close(dm_rank_state *local, dm_bench_library *library);

/* Collective: seconds of the slowest rank while all are at work.  C holds the product of these
 * ranks' layers afterwards, or, where the
 * library rounds it to the operands' type and C is of that type, NARROW does. */
dm_status dm_bench_library_run(dm_rank_state *local, const dm_bench_library *library,
                               dm_view narrow, double *seconds);

/* What one rank alone reaches with plain calls of the library on a block of C: ROWS x COLS x DEPTH,
 * where all of k where memory allows it. */
typedef struct dm_bench_one {
  int64_t rows, cols, depth; /* depth 0: not measured */
  double flops;              /* per second, of the median call */
} dm_bench_one;

/* Collective; rank 0 multiplies for about LIMIT seconds and all others rest.  ROOM: bytes beside
 * the plan's that its operands may take, where the backend multiplies.  C holds something else
 * afterwards. */
dm_status dm_bench_one_run(dm_rank_state *local, const dm_generator generators[2], int64_t room,
                           double limit, dm_bench_one *one);

#endif
