#include "job/run.h"

static dm_status beat(void *run) {
  return dm_run_beat(run);
}

dm_status dm_run_start(dm_run *run, dm_level level, dm_progress_mode progress,
                       const char *command) {
  *run = (dm_run){.log = {.out = stderr, .level = level},
                  .progress = progress,
                  .command = command,
                  .pulse = {beat, run}};
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

static void wait_on(void *watch) {
  dm_watch_poll(watch);
}

dm_status dm_run_watch(dm_run *run, double seconds, dm_watch_calls calls) {
  DM_TRY(dm_watch_start(run->world, seconds, calls, &run->watch));
  dm_comm_on_wait(run->world, wait_on, run->watch);
  dm_comm_on_wait(run->node, wait_on, run->watch);
  return DM_OK;
}

void dm_run_phase(dm_run *run, const char *phase, int patience) {
  dm_watch_phase(run->watch, phase, patience);
  dm_trace_phase(&run->trace, phase);
}

dm_status dm_run_beat(dm_run *run) {
  dm_watch_moved(run->watch);
  dm_watch_poll(run->watch);
  return dm_stop_check(&run->stop);
}

void dm_run_stop(dm_run *run) {
  dm_watch_stop(run->watch);
  dm_comm_free(run->node);
  dm_comm_stop(run->world);
}
