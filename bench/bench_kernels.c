#include "bench/bench_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/kernel_list.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "run/facts.h"

typedef struct bench_kernels_bench {
  dm_run *run;
  const dm_bench_kernels *wanted;
  const dm_kernel_listener *listener;
  dm_bench_kernels_sum *sum;
  dm_backend *backend;
  dm_harness *harness;
  dm_device device;
  dm_roof roof;
  bool runs[DM_KERNEL_COUNT];           /* selected kernels that can run here */
  dm_edge_check edges[DM_KERNEL_COUNT]; /* for the current type */
  double *seconds;                      /* pairs of one kernel */
} bench_kernels_bench;

bool dm_kernel_result_pass(const dm_kernel_result *result) {
  return result->edges.failed == 0 && result->check.pass;
}

static bool bench_kernels_is_wanted(const bench_kernels_bench *b, const dm_kernel *kernel,
                                    dm_operand type) {
  return b->runs[kernel->id] && dm_kernel_takes(kernel, type);
}

/* NULL, or the reason why KERNEL cannot run here. */
static dm_status why_not(bench_kernels_bench *b, const dm_kernel *kernel) {
  const int capability = b->roof.limits.capability;
  char text[32];
  if (capability < kernel->first || capability > kernel->last)
    return dm_fail(DM_E_USAGE, "it runs on compute capability %s, this is %d.%d",
                   dm_kernel_capability(kernel, text), capability / 10, capability % 10);
  return dm_harness_ready(b->harness, kernel);
}

/* Leaves out, with a warning, kernels that cannot run here; an error if none is left. */
static dm_status find_kernels(bench_kernels_bench *b) {
  dm_status first = DM_OK;
  bool any = false;
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_backend_registry()[i];
    if (!b->wanted->chosen[i]) continue;
    dm_status missing = dm_context(why_not(b, kernel), "kernel %s", kernel->name);
    b->runs[i] = !missing;
    any |= !missing;
    if (missing) dm_log_line(&b->run->log, DM_LOG_WARNING, "%s; it is left out", missing->message);
    first = dm_status_first(first, missing);
  }
  if (!any) return first;
  dm_status_free(first);
  return DM_OK;
}

static dm_status bench_kernels_open(bench_kernels_bench *b) {
  const dm_backend_ops *ops = dm_backend_for_gpus();
  void *memory;
  if (b->run->ranks > 1)
    return dm_hint(
        dm_fail(DM_E_USAGE, "bench kernels measures one GPU, not %d ranks", b->run->ranks),
        "start it without mpirun");
  if (ops->not_built)
    return dm_hint(dm_fail(DM_E_DEVICE, "bench kernels needs a GPU: %s", ops->not_built),
                   "damier bench kernels --list works everywhere");
  if (dm_backend_device_count(ops) == 0)
    return dm_hint(dm_fail(DM_E_DEVICE, "bench kernels needs a GPU, and this process sees none"),
                   "nvidia-smi lists the GPUs; damier bench kernels --list works everywhere");
  const dm_backend_config config = {.local_ranks = 1, .kernel = "auto"};
  DM_TRY(dm_backend_open(ops, &config, &b->backend));
  DM_TRY(dm_backend_device(b->backend, &b->device));
  dm_gpu_facts_ask(&b->run->facts, b->device.id);
  DM_TRY(dm_harness_open(b->backend, &b->harness));
  DM_TRY(dm_harness_limits_of(b->backend, &b->roof.limits));
  DM_TRY(find_kernels(b));
  DM_TRY(dm_buffer_zeroed(2 * (int64_t)b->wanted->repetitions, sizeof(double), &memory));
  b->seconds = memory;
  return b->wanted->check_only ? DM_OK : dm_measure_roof(b->backend, b->harness, &b->roof);
}

static dm_status check_edges(bench_kernels_bench *b, dm_operand type) {
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_backend_registry()[i];
    if (!bench_kernels_is_wanted(b, kernel, type)) continue;
    DM_TRY(dm_check_edges(b->backend, b->harness, kernel, type, b->wanted->seed, &b->edges[i]));
    if (b->edges[i].failed > 0)
      dm_log_line(&b->run->log, DM_LOG_WARNING, "%s, %s: %d of %d small products are wrong: %s",
                  kernel->name, dm_operand_name(type), b->edges[i].failed, b->edges[i].trials,
                  b->edges[i].first);
  }
  return DM_OK;
}

