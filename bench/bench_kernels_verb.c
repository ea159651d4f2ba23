/* The verb of bench_kernels.h: its options, and the table of results. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "bench/bench.h"
#include "bench/bench_kernels.h"
#include "bench/kernel_choice.h"
#include "cli/session.h"
#include "core/units.h"

enum { MOST_PAD = 1 << 20 };

static dm_status read_wishes(const dm_call *call, dm_bench_kernels *wanted) {
  const dm_bench_settings *own = &call->own.bench;
  const dm_kernel_op op = own->op == 0 ? DM_KERNEL_OPS : (dm_kernel_op)(own->op - 1);
  *wanted = (dm_bench_kernels){.check_only = own->check,
                               .accumulate = own->accumulate,
                               .along_k = own->along_k,
                               .pad = own->pad,
                               .repetitions = (int)own->pairs,
                               .settle = own->settle,
                               .limit = own->limit,
                               .seed = (uint64_t)call->own.seed};
  if (own->pairs > DM_BENCH_MOST)
    return dm_fail(DM_E_USAGE, "more than %d repetitions", DM_BENCH_MOST);
  if (own->pad > MOST_PAD) return dm_fail(DM_E_USAGE, "more than %d elements of padding", MOST_PAD);
  DM_TRY(dm_context(dm_kernel_types_parse(own->types, &wanted->types), "option '--type'"));
  DM_TRY(dm_context(dm_kernel_sizes_parse(own->sizes, &wanted->sizes), "option '--sizes'"));
  return dm_kernels_choose(own->kernels, op, wanted->types, wanted->chosen);
}

/* ---- tables ---- */

enum { NAME_WIDTH = 26 };

static bool same_group(const dm_kernel_result *a, const dm_kernel_result *b) {
  return a->kernel->op == b->kernel->op && a->type == b->type &&
         memcmp(&a->size, &b->size, sizeof a->size) == 0;
}

static void print_title(const dm_kernel_result *r, FILE *out) {
  const dm_kernel_size *s = &r->size;
  fprintf(out, "\n%s %s, %lld x %lld", dm_kernel_op_name(r->kernel->op), dm_operand_name(r->type),
          (long long)s->m, (long long)s->n);
  if (r->kernel->op == DM_GEMM) fprintf(out, " x %lld", (long long)s->k);
  if (r->wanted->pad > 0) fprintf(out, ", rows padded by %lld", (long long)r->wanted->pad);
  if (r->kernel->op == DM_GEMM && r->wanted->accumulate) fputs(", C += A B", out);
  if (r->kernel->op == DM_GEMM && r->wanted->along_k) fputs(", cublas with B along k", out);
  fputs(r->check.rows < r->check.of_rows ? ", checked in a sample of rows\n" : "\n", out);
  fprintf(out, "%-*s  %-5s %9s %9s", NAME_WIDTH, "kernel", "check", "error", "of limit");
  if (r->wanted->check_only) {
    fputc('\n', out);
    return;
  }
  fprintf(out, " %10s %16s %7s [%6s, %6s] %8s %5s %5s %4s %s\n", "time", "rate",
          dm_kernel_yardstick(r->kernel->op, false), "95 %", "", "of bound", "MHz", "W", "C",
          "timed by");
}

/* VALUE in WIDTH characters, or a dash if it is unknown. */
static void print_number(double value, int width, int digits, FILE *out) {
  if (isfinite(value))
    fprintf(out, " %*.*f", width, digits, value);
  else
    fprintf(out, " %*s", width, "-");
}

static void print_timing(const dm_kernel_result *r, FILE *out) {
  const dm_timing *t = &r->timing;
  char time[32], rate[32];
  if (r->kernel->op == DM_GEMM)
    dm_format_flops(r->load.flops / t->kernel.median, rate);
  else
    dm_format_rate(r->load.bytes / t->kernel.median, rate);
  fprintf(out, " %10s %16s %7.4f [%6.4f, %6.4f]", dm_format_seconds(t->kernel.median, time), rate,
          t->share.median, t->share.low, t->share.high);
  print_number(100.0 * r->bound_s / t->kernel.median, 6, 1, out);
  fputs(isfinite(r->bound_s) ? " %" : "  ", out);
  print_number(1e-6 * t->sensors.clock, 5, 0, out);
  print_number(t->sensors.power, 5, 0, out);
  print_number(t->sensors.temperature, 4, 0, out);
  fprintf(out, " %s%s", t->graph ? "graph" : "launches", t->settled ? "" : ", not settled");
}

