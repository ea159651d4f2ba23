/* bench_library: one plain library call for a rank's whole block of C: the baseline for
 * products. */
#ifndef DM_BENCH_BENCH_LIBRARY_H
#define DM_BENCH_BENCH_LIBRARY_H

#include "core/element.h"
#include "product/measured.h"

/* The parts of op(A) and op(B) for the block, whole, in the backend's memory. */
typedef struct dm_bench_library {
  dm_view a, b;
  bool owned;
} dm_bench_library;

/* Uses the shares on one rank with one panel; else allocates memory beside the plan's and fills it
 * with GENERATORS of A and B. DM_E_FIT: too little memory. */
dm_status dm_bench_library_open(const dm_rank_state *local, const dm_generator generators[2],
                                dm_bench_library *library);
void dm_bench_library_close(const dm_rank_state *local, dm_bench_library *library);

/* Collective: seconds of the slowest rank while all work. Afterwards C holds the product of these
 * ranks' layers; or NARROW does, if the library rounds it to the operands' type and C has that
 * type. */
dm_status dm_bench_library_run(const dm_rank_state *local, const dm_bench_library *library,
                               dm_view narrow, double *seconds);

/* The library's performance on one rank with a block of C: ROWS x COLS x DEPTH, with all of k if
 * memory allows. */
typedef struct dm_bench_one {
  int64_t rows, cols, depth; /* depth 0: not measured */
  double flops;              /* per second, for the median call */
} dm_bench_one;

/* Collective; rank 0 multiplies for about LIMIT seconds while all others are idle. ROOM: bytes
 * beside the plan's for its operands, in the backend's memory. C is overwritten. */
dm_status dm_bench_one_run(const dm_rank_state *local, const dm_generator generators[2],
                           int64_t room, double limit, dm_bench_one *one);

#endif