static dm_status bench_kernels_examine(bench_kernels_bench *b, const dm_workload *workload,
                                       const dm_size_check *expected, const dm_kernel *kernel) {
  dm_kernel_result r = {.kernel = kernel,
                        .type = workload->type,
                        .size = workload->size,
                        .wanted = b->wanted,
                        .device = &b->device,
                        .roof = &b->roof,
                        .run = b->run,
                        .edges = b->edges[kernel->id],
                        .check = *expected};
  r.load = dm_load_of(workload->op, workload->type, workload->size, workload->works[0].accumulate);
  r.timing.kernel_s = b->seconds;
  r.timing.yardstick_s = b->seconds + b->wanted->repetitions;
  DM_TRY(dm_check_size(workload, kernel, &r.check));
  const bool pass = dm_kernel_result_pass(&r);
  if (pass && !b->wanted->check_only) {
    r.bound_s = dm_roof_bound(&b->roof, workload->op, workload->type, r.load, &r.bound_by);
    DM_TRY(dm_time_kernel(workload, b->wanted, kernel, &r.timing));
  }
  b->sum->results++;
  b->sum->failed += !pass;
  b->sum->timed += r.timing.done;
  return b->listener->report(b->listener->context, &r);
}

/* Measures all kernels of one operation, on the same matrices. */
static dm_status examine_all(bench_kernels_bench *b, dm_workload *workload) {
  dm_size_check expected = {0};
  const int64_t sets = b->wanted->check_only ? 1 : 0;
  DM_TRY(dm_workload_open(b->wanted, &b->roof.limits, sets, workload));
  DM_TRY(dm_expect_size(workload, &expected));
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_backend_registry()[i];
    if (kernel->op != workload->op || !bench_kernels_is_wanted(b, kernel, workload->type)) continue;
    DM_TRY(dm_context(bench_kernels_examine(b, workload, &expected, kernel), "kernel %s, %s",
                      kernel->name, dm_operand_name(workload->type)));
  }
  return DM_OK;
}

static bool any_of(const bench_kernels_bench *b, dm_kernel_op op, dm_operand type) {
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_backend_registry()[i];
    if (kernel->op == op && bench_kernels_is_wanted(b, kernel, type)) return true;
  }
  return false;
}

static dm_status examine_type(bench_kernels_bench *b, dm_operand type) {
  DM_TRY(check_edges(b, type));
  for (dm_kernel_op op = DM_GEMM; op < DM_KERNEL_OPS; op++) {
    if (!any_of(b, op, type)) continue;
    for (int64_t i = 0; i < b->wanted->sizes.count; i++) {
      dm_workload workload = {.backend = b->backend,
                              .harness = b->harness,
                              .op = op,
                              .type = type,
                              .size = b->wanted->sizes.list[i],
                              .pad = b->wanted->pad,
                              .seed = b->wanted->seed};
      dm_status status = examine_all(b, &workload);
      dm_workload_close(&workload);
      DM_TRY(status);
    }
  }
  return DM_OK;
}

static dm_status bench_kernels_work(bench_kernels_bench *b) {
  DM_TRY(bench_kernels_open(b));
  for (int i = 0; i < DM_KERNEL_TYPES; i++)
    if (b->wanted->types & 1u << dm_kernel_types[i]) DM_TRY(examine_type(b, dm_kernel_types[i]));
  if (b->sum->failed > 0)
    return dm_hint(
        dm_fail(DM_E_VERIFY, "%d of %d checks of kernels failed", b->sum->failed, b->sum->results),
        "the table says which; those were not timed");
  return DM_OK;
}