static void print_kernel(const dm_kernel_result *r, const dm_kernel_result *last, FILE *out) {
  if (!last || !same_group(r, last)) print_title(r, out);
  const double of_limit = r->check.most == 0.0 ? 0.0 : r->check.most / r->check.bound;
  fprintf(out, "%-*s  %-5s %9.3g %9.2g", NAME_WIDTH, r->kernel->name,
          dm_kernel_result_pass(r) ? "ok" : "WRONG", r->check.most, of_limit);
  if (r->timing.done) print_timing(r, out);
  fputc('\n', out);
  fflush(out);
}

static void print_kernel_list(const bool chosen[DM_KERNEL_COUNT], FILE *out) {
  fprintf(out, "%-*s  %-9s %-34s %-13s %s\n", NAME_WIDTH, "kernel", "op", "types", "capability",
          "description");
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_backend_registry()[i];
    char types[64], capability[32];
    if (!chosen[i]) continue;
    const char *limits = kernel->limits ? kernel->limits : "";
    fprintf(out, "%-*s  %-9s %-34s %-13s %s%s%s\n", NAME_WIDTH, kernel->name,
            dm_kernel_op_name(kernel->op), dm_kernel_types_text(kernel->types, types),
            dm_kernel_capability(kernel, capability), kernel->about, limits[0] ? "; " : "", limits);
  }
}

/* ---- --list ---- */

static dm_status bench_kernels_list(const dm_call *call, const bool chosen[DM_KERNEL_COUNT]) {
  int count = 0;
  for (int i = 0; i < DM_KERNEL_COUNT; i++) count += chosen[i];
  if (dm_cli_level(call) > DM_LOG_WARNING) print_kernel_list(chosen, dm_cli_out(call));
  if (dm_cli_level(call) > DM_LOG_ERROR)
    fprintf(dm_cli_out(call), "damier: bench kernels listed=%d\n", count);
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    dm_record *record;
    if (!chosen[i]) continue;
    DM_TRY(dm_record_new(call->verb->name, call->command, &record));
    dm_kernel_describe(&dm_backend_registry()[i], record);
    dm_status status = dm_cli_report(call, record);
    dm_record_free(record);
    DM_TRY(status);
  }
  return DM_OK;
}

/* ---- checking and measuring ---- */

typedef struct bench_kernels_listener {
  const dm_call *call;
  bool any;
  dm_kernel_result last;
} bench_kernels_listener;

static dm_status bench_kernels_report(void *context, const dm_kernel_result *result) {
  bench_kernels_listener *l = context;
  dm_record *record;
  if (dm_cli_level(l->call) > DM_LOG_WARNING)
    print_kernel(result, l->any ? &l->last : NULL, dm_cli_out(l->call));
  l->any = true;
  l->last = *result;
  DM_TRY(dm_record_new(l->call->verb->name, l->call->command, &record));
  dm_kernel_result_record(result, record);
  dm_status status = dm_cli_report(l->call, record);
  dm_record_free(record);
  return status;
}

static dm_status bench_kernels(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)record;
  bench_kernels_listener l = {.call = call};
  dm_bench_kernels_sum sum;
  dm_status status = dm_bench_kernels_run(
      run, shared, &(dm_kernel_listener){.context = &l, .report = bench_kernels_report}, &sum);
  if (status && status->code != DM_E_VERIFY) return status;
  FILE *out = dm_cli_out(call);
  if (dm_cli_level(call) > DM_LOG_ERROR)
    fprintf(out, "damier: bench kernels results=%d timed=%d failed=%d %s\n", sum.results, sum.timed,
            sum.failed, sum.failed > 0 ? "FAIL" : "PASS");
  if (fflush(out) != 0 || ferror(out))
    status = dm_status_first(
        status, dm_fail(DM_E_IO, "the report could not be written to standard output"));
  return status;
}

int dm_bench_verb_kernels(dm_call *call) {
  dm_bench_kernels wanted;
  dm_status status = read_wishes(call, &wanted);
  if (!call->own.bench.list)
    return dm_cli_run_job(
        call, status,
        &(dm_work){
            .run = bench_kernels, .shared = &wanted, .bytes = sizeof wanted, .reports = true});
  if (!status && !dm_cli_speaks(call)) return 0; /* only one rank under mpirun */
  if (!status) status = dm_cli_open_reports(call);
  if (!status) status = bench_kernels_list(call, wanted.chosen);
  return dm_cli_finish(call, status);
}
