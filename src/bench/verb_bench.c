#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "bench/bench.h"
#include "bench/bench_kernels.h"
#include "bench/kernel_choice.h"
#include "cli/gpus.h"
#include "cli/session.h"
#include "core/units.h"
#include "options/request.h"

enum { DEFAULT_SIZE = 2048, MOST_REPETITIONS = 1000 };
enum { FROM_HOST = 1, FROM_DEVICE = 2 }; /* as in the table */

/* auto leaves the choice to the planner: GPU memory as far as the shares fit and can be gathered
 * there. */
static dm_status find_place(const dm_call *call, dm_bench_multiply *bench) {
  const dm_settings *s = &call->settings;
  const dm_backend_ops *ops = dm_backend_auto();
  bench->from_host = call->own.from == FROM_HOST;
  bench->from_device = call->own.from == FROM_DEVICE;
  if (!bench->from_device) return DM_OK;
  if (s->backend != 0) DM_TRY(dm_backend_find(bench->engine.backend, &ops));
  if (ops->device_memory) return DM_OK;
  return dm_hint(
      dm_fail(DM_E_DEVICE, "--from device: the %s backend has no memory of its own", ops->name),
      "use --from host, or a build with CUDA on a node with a GPU");
}

/* The sizes to measure; at most one of the options may state them. */
static dm_status find_sizes(const dm_call *call, dm_kernel_sizes *sizes) {
  static const char *const stating[] = {"size", "m", "n", "k"};
  const bool listed = dm_cli_given(call, "sizes");
  int64_t mnk[3];
  for (int i = 0; i < 4 && listed; i++)
    if (dm_cli_given(call, stating[i]))
      return dm_fail(DM_E_USAGE, "--%s cannot be combined with --sizes", stating[i]);
  if (listed)
    return dm_context(dm_kernel_sizes_parse(call->own.bench.sizes, sizes), "option '--sizes'");
  DM_TRY(dm_cli_dimensions(call, DEFAULT_SIZE, mnk));
  sizes->count = 1;
  sizes->list[0] = (dm_kernel_size){mnk[0], mnk[1], mnk[2]};
  return DM_OK;
}

/* One size and its record; a product that fails its verification is reported like any other. */
static dm_status bench_size(dm_run *run, const dm_call *call, dm_bench_multiply *bench,
                            const dm_kernel_size *size) {
  dm_record *record = NULL;
  bench->size = *size;
  DM_TRY(dm_comm_agree(run->world, dm_record_new(call->verb->name, call->command, &record)));
  dm_status status = dm_bench_multiply_run(run, bench, record, NULL);
  const bool judged = status && status->code == DM_E_VERIFY && status->agreed;
  if (!status || judged) {
    dm_status reported = run->rank == 0 ? dm_cli_publish(call, record) : DM_OK;
    status = dm_status_first(status, dm_comm_agree(run->world, reported));
  }
  dm_record_free(record);
  return status;
}

/* All wishes except the sizes. */
static dm_bench_multiply wishes_of(const dm_call *call) {
  const dm_settings *s = &call->settings;
  const dm_equation equation = dm_request_equation(s);
  return (dm_bench_multiply){
      .type = (dm_dtype)s->type,
      .type_c = dm_cli_given(call, "type-c") ? (dm_dtype)s->type_c : DM_DTYPE_NONE,
      .compute = (int)s->compute,
      .accumulate = equation.accumulate,
      .accumulate_stated = equation.accumulate_stated,
      .engine = dm_request_engine(s),
      .verify = s->verify,
      .against_library = call->own.against_library,
      .warmup = (int)call->own.warmup,
      .repetitions = (int)call->own.runs,
      .precision = call->own.precision,
      .limit = call->own.budget,
      .seed = (uint64_t)call->own.seed,
      .check_seed = dm_request_check_seed(s),
  };
}

static dm_status bench_multiply(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)record;
  const dm_kernel_sizes *sizes = shared;
  dm_bench_multiply bench = wishes_of(call);
  DM_TRY(dm_comm_agree(run->world, find_place(call, &bench)));
  for (int64_t i = 0; i < sizes->count; i++) DM_TRY(bench_size(run, call, &bench, &sizes->list[i]));
  return DM_OK;
}

/* With the GPUs of --gpus, if it is given. RUN publishes records of its own if it has SHARED data,
 * of BYTES. */
static int run_job(dm_call *call, dm_status prepared,
                   dm_status (*run)(dm_run *, const dm_call *, void *, dm_record *), void *shared,
                   size_t bytes) {
  dm_gpu_choice gpus = {.ranks = 1};
  if (!prepared && dm_cli_ramp(call)) prepared = dm_cli_take_stated_gpus(call, &gpus);
  const dm_work work = {.run = run,
                        .shared = shared,
                        .bytes = bytes,
                        .reports = shared != NULL,
                        .threads = gpus.ranks};
  return dm_cli_run_job(call, prepared, &work);
}

int dm_bench_verb_multiply(dm_call *call) {
  dm_kernel_sizes sizes = {.count = 0};
  dm_status prepared = dm_cli_ramp(call) ? find_sizes(call, &sizes) : DM_OK;
  return run_job(call, prepared, bench_multiply, &sizes, sizeof sizes);
}

/* ---- scaling ---- */

