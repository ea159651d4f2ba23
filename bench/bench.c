/* The harness of all measurements. */
#include "bench/bench.h"

#include "cli/gpus.h"
#include "cli/session.h"

int dm_bench_job(dm_call *call, dm_status prepared, dm_bench_measure *run, void *shared,
                 size_t bytes) {
  dm_gpu_choice gpus = {.ranks = 1};
  if (!prepared && dm_cli_speaks(call)) prepared = dm_cli_take_stated_gpus(call, &gpus);
  const dm_work work = {.run = run,
                        .shared = shared,
                        .bytes = bytes,
                        .reports = shared != NULL,
                        .threads = gpus.ranks};
  return dm_cli_run_job(call, prepared, &work);
}
