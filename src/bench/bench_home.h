/* bench_home: a benchmark's matrices outside of the product, as in a program that multiplies its
 * own: operands in pinned host memory, and C in host or GPU memory. */
#ifndef DM_BENCH_BENCH_HOME_H
#define DM_BENCH_BENCH_HOME_H

#include "engine/memory_source.h"

typedef struct dm_bench_home {
  dm_rank_state *local;
  dm_memory_source source;
  dm_memory_sink sink;
  char *c;     /* this rank's part of every tile, tile after tile; NULL: C stays in the block */
  int64_t *at; /* offset of each part in it, in bytes */
} dm_bench_home;

/* brings: whether the plan copies A or B to GPUs; takes: whether C leaves the block, for host
 * memory or for another type. */
bool dm_bench_home_brings(const dm_plan *plan);
bool dm_bench_home_takes(const dm_plan *plan);

/* Copies the pieces in LOCAL's shares that will be loaded from here from now on, and allocates
 * memory for C. Close also frees memory of a failed open. */
dm_status dm_bench_home_open(dm_rank_state *local, dm_bench_home *home);
void dm_bench_home_close(dm_bench_home *home);

/* Overwrites the engine's copies of loaded operands and the memory for C, so that no old result can
 * pass as correct. */
dm_status dm_bench_home_spoil(dm_bench_home *home);

/* C of the rank's current tile as the product left it, in the memory that the backend reads
 * fastest, and its rows of C. */
dm_status dm_bench_home_show(dm_bench_home *home, dm_view *c, dm_range *rows);

/* This rank's part of C in its own type; base NULL: C stays in the block. */
dm_view dm_bench_home_part(const dm_bench_home *home);

#endif
