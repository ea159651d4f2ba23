#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "bench/bench.h"
#include "bench/kernel_choice.h"
#include "bench/verbs.h"
#include "cli/session.h"
#include "core/units.h"
#include "options/request.h"

enum {
  DEFAULT_SIZE = 2048,
  MOST_REPETITIONS = 1000,
  FROM_HOST = 1,
  FROM_DEVICE = 2,
  FROM_FILE = 3
}; /* as in the table */

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

static bool is_from_file(const dm_call *call) {
  return call->own.from == FROM_FILE;
}

/* Rejects options that apply only to files, or only to other operands. */
static dm_status check_from_file(const dm_call *call) {
  static const char *const files[] = {
      "directory",  "chunk",   "deflate",  "shuffle",    "cold",
      "io-threads", "read-by", "write-by", "checkpoint", "checkpoint-interval"};
  static const char *const others[] = {"against-library", "against-one", "overlap", "fill",
                                       "precision"};
  for (size_t i = 0; i < sizeof files / sizeof files[0] && !is_from_file(call); i++)
    if (dm_cli_given(call, files[i]))
      return dm_hint(dm_fail(DM_E_USAGE, "--%s is for matrices in files", files[i]),
                     "--from file measures those");
  for (size_t i = 0; i < sizeof others / sizeof others[0] && is_from_file(call); i++)
    if (dm_cli_given(call, others[i]))
      return dm_fail(DM_E_USAGE, "--%s cannot be combined with --from file", others[i]);
  return DM_OK;
}

/* The sizes to measure; at most one of the options may state them. */
static dm_status find_sizes(const dm_call *call, dm_kernel_sizes *sizes) {
  static const char *const ways[] = {"sizes", "fill", "size", "m", "n", "k"};
  int64_t mnk[3];
  const int first = dm_cli_given(call, "sizes") ? 0 : 1;
  DM_TRY(check_from_file(call));
  for (size_t i = first + 1; i < sizeof ways / sizeof ways[0] && dm_cli_given(call, ways[first]);
       i++)
    if (dm_cli_given(call, ways[i]))
      return dm_fail(DM_E_USAGE, "--%s cannot be combined with --%s", ways[i], ways[first]);
  if (first == 0)
    return dm_context(dm_kernel_sizes_parse(call->own.bench.sizes, sizes), "option '--sizes'");
  DM_TRY(dm_cli_dimensions(call, DEFAULT_SIZE, mnk));
  sizes->count = 1;
  sizes->list[0] = (dm_kernel_size){mnk[0], mnk[1], mnk[2]};
  return DM_OK;
}

static dm_status bench_product(dm_run *run, const dm_call *call, const dm_bench_multiply *product,
                               dm_record *record) {
  const dm_settings *s = &call->settings;
  if (!is_from_file(call)) return dm_bench_multiply_run(run, product, record, NULL);
  dm_bench_files bench = {.product = *product,
                          .form = dm_request_form(s),
                          .cold = call->own.cold,
                          .checkpoint = s->checkpoint,
                          .checkpoint_interval = s->checkpoint_interval};
  snprintf(bench.directory, sizeof bench.directory, "%s", call->own.directory);
  return dm_bench_files_run(run, &bench, record);
}

/* One size and its record; a product that fails its verification is reported like any other. */
static dm_status bench_size(dm_run *run, const dm_call *call, dm_bench_multiply *bench,
                            const dm_kernel_size *size) {
  dm_record *record = NULL;
  bench->m = size->m;
  bench->n = size->n;
  bench->k = size->k;
  DM_TRY(dm_comm_agree(run->world, dm_record_new(call->verb->name, call->command, &record)));
  dm_status status = bench_product(run, call, bench, record);
  const bool judged = status && status->code == DM_E_VERIFY && status->agreed;
  if (!status || (judged && !is_from_file(call))) {
    dm_status told = run->rank == 0 ? dm_cli_publish(call, record) : DM_OK;
    status = dm_status_first(status, dm_comm_agree(run->world, told));
  }
  dm_record_free(record);
  return status;
}