dm_status dm_bench_kernels_run(dm_run *run, const dm_bench_kernels *wanted,
                               const dm_kernel_listener *listener, dm_bench_kernels_sum *sum) {
  bench_kernels_bench *b = calloc(1, sizeof *b);
  if (!b) return dm_fail(DM_E_FIT, "no memory for the benchmark");
  *b = (bench_kernels_bench){.run = run, .wanted = wanted, .listener = listener, .sum = sum};
  memset(sum, 0, sizeof *sum);
  dm_status status = bench_kernels_work(b);
  dm_harness_close(b->harness);
  dm_backend_close(b->backend);
  free(b->seconds);
  free(b);
  return dm_comm_agree(run->world, status);
}

/* ---- records ---- */

char *dm_kernel_capability(const dm_kernel *kernel, char text[32]) {
  const int first = kernel->first, last = kernel->last;
  if (first == 0)
    snprintf(text, 32, "any");
  else
    snprintf(text, 32, "%d.%d%s", first / 10, first % 10, last == first ? "" : " and later");
  return text;
}

static const char *sums_text(const dm_kernel *kernel) {
  static const char *const names[] = {[DM_SUM_CHAIN] = "chain",
                                      [DM_SUM_COMPENSATED] = "compensated",
                                      [DM_SUM_GROUPED] = "grouped",
                                      [DM_SUM_ANY] = "any"};
  if (kernel->op != DM_GEMM) return "";
  const bool both =
      kernel->types & DM_KERNEL_F64 && dm_kernel_sums_of(kernel, DM_F64) != kernel->sums;
  return both ? "grouped, in f64 a chain" : names[kernel->sums];
}

void dm_kernel_describe(const dm_kernel *kernel, dm_record *record) {
  char text[64];
  dm_record_text(record, "kernel.name", NULL, "%s", kernel->name);
  dm_record_text(record, "kernel.op", NULL, "%s", dm_kernel_op_name(kernel->op));
  dm_record_text(record, "kernel.types", NULL, "%s", dm_kernel_types_text(kernel->types, text));
  dm_record_text(record, "kernel.capability", NULL, "%s", dm_kernel_capability(kernel, text));
  dm_record_text(record, "kernel.sums", NULL, "%s", sums_text(kernel));
  dm_record_text(record, "kernel.about", NULL, "%s", kernel->about);
  dm_record_text(record, "kernel.limits", NULL, "%s", kernel->limits ? kernel->limits : "");
}

static void real(dm_record *record, const char *path, double value) {
  dm_record_real(record, path, NULL, DM_SHOWN_PLAIN, value);
}

static void integer(dm_record *record, const char *path, int64_t value) {
  dm_record_integer(record, path, NULL, DM_SHOWN_PLAIN, value);
}

static void record_problem(const dm_kernel_result *r, dm_record *record) {
  const dm_kernel_size *s = &r->size;
  dm_record_text(record, "kernel.name", NULL, "%s", r->kernel->name);
  dm_record_text(record, "kernel.op", NULL, "%s", dm_kernel_op_name(r->kernel->op));
  dm_record_text(record, "kernel.type", NULL, "%s", dm_operand_name(r->type));
  dm_record_text(record, "problem.shape", NULL, "%lld x %lld x %lld", (long long)s->m,
                 (long long)s->n, (long long)s->k);
  integer(record, "problem.m", s->m);
  integer(record, "problem.n", s->n);
  integer(record, "problem.k", s->k);
  integer(record, "problem.pad", r->wanted->pad);
  dm_record_flag(record, "problem.accumulate", NULL, r->wanted->accumulate);
  real(record, "problem.flops", r->load.flops);
  real(record, "problem.bytes", r->load.bytes);
  dm_record_text(record, "machine.device", NULL, "%s", r->device->name);
  dm_record_text(record, "machine.device_id", NULL, "%s", r->device->id);
  dm_record_text(record, "machine.library", NULL, "%s", r->device->library);
  dm_record_text(record, "machine.host", NULL, "%s", dm_comm_host(r->run->world));
  dm_facts_record(r->run->facts, false, record);
  integer(record, "machine.capability", r->roof->limits.capability);
  integer(record, "machine.processors", r->roof->limits.processors);
  real(record, "machine.clock_hz", r->roof->limits.clock);
}