static dm_status add_count(dm_bench_scale *scale, const char *word) {
  int64_t ranks;
  const int last = scale->count > 0 ? scale->counts[scale->count - 1] : 0;
  if (!dm_parse_count(word, &ranks) || ranks <= last || ranks > INT32_MAX)
    return dm_hint(dm_fail(DM_E_USAGE, "option '--ranks': '%s'", word),
                   "give ascending numbers of ranks, separated by commas, such as 1,2,4,8");
  if (scale->count == DM_SCALE_COUNTS)
    return dm_fail(DM_E_USAGE, "option '--ranks': more than %d", DM_SCALE_COUNTS);
  scale->counts[scale->count++] = (int)ranks;
  return DM_OK;
}

static dm_status add_series(dm_bench_scale *scale, const char *word) {
  for (int i = 0; i < DM_SCALE_SERIES; i++) {
    if (strcmp(word, dm_scale_series_name((dm_scale_series)i)) != 0) continue;
    scale->series[i] = true;
    return DM_OK;
  }
  return dm_fail(DM_E_USAGE, "option '--series': '%s' is not one of strong, memory, work", word);
}

static dm_status find_scale(const dm_call *call, dm_bench_scale *scale) {
  int64_t mnk[3];
  char word[96];
  DM_TRY(dm_cli_dimensions(call, DEFAULT_SIZE, mnk));
  const char *counts = call->own.sizes[0] ? call->own.sizes : NULL, *series = call->own.series;
  while (dm_next_word(&counts, ',', word)) DM_TRY(add_count(scale, word));
  while (dm_next_word(&series, ',', word)) DM_TRY(add_series(scale, word));
  scale->base.size = (dm_kernel_size){mnk[0], mnk[1], mnk[2]};
  return DM_OK;
}

static dm_status bench_scale(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)record;
  dm_bench_scale scale = *(const dm_bench_scale *)shared;
  const dm_kernel_size size = scale.base.size;
  scale.base = wishes_of(call);
  scale.base.size = size;
  if (!dm_cli_given(call, "time")) scale.base.limit = 10; /* for each measurement */
  DM_TRY(dm_comm_agree(run->world, find_place(call, &scale.base)));
  return dm_bench_scale_run(run, &scale, call);
}

int dm_bench_verb_scale(dm_call *call) {
  dm_bench_scale scale = {.count = 0};
  dm_status prepared = dm_cli_ramp(call) ? find_scale(call, &scale) : DM_OK;
  return run_job(call, prepared, bench_scale, &scale, sizeof scale);
}

/* ---- rates ---- */

static dm_status bench_rates(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)shared;
  const dm_settings *s = &call->settings;
  dm_bench_rates bench = {.engine = dm_request_engine(s)};
  snprintf(bench.output, sizeof bench.output, "%s", call->own.rates_file);
  snprintf(bench.files, sizeof bench.files, "%s", call->own.files);
  return dm_bench_rates_run(run, &bench, record);
}

int dm_bench_verb_rates(dm_call *call) {
  return run_job(call, DM_OK, bench_rates, NULL, 0);
}

/* ---- links ---- */

static dm_status read_links(const dm_call *call, dm_bench_links *wanted) {
  *wanted = (dm_bench_links){.repetitions = (int)call->own.repetitions};
  if (call->own.repetitions > MOST_REPETITIONS)
    return dm_fail(DM_E_USAGE, "option '--repetitions': at most %d", MOST_REPETITIONS);
  return dm_context(dm_bench_links_sizes(call->own.pieces, wanted), "option '--bytes'");
}

static dm_status bench_links(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  dm_bench_links *wanted = shared;
  (void)record;
  wanted->engine = dm_request_engine(&call->settings);
  return dm_bench_links_run(run, wanted, call);
}

int dm_bench_verb_links(dm_call *call) {
  dm_bench_links wanted = {.sizes = 0};
  dm_status prepared = dm_cli_ramp(call) ? read_links(call, &wanted) : DM_OK;
  return run_job(call, prepared, bench_links, &wanted, sizeof wanted);
}

/* ---- kernels ---- */

enum { MOST_PAD = 1 << 20 };

static dm_status read_wishes(const dm_call *call, dm_bench_kernels *wanted) {
  const dm_cli_bench *own = &call->own.bench;
  const dm_kernel_op op = own->op == 0 ? DM_KERNEL_OPS : (dm_kernel_op)(own->op - 1);
  *wanted = (dm_bench_kernels){.check_only = own->check,
                               .accumulate = own->accumulate,
                               .along_k = own->along_k,
                               .pad = own->pad,
                               .repetitions = (int)own->pairs,
                               .settle = own->settle,
                               .limit = own->limit,
                               .seed = (uint64_t)call->own.seed};
  if (own->pairs > MOST_REPETITIONS)
    return dm_fail(DM_E_USAGE, "more than %d repetitions", MOST_REPETITIONS);
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

static dm_status list(const dm_call *call, const bool chosen[DM_KERNEL_COUNT]) {
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

typedef struct listener {
  const dm_call *call;
  bool any;
  dm_kernel_result last;
} listener;

static dm_status report(void *context, const dm_kernel_result *result) {
  listener *l = context;
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
  listener l = {.call = call};
  dm_bench_kernels_sum sum;
  dm_status status = dm_bench_kernels_run(
      run, shared, &(dm_kernel_listener){.context = &l, .report = report}, &sum);
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
  if (!status && !dm_cli_ramp(call)) return 0; /* only one rank under mpirun */
  if (!status) status = dm_cli_open_reports(call);
  if (!status) status = list(call, wanted.chosen);
  return dm_cli_finish(call, status);
}
