#include "bench/bench.h"
#include "bench/verbs.h"
#include "cli/session.h"
#include "options/request.h"

enum { MOST_REPETITIONS = 1000 };

static dm_status read_wishes(const dm_call *call, dm_bench_links *wanted) {
  *wanted = (dm_bench_links){.repetitions = (int)call->own.repetitions};
  if (call->own.repetitions > MOST_REPETITIONS)
    return dm_fail(DM_E_USAGE, "option '--repetitions': at most %d", MOST_REPETITIONS);
  return dm_context(dm_bench_links_sizes(call->own.pieces, wanted), "option '--bytes'");
}

static dm_status publish(void *context, dm_record *record) {
  return dm_cli_publish(context, record);
}

static dm_status bench_links(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  dm_bench_links *wanted = shared;
  (void)record;
  wanted->engine = dm_request_engine(&call->settings);
  return dm_bench_links_run(run, wanted, publish, (void *)call);
}

int dm_bench_verb_links(dm_call *call) {
  dm_bench_links wanted = {.sizes = 0};
  dm_status prepared = dm_cli_ramp(call) ? read_wishes(call, &wanted) : DM_OK;
  return dm_cli_run_job(
      call, prepared,
      &(dm_work){.run = bench_links, .shared = &wanted, .bytes = sizeof wanted, .reports = true});
}