static void record_check(const dm_kernel_result *r, dm_record *record) {
  const dm_size_check *c = &r->check;
  dm_record_text(record, "check.verdict", NULL, "%s", dm_kernel_result_pass(r) ? "PASS" : "FAIL");
  dm_record_text(record, "check.reference", NULL, "compensated sums in f64");
  integer(record, "check.edge_products", r->edges.trials);
  integer(record, "check.edge_failures", r->edges.failed);
  dm_record_text(record, "check.first_failure", NULL, "%s", r->edges.first);
  dm_record_text(record, "check.rows", NULL, "%s", c->rows < c->of_rows ? "sample" : "all");
  integer(record, "check.rows_checked", c->rows);
  real(record, "check.error_max", c->most);
  real(record, "check.error_median", c->median);
  real(record, "check.error_bound", c->bound);
}

static void record_timing(const dm_kernel_result *r, dm_record *record) {
  const dm_timing *t = &r->timing;
  dm_record_text(record, "timing.by", NULL, "%s", !t->done ? "" : t->graph ? "graph" : "launches");
  integer(record, "timing.launches", t->launches);
  integer(record, "timing.yardstick_launches", t->yardstick_launches);
  integer(record, "timing.sets", t->sets);
  real(record, "timing.warmup_s", t->warmup);
  dm_record_flag(record, "timing.settled", NULL, t->settled);
  integer(record, "timing.pairs", t->pairs);
  dm_record_series(record, "repetitions.kernel_s", t->kernel_s, t->pairs);
  dm_record_series(record, "repetitions.yardstick_s", t->yardstick_s, t->pairs);
  dm_record_statistics(record, "times.kernel", "_s", NULL, DM_SHOWN_PLAIN, &t->kernel);
  dm_record_statistics(record, "times.yardstick", "_s", NULL, DM_SHOWN_PLAIN, &t->yardstick);
  real(record, "times.spread", (t->kernel.most - t->kernel.least) / t->kernel.median);
  real(record, "rates.flops", r->load.flops / t->kernel.median);
  real(record, "rates.bytes", r->load.bytes / t->kernel.median);
  dm_record_text(record, "yardstick.name", NULL, "%s",
                 dm_kernel_yardstick(r->kernel->op, r->wanted->along_k));
  dm_record_statistics(record, "yardstick.share", "", NULL, DM_SHOWN_PLAIN, &t->share);
  real(record, "sensors.clock_hz", t->sensors.clock);
  real(record, "sensors.power_w", t->sensors.power);
  real(record, "sensors.temperature_c", t->sensors.temperature);
}

static void record_roof(const dm_kernel_result *r, dm_record *record) {
  const double peak = dm_roof_peak(&r->roof->limits, r->type);
  real(record, "roof.intensity", r->load.flops / r->load.bytes);
  real(record, "roof.peak_flops", peak > 0.0 ? peak : (double)NAN);
  real(record, "roof.copy_bytes", r->roof->copy > 0.0 ? r->roof->copy : (double)NAN);
  real(record, "roof.read_bytes", r->roof->read > 0.0 ? r->roof->read : (double)NAN);
  real(record, "roof.bound_s", r->bound_s);
  dm_record_text(record, "roof.bound_by", NULL, "%s", r->bound_by);
  real(record, "roof.share", r->bound_s / r->timing.kernel.median);
}

/* Columns for kernels that were not timed: the same, empty. */
static void leave_empty(dm_kernel_result *r) {
  const dm_statistics none = {.median = NAN, .least = NAN, .most = NAN, .low = NAN, .high = NAN};
  dm_timing *t = &r->timing;
  t->kernel = t->yardstick = t->share = none;
  t->sensors = (dm_harness_sensors){NAN, NAN, NAN};
  r->bound_s = NAN;
  r->bound_by = "";
}

void dm_kernel_result_record(const dm_kernel_result *result, dm_record *record) {
  dm_kernel_result r = *result;
  if (!r.timing.done) leave_empty(&r);
  record_problem(&r, record);
  record_check(&r, record);
  record_timing(&r, record);
  record_roof(&r, record);
}
