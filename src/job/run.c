#include "job/run.h"

dm_status dm_run_start(dm_run *run, dm_level level, dm_progress_mode progress,
                       const char *command) {
  *run = (dm_run){.log = {.out = stderr, .level = level}, .progress = progress, .command = command};
  DM_TRY(dm_comm_start(&run->world));
  run->rank = run->log.rank = dm_comm_rank(run->world);
  run->ranks = dm_comm_size(run->world);
  DM_TRY(dm_comm_split_node(run->world, &run->node));
  run->local_rank = dm_comm_rank(run->node);
  run->local_ranks = dm_comm_size(run->node);
  int64_t nodes = run->local_rank == 0;
  DM_TRY(dm_comm_sum_i64(run->world, &nodes, 1));
  run->nodes = (int)nodes;
  return DM_OK;
}

void dm_run_stop(dm_run *run) {
  dm_comm_free(run->node);
  dm_comm_stop(run->world);
}
