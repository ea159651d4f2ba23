/* bench_home: what a benchmark holds outside of a product, as a program would that multiplies its
 * own matrices: operands in pinned host memory, and C in host or GPU memory. */
#ifndef DM_MEASURE_BENCH_HOME_H
#define DM_MEASURE_BENCH_HOME_H

#include "engine/memory_sink.h"
#include "engine/memory_source.h"

typedef struct dm_bench_home {
  dm_rank_state *local;
  dm_memory_source source;
  dm_memory_sink sink;
  char *pieces[2]; /* of A and B, panel after panel; NULL where they are not brought to a GPU */
  char *c;         /* this rank's part of every tile, tile after tile; NULL: C stays in the block */
  int64_t *at;     /* where in it, in bytes */
} dm_bench_home;

/* Whether the plan brings A or B to GPUs; whether C leaves the block: for host memory, or for
 * another type. */
bool dm_bench_home_brings(const dm_plan *plan);
bool dm_bench_home_takes(const dm_plan *plan);

/* Takes a copy of the pieces in LOCAL's shares that are to be brought from now on, and memory for
 * C.  Close frees also what a failed open has left. */
dm_status dm_bench_home_open(dm_rank_state *local, dm_bench_home *home);
void dm_bench_home_close(dm_bench_home *home);

/* Puts other numbers where the engine has what is brought, and where C is to come: nothing is right
 * because it was right before. */
dm_status dm_bench_home_spoil(dm_bench_home *home);

/* C of the tile that the rank is turned to, as it left the product, where the backend reads it
 * fastest, and which rows of C it is. */
dm_status dm_bench_home_show(dm_bench_home *home, dm_view *c, dm_range *rows);

/* This rank's part of C in its own type; without a base where C stays in the block. */
dm_view dm_bench_home_part(const dm_bench_home *home);

#endif
