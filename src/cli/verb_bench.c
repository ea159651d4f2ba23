#include <stdio.h>

#include "backend/backend.h"
#include "cli/request.h"
#include "cli/session.h"
#include "job/bench.h"
#include "job/kernel_choice.h"

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

/* The sizes to be measured, in one way of several. */
static dm_status find_sizes(const dm_call *call, dm_kernel_sizes *sizes) {
  static const char *const ways[] = {"sizes", "fill", "size", "m", "n", "k"};
  const dm_settings *s = &call->settings;
  int64_t mnk[3];
  const int first = dm_cli_given(s, "sizes") ? 0 : 1;
  for (size_t i = first + 1; i < sizeof ways / sizeof ways[0] && dm_cli_given(s, ways[first]); i++)
    if (dm_cli_given(s, ways[i]))
      return dm_fail(DM_E_USAGE, "--%s does not go with --%s", ways[i], ways[first]);
  if (first == 0) return dm_context(dm_kernel_sizes_parse(s->lab.sizes, sizes), "option '--sizes'");
  DM_TRY(dm_cli_dimensions(s, DEFAULT_SIZE, mnk));
  sizes->count = 1;
  sizes->list[0] = (dm_kernel_size){mnk[0], mnk[1], mnk[2]};
  return DM_OK;
}

/* One size, and its record; a product that fails its verification is reported like any other. */
static dm_status bench_size(dm_run *run, const dm_call *call, dm_bench_multiply *bench,
                            const dm_kernel_size *size) {
  dm_record *record = NULL;
  bench->m = size->m;
  bench->n = size->n;
  bench->k = size->k;
  DM_TRY(dm_comm_agree(run->world, dm_record_new(call->verb->name, call->command, &record)));
  dm_status status = dm_bench_multiply_run(run, bench, record);
  if (!status || (status->code == DM_E_VERIFY && status->agreed)) {
    dm_status told = run->rank == 0 ? dm_cli_publish(call, record) : DM_OK;
    status = dm_status_first(status, dm_comm_agree(run->world, told));
  }
  dm_record_free(record);
  return status;
}

static dm_status bench_multiply(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)record;
  const dm_settings *s = &call->settings;
  const dm_kernel_sizes *sizes = shared;
  dm_bench_multiply bench = {
      .type = (dm_dtype)s->type,
      .type_c = dm_cli_given(s, "type-c") ? (dm_dtype)s->type_c : DM_DTYPE_NONE,
      .compute = (dm_compute)s->compute,
      .engine = dm_cli_engine(s),
      .verify = s->verify,
      .against_library = s->against_library,
      .against_local = s->against_local,
      .warmup = (int)s->warmup,
      .repetitions = (int)s->runs,
      .precision = s->precision,
      .limit = s->budget,
      .seed = (uint64_t)s->seed,
  };
  bench.engine.fill = s->fill;
  DM_TRY(dm_comm_agree(run->world, find_place(s, &bench)));
  for (int64_t i = 0; i < sizes->count; i++) DM_TRY(bench_size(run, call, &bench, &sizes->list[i]));
  return DM_OK;
}

int dm_cli_bench_multiply(dm_call *call) {
  dm_kernel_sizes sizes = {.count = 0};
  dm_status prepared = dm_cli_leads(call) ? find_sizes(call, &sizes) : DM_OK;
  return dm_cli_run_job(
      call, prepared,
      &(dm_work){.run = bench_multiply, .shared = &sizes, .bytes = sizeof sizes, .reports = true});
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