/* All wishes except the sizes. */
static dm_bench_multiply wishes_of(const dm_call *call) {
  const dm_settings *s = &call->settings;
  return (dm_bench_multiply){
      .type = (dm_dtype)s->type,
      .type_c = dm_cli_given(call, "type-c") ? (dm_dtype)s->type_c : DM_DTYPE_NONE,
      .compute = (int)s->compute,
      .engine = dm_request_engine(s),
      .verify = s->verify,
      .against_library = call->own.against_library,
      .against_one = call->own.against_one,
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
  bench.engine.fill = call->own.fill;
  DM_TRY(dm_comm_agree(run->world, find_place(call, &bench)));
  for (int64_t i = 0; i < sizes->count; i++) DM_TRY(bench_size(run, call, &bench, &sizes->list[i]));
  return DM_OK;
}

int dm_bench_verb_multiply(dm_call *call) {
  dm_kernel_sizes sizes = {.count = 0};
  dm_status prepared = dm_cli_ramp(call) ? find_sizes(call, &sizes) : DM_OK;
  return dm_cli_run_job(
      call, prepared,
      &(dm_work){.run = bench_multiply, .shared = &sizes, .bytes = sizeof sizes, .reports = true});
}

/* ---- scaling ---- */

/* Calls ADD with each word of LIST; commas separate the words. */
static dm_status each_word(const char *list, dm_status (*add)(dm_bench_scale *, const char *),
                           dm_bench_scale *scale) {
  for (const char *at = list; *at;) {
    char word[32];
    const size_t length = strcspn(at, ",");
    if (length >= sizeof word) return add(scale, at); /* refuses it */
    snprintf(word, sizeof word, "%.*s", (int)length, at);
    DM_TRY(add(scale, word));
    if (strcmp(at + length, ",") == 0) return add(scale, ""); /* add rejects the empty word */
    at += length + (at[length] == ',');
  }
  return DM_OK;
}

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
  static const char *const stating[] = {"size", "m", "n", "k"};
  int64_t mnk[3];
  for (int i = 0; i < 4 && dm_cli_given(call, "fill"); i++)
    if (dm_cli_given(call, stating[i]))
      return dm_fail(DM_E_USAGE, "--%s cannot be combined with --fill", stating[i]);
  DM_TRY(dm_cli_dimensions(call, DEFAULT_SIZE, mnk));
  DM_TRY(each_word(call->own.sizes, add_count, scale));
  DM_TRY(each_word(call->own.series, add_series, scale));
  scale->base.m = mnk[0];
  scale->base.n = mnk[1];
  scale->base.k = mnk[2];
  return DM_OK;
}

static dm_status publish(void *context, dm_record *record) {
  return dm_cli_publish(context, record);
}

static dm_status bench_scale(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)record;
  dm_bench_scale scale = *(const dm_bench_scale *)shared;
  const dm_bench_multiply base = scale.base;
  scale.base = wishes_of(call);
  scale.base.m = base.m;
  scale.base.n = base.n;
  scale.base.k = base.k;
  scale.base.engine.fill = call->own.fill;
  if (!dm_cli_given(call, "time")) scale.base.limit = 10; /* for each measurement */
  DM_TRY(dm_comm_agree(run->world, find_place(call, &scale.base)));
  return dm_bench_scale_run(run, &scale, publish, (void *)call);
}

int dm_bench_verb_scale(dm_call *call) {
  dm_bench_scale scale = {.count = 0};
  dm_status prepared = dm_cli_ramp(call) ? find_scale(call, &scale) : DM_OK;
  return dm_cli_run_job(
      call, prepared,
      &(dm_work){.run = bench_scale, .shared = &scale, .bytes = sizeof scale, .reports = true});
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
  return dm_cli_run_job(call, DM_OK, &(dm_work){.run = bench_rates});
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
  return dm_bench_links_run(run, wanted, publish, (void *)call);
}

int dm_bench_verb_links(dm_call *call) {
  dm_bench_links wanted = {.sizes = 0};
  dm_status prepared = dm_cli_ramp(call) ? read_links(call, &wanted) : DM_OK;
  return dm_cli_run_job(
      call, prepared,
      &(dm_work){.run = bench_links, .shared = &wanted, .bytes = sizeof wanted, .reports = true});
}
