#include <stdio.h>

#include "backend/backend.h"
#include "cli/request.h"
#include "cli/session.h"
#include "job/bench.h"

enum { DEFAULT_SIZE = 2048, FROM_AUTO = 0, FROM_HOST = 1, FROM_DEVICE = 2 }; /* as in the table */

static dm_status find_place(const dm_settings *s, const char *backend, int ranks,
                            bool *from_device) {
  const dm_backend_ops *ops = NULL;
  *from_device = false;
  if (s->from == FROM_HOST) return DM_OK;
  if (s->backend == 0)
    ops = dm_backend_auto();
  else
    DM_TRY(dm_backend_find(backend, &ops));
  /* Several ranks exchange panels, and no transport moves GPU memory yet. */
  *from_device = ops->device_memory && (s->from == FROM_DEVICE || ranks == 1);
  if (s->from == FROM_DEVICE && !ops->device_memory)
    return dm_hint(
        dm_fail(DM_E_DEVICE, "--from device: the %s backend has no memory of its own", ops->name),
        "--from host, or a program and a node with a GPU");
  return DM_OK;
}

static dm_status bench_multiply(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)shared;
  const dm_settings *s = &call->settings;
  int64_t mnk[3];
  dm_bench_multiply bench = {
      .type = (dm_dtype)s->type,
      .type_c = dm_cli_given(s, "type-c") ? (dm_dtype)s->type_c : DM_DTYPE_NONE,
      .compute = (dm_compute)s->compute,
      .engine = dm_cli_engine(s),
      .verify = s->verify,
      .against_library = s->against_library,
      .warmup = (int)s->warmup,
      .repetitions = (int)s->repetitions,
      .seed = (uint64_t)s->seed,
  };
  DM_TRY(dm_cli_dimensions(s, DEFAULT_SIZE, mnk));
  dm_status placed = find_place(s, bench.engine.backend, run->ranks, &bench.from_device);
  DM_TRY(dm_comm_agree(run->world, placed));
  bench.engine.wishes.from_device = bench.from_device;
  bench.m = mnk[0];
  bench.n = mnk[1];
  bench.k = mnk[2];
  return dm_bench_multiply_run(run, &bench, record);
}

int dm_cli_bench_multiply(dm_call *call) {
  return dm_cli_run_job(call, DM_OK, &(dm_work){.run = bench_multiply});
}

static dm_status bench_io(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)shared;
  const dm_settings *s = &call->settings;
  dm_bench_io bench = {.bytes = s->bytes, .repetitions = (int)s->repetitions};
  snprintf(bench.directory, sizeof bench.directory, "%s", s->directory);
  return dm_bench_io_run(run, &bench, record);
}

int dm_cli_bench_io(dm_call *call) {
  return dm_cli_run_job(call, DM_OK, &(dm_work){.run = bench_io});
}
