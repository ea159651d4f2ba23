/* bench_host: operands that start in pinned host memory and are brought to the GPU while products
 * run, and C that returns there. */
#ifndef DM_MEASURE_BENCH_HOST_H
#define DM_MEASURE_BENCH_HOST_H

#include "engine/rank_state.h"

enum { DM_RETURNS = 4 };

typedef struct dm_bench_host {
  dm_rank_state *local;
  char *pieces[2]; /* of A and B, in host memory, panel after panel */
  dm_event *copied[2];
  dm_view c, sums; /* this rank's rows of C in host memory, and where they come from */
  int parts;       /* that C returns in; where panels stay on the GPU more than one: ... */
  int64_t border[DM_RETURNS + 1]; /* ... these columns, each while the next ones are computed */
} dm_bench_host;

/* Takes over the pieces that lie on the GPU.  Close frees also what a failed open has left. */
dm_status dm_bench_host_open(dm_rank_state *local, dm_bench_host *host);
void dm_bench_host_close(dm_bench_host *host);

/* Puts other numbers where the GPU has panels: none is right because it was right before. */
dm_status dm_bench_host_spoil(dm_bench_host *host);

/* As dm_step_calls has them; CONTEXT is the dm_bench_host. */
dm_status dm_bench_host_load(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel);
dm_status dm_bench_host_loaded(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel,
                               bool *done);

/* Computes what the loop has left of C, and lets it return to host memory part by part; once more
 * to the GPU, so that what returned is what is verified. */
dm_status dm_bench_host_return(dm_bench_host *host);
dm_status dm_bench_host_show(dm_bench_host *host);

#endif
