#include <stdio.h>

#include "backend/backend.h"
#include "cli/request.h"
#include "cli/session.h"
#include "job/bench.h"

enum { DEFAULT_SIZE = 2048, FROM_HOST = 1, FROM_DEVICE = 2 }; /* as in the table */

/* auto is the planner's choice: on the GPUs, as far as the shares fit and can be gathered there. */
static dm_status find_place(const dm_settings *s, dm_bench_multiply *bench) {
  const dm_backend_ops *ops = dm_backend_auto();
  bench->from_host = s->from == FROM_HOST;
  bench->from_device = s->from == FROM_DEVICE;
  if (!bench->from_device) return DM_OK;
  if (s->backend != 0) DM_TRY(dm_backend_find(bench->engine.backend, &ops));
  if (ops->device_memory) return DM_OK;
  return dm_hint(
      dm_fail(DM_E_DEVICE, "--from device: the %s backend has no memory of its own", ops->name),
      "--from host, or a program and a node with a GPU");
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
      .against_local = s->against_local,
      .warmup = (int)s->warmup,
      .repetitions = (int)s->repetitions,
      .seed = (uint64_t)s->seed,
  };
  DM_TRY(dm_cli_dimensions(s, DEFAULT_SIZE, mnk));
  DM_TRY(dm_comm_agree(run->world, find_place(s, &bench)));
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
  dm_bench_io bench = {.bytes = s->bytes,
                       .repetitions = (int)s->repetitions,
                       .form = dm_cli_form(s),
                       .io_threads = dm_cli_io_threads(s)};
  snprintf(bench.directory, sizeof bench.directory, "%s", s->directory);
  if (dm_output_is_chunked(&bench.form)) return dm_bench_unpack_run(run, &bench, record);
  return dm_bench_io_run(run, &bench, record);
}

int dm_cli_bench_io(dm_call *call) {
  return dm_cli_run_job(call, DM_OK, &(dm_work){.run = bench_io});
}
