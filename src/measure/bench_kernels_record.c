/* Results of the lab as records. */
#include <math.h>
#include <stdio.h>

#include "measure/bench_kernels.h"
#include "run/facts.h"

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
  dm_record_text(record, "kernel.tilings", NULL, "%s", r->tilings);
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
  dm_facts_record(r->device->id, false, record);
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

/* What was not timed has the same columns, and nothing in them. */
static void leave_empty(dm_kernel_result *r) {
  const dm_statistics none = {.median = NAN, .least = NAN, .most = NAN, .low = NAN, .high = NAN};
  dm_timing *t = &r->timing;
  t->kernel = t->yardstick = t->share = none;
  t->sensors = (dm_lab_sensors){NAN, NAN, NAN};
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
