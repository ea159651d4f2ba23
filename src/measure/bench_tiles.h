/* bench_tiles: matrices that do not fit the GPU: A and B lie in pinned host memory, panels of them
 * pass the GPU for one tile of C after the other, and each tile returns to host memory while the
 * next one is computed. */
#ifndef DM_MEASURE_BENCH_TILES_H
#define DM_MEASURE_BENCH_TILES_H

#include "engine/rank_state.h"

typedef struct dm_bench_tiles {
  dm_rank_state *local;
  char *c;            /* this rank's part of every tile, tile after tile, each packed */
  int64_t *at;        /* where in it, in bytes */
  dm_event *returned; /* of each tile */
  bool *posted;
} dm_bench_tiles;

/* Close frees also what a failed open has left. */
dm_status dm_bench_tiles_open(dm_rank_state *local, dm_bench_tiles *tiles);
void dm_bench_tiles_close(dm_bench_tiles *tiles);

/* Puts other numbers where C is to come: none is right because it was right before. */
dm_status dm_bench_tiles_spoil(dm_bench_tiles *tiles);

/* As dm_step_calls has it; CONTEXT is the dm_bench_tiles. */
dm_status dm_bench_tiles_store(void *context, dm_rank_state *local, dm_range rows, bool *done);

/* Of the tile that the local is turned to: what returned, put where the backend reads it fastest,
 * and which rows of C it is. */
dm_status dm_bench_tiles_show(dm_bench_tiles *tiles, dm_view *returned, dm_range *rows);

#endif
