/* bench_multiply: the multiplication alone, on generated matrices in memory: the pipeline opens the
 * product, here it is repeated and timed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/backend.h"
#include "backend/gpu_list.h"
#include "bench/bench.h"
#include "bench/kernel_choice.h"
#include "cli/session.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/element.h"
#include "options/request.h"
#include "plan/partition.h"
#include "plan/tiles.h"
#include "product/measured.h"
#include "run/record.h"

/* ---- one plain library call for a rank's whole block of C, the baseline for products ---- */

/* The parts of op(A) and op(B) for the block, whole, in the backend's memory. */
typedef struct dm_bench_library {
  dm_view a, b;
  bool owned;
} dm_bench_library;

static dm_status bench_whole(const dm_rank_state *local, dm_range rows, dm_range cols,
                             const dm_generator *generator, dm_view *view) {
  const dm_dtype work = local->plan->problem.work;
  const dm_space space = local->backend->ops->device_memory ? DM_DEVICE : DM_HOST;
  const int64_t stride = dm_device_stride(dm_range_size(cols), work); /* as in panels */
  int64_t bytes;
  void *memory;
  DM_TRY(dm_bytes_of(dm_range_size(rows), stride, dm_dtype_size(work), &bytes));
  DM_TRY(dm_backend_alloc(local->backend, space, bytes, &memory));
  *view = dm_view_strided(memory, work, space, dm_range_size(rows), dm_range_size(cols), stride);
  return dm_backend_fill(local->backend, *view, generator, rows.begin, cols.begin);
}

/* Uses the shares on one rank with one panel; else allocates memory beside the plan's and fills it
 * with GENERATORS of A and B. DM_E_FIT: too little memory. */
static dm_status dm_bench_library_open(const dm_rank_state *local, const dm_generator generators[2],
                                       dm_bench_library *library) {
  const dm_plan *plan = local->plan;
  *library = (dm_bench_library){0};
  if (local->coords.idle) return DM_OK;
  if (dm_plan_used(plan) == 1 && plan->panels == 1 && !dm_plan_uploads_a(plan) &&
      !dm_plan_uploads_b(plan)) {
    library->a = dm_rank_piece(local, DM_A, 0);
    library->b = dm_rank_piece(local, DM_B, 0);
    return DM_OK;
  }
  const dm_range depth = dm_plan_layer_k(plan, local->coords.l);
  library->owned = true;
  DM_TRY(bench_whole(local, local->rows, depth, &generators[DM_A], &library->a));
  return bench_whole(local, depth, local->cols, &generators[DM_B], &library->b);
}

static void dm_bench_library_close(const dm_rank_state *local, dm_bench_library *library) {
  if (!library->owned) return;
  dm_backend_release(local->backend, library->a.space, library->a.base);
  dm_backend_release(local->backend, library->b.space, library->b.base);
  library->owned = false;
}

/* Libraries can also round products of 16-bit numbers to their type. */
static dm_view result_of(const dm_rank_state *local, dm_view narrow) {
  const bool fits = narrow.base && narrow.space == local->c.space && local->plan->pk == 1 &&
                    narrow.dtype == local->plan->problem.work;
  return fits ? narrow : local->c;
}

/* Collective: seconds of the slowest rank while all work. Afterwards C holds the product of these
 * ranks' layers; or NARROW does, if the library rounds it to the operands' type and C has that
 * type. */
static dm_status dm_bench_library_run(const dm_rank_state *local, const dm_bench_library *library,
                                      dm_view narrow, double *seconds) {
  *seconds = 0.0;
  DM_TRY(dm_comm_barrier(local->run->world));
  dm_status status = DM_OK;
  if (!local->coords.idle && !dm_view_is_empty(library->a))
    status = dm_backend_library_gemm(local->backend, result_of(local, narrow), library->a,
                                     library->b, seconds);
  DM_TRY(dm_comm_agree(local->run->world, status));
  return dm_comm_max_f64(local->run->world, seconds, 1);
}

/* ---- the benchmark ---- */

/* If the number of repetitions is not set: the least for a narrow interval, and the most; the
 * fewest if time is up. */
enum { BENCH_LEAST_RUNS = 10, BENCH_MOST_RUNS = 1000, FEWEST_TIMED = 3 };

/* One size; the arrays have one entry per repetition. */
typedef struct bench_multiply_bench {
  const dm_bench_multiply *wanted;
  dm_bench_found *found; /* or NULL */
  dm_measured *measured;
  dm_run *run; /* of the product, as are setup and local */
  const dm_setup *setup;
  const dm_rank_state *local;
  dm_phases warm; /* this rank's times before the first repetition */
  dm_bench_library call;
  dm_verdict worst; /* worst of all repetitions */
  int64_t count, room;
  double *seconds, *exposed, *verify, *library;
  double watched; /* seconds from the first repetition to the last */
  double energy;  /* J of this rank's share of its GPU in that time; NAN: unknown */
  bool narrow;    /* the interval is as narrow as requested */
} bench_multiply_bench;

/* ---- the record ---- */

/* Mean times of a repetition on this rank. */
static dm_phases mean_of(const bench_multiply_bench *b) {
  const dm_phases *all = &b->local->phases, *warm = &b->warm;
  const double part = 1.0 / (double)b->count;
  return (dm_phases){.check = all->check,
                     .read = part * (all->read - warm->read),
                     .multiply = part * (all->multiply - warm->multiply),
                     .gemm = part * (all->gemm - warm->gemm),
                     .reduce = part * (all->reduce - warm->reduce),
                     .write = part * (all->write - warm->write),
                     .fetch = part * (all->fetch - warm->fetch),
                     .upload = part * (all->upload - warm->upload),
                     .exposed_fetch = part * (all->exposed_fetch - warm->exposed_fetch),
                     .exposed_upload = part * (all->exposed_upload - warm->exposed_upload)};
}

static const char *bench_place_of(const dm_plan *plan) {
  if (dm_plan_returns(plan)) return "pinned host memory, where C returns to";
  if (plan->a != plan->b) return "device and host memory";
  return plan->a == DM_IN_DEVICE ? "device memory" : "host memory";
}

typedef struct bench_extremes {
  double received, most_received; /* bytes per product: of all ranks, of the busiest */
  double bus;                     /* bytes per second during gathers, slowest rank */
  double host, device;            /* peak bytes */
  double joules;                  /* NAN: unknown */
} bench_extremes;

static double highest_host(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * (double)usage.ru_maxrss : 0.0;
}

static double used_on_device(const bench_multiply_bench *b) {
  dm_device device;
  dm_status status = dm_backend_device(b->setup->backend, &device);
  const bool known = !status && b->setup->backend->ops->device_memory;
  dm_status_free(status);
  return known ? (double)(device.memory_total - device.memory_free) : 0.0;
}

/* Collective. */
static dm_status bench_find_extremes(const bench_multiply_bench *b, const dm_phases *mean,
                                     bench_extremes *e) {
  const dm_transport *transport = b->local->transport;
  const double products = (double)(b->count + b->wanted->warmup);
  const double received = transport ? (double)dm_transport_received(transport) / products : 0.0;
  const double slowness = received > 0 && mean->fetch > 0 ? mean->fetch / received : 0.0;
  double most[] = {received, slowness, highest_host(), used_on_device(b)};
  double sums[] = {received, isnan(b->energy) ? 0.0 : b->energy, isnan(b->energy) ? 1.0 : 0.0};
  DM_TRY(dm_comm_max_f64(b->run->world, most, 4));
  DM_TRY(dm_comm_sum_f64(b->run->world, sums, 3));
  *e = (bench_extremes){.received = sums[0],
                        .most_received = most[0],
                        .bus = most[1] > 0 ? 1.0 / most[1] : 0.0,
                        .host = most[2],
                        .device = most[3],
                        .joules = sums[2] > 0 ? NAN : sums[1]};
  return DM_OK;
}

static void record_rates(const bench_multiply_bench *b, double flops, dm_record *record) {
  const dm_problem *p = &b->setup->plan.problem;
  const int sharing = b->setup->backend->ops->device_memory ? b->setup->device.sharing : 1;
  const double devices = ceil((double)b->run->ranks / sharing);
  const double peak = b->setup->backend->ops->device_memory
                          ? dm_machine_peak(b->setup->device.name, &p->compute)
                          : 0.0;
  const bool gpu = b->setup->backend->ops->device_memory;
  dm_record_real(record, "rates.per_device_flops", gpu ? "  per GPU" : "  per rank", DM_SHOWN_FLOPS,
                 flops / devices);
  dm_record_real(record, "rates.peak_flops", NULL, DM_SHOWN_FLOPS, peak > 0 ? peak : NAN);
  dm_record_real(record, "rates.of_peak", peak > 0 ? "  of the data sheet's" : NULL, DM_SHOWN_PLAIN,
                 peak > 0 ? flops / devices / peak : NAN);
}

/* Bus bandwidth as in nccl-tests: for an all-gather of S bytes among n ranks, S (n-1)/n over the
 * time, the rate at which each rank receives. */
static void record_moved(const bench_multiply_bench *b, const bench_extremes *e,
                         dm_record *record) {
  const dm_plan *plan = &b->setup->plan;
  const double word = (double)dm_dtype_size(plan->problem.work);
  const double bound = plan->bound_words * word;
  dm_record_real(record, "moved.between_ranks_bytes", "moved between ranks", DM_SHOWN_BYTES,
                 e->received);
  dm_record_text(record, "moved.by", NULL, "%s", b->setup->transport->name);
  dm_record_real(record, "moved.planned_bytes", NULL, DM_SHOWN_BYTES, plan->received_bytes_total);
  dm_record_real(record, "moved.most_bytes", NULL, DM_SHOWN_BYTES, e->most_received);
  dm_record_real(record, "moved.bound_bytes", NULL, DM_SHOWN_BYTES, bound);
  dm_record_real(record, "moved.of_bound", bound > 0 ? "  busiest rank / lower bound" : NULL,
                 DM_SHOWN_PLAIN, bound > 0 ? e->most_received / bound : NAN);
  dm_record_real(record, "rates.bus_Bps", e->bus > 0 ? "  bus bandwidth" : NULL, DM_SHOWN_RATE,
                 e->bus > 0 ? e->bus : NAN);
}

static void record_memory(const bench_multiply_bench *b, const bench_extremes *e,
                          dm_record *record) {
  const dm_plan *plan = &b->setup->plan;
  dm_record_integer(record, "memory.host_planned_bytes", "host memory, planned", DM_SHOWN_BYTES,
                    plan->host_bytes);
  dm_record_real(record, "memory.host_highest_bytes", "  highest of a process", DM_SHOWN_BYTES,
                 e->host);
  if (!plan->gpu) return;
  dm_record_integer(record, "memory.device_planned_bytes", "GPU memory, planned", DM_SHOWN_BYTES,
                    plan->device_bytes);
  dm_record_real(record, "memory.device_used_bytes", "  used of a GPU, by all", DM_SHOWN_BYTES,
                 e->device);
}

/* Over the whole time from the first repetition to the last, verification included. */
static void record_energy(const bench_multiply_bench *b, const bench_extremes *e,
                          dm_record *record) {
  const bool known = e->joules > 0;
  const double flops = dm_product_flops(&b->setup->plan.problem) * (double)b->count;
  if (!b->setup->backend->ops->device_memory) return;
  dm_record_real(record, "energy.gpus_J", NULL, DM_SHOWN_PLAIN, known ? e->joules : NAN);
  dm_record_real(record, "energy.seconds_s", NULL, DM_SHOWN_SECONDS, b->watched);
  dm_record_real(record, "energy.flops_per_J", known ? "operations per J of the GPUs" : NULL,
                 DM_SHOWN_PLAIN, known ? flops / e->joules : NAN);
}

static void record_bench(bench_multiply_bench *b, const dm_phases *phases, const bench_extremes *e,
                         dm_record *record) {
  const dm_bench_multiply *wanted = b->wanted;
  const dm_problem *p = &b->setup->plan.problem;
  const int64_t count = b->count;
  dm_setup_record(b->setup, b->run, record);
  dm_record_text(record, "bench.from", "operands start in", "%s", bench_place_of(&b->setup->plan));
  dm_record_integer(record, "bench.warmup", NULL, DM_SHOWN_PLAIN, wanted->warmup);
  dm_record_integer(record, "bench.repetitions", "repetitions", DM_SHOWN_PLAIN, count);
  dm_record_flag(record, "bench.narrow", NULL, b->narrow);
  const dm_statistics multiply =
      dm_record_times(record, "multiply", "multiplying (median)", b->seconds, count);
  dm_record_times(record, "exposed", "  not hidden behind products", b->exposed, count);
  dm_record_times(record, "verify", "verifying C (median)", b->verify, count);
  dm_record_real(record, "times.check_operands_s", "verifying A and B, once", DM_SHOWN_SECONDS,
                 phases->check);
  if (b->found)
    *b->found = (dm_bench_found){multiply.median, multiply.low, multiply.high, b->setup->plan};
  double flops = dm_product_flops(p) / multiply.median;
  dm_record_real(record, "rates.multiply_flops", "rate", DM_SHOWN_FLOPS, flops);
  if (wanted->against_library) {
    const dm_statistics library =
        dm_record_times(record, "library", "library call (median)", b->library, count);
    dm_record_real(record, "rates.library_flops", "library rate", DM_SHOWN_FLOPS,
                   dm_product_flops(p) / library.median);
    dm_record_real(record, "rates.of_library", "rate / library rate", DM_SHOWN_PLAIN,
                   library.median / multiply.median);
  }
  record_rates(b, flops, record);
  record_moved(b, e, record);
  record_memory(b, e, record);
  record_energy(b, e, record);
  if (wanted->verify)
    dm_verdict_record(&b->worst, &(dm_verified){.problem = p}, &b->run->log, record);
  dm_phases_record_natively(phases, &b->setup->plan, record);
  const bool plain = dm_compute_is_plain(&p->compute);
  dm_record_summary(record,
                    "m=%lld n=%lld k=%lld dtype=%s%s%s ranks=%d "
                    "median_s=%.6f tflops=%.4g residual=%.2g %s",
                    (long long)p->m, (long long)p->n, (long long)p->k, dm_dtype_name(p->work),
                    plain ? "" : " compute=", plain ? "" : p->compute.name, b->run->ranks,
                    multiply.median, flops * 1e-12, b->worst.residual,
                    wanted->verify ? dm_verdict_word(&b->worst) : "UNVERIFIED");
}

static dm_status bench_report(bench_multiply_bench *b, dm_record *record) {
  const dm_phases mean = mean_of(b);
  dm_phases worst;
  bench_extremes e;
  DM_TRY(dm_phases_worst(b->run, b->local, &worst));
  DM_TRY(bench_find_extremes(b, &mean, &e));
  if (record) record_bench(b, &worst, &e, record);
  return dm_phases_by_rank(b->run, &mean, record);
}

/* ---- repetitions ---- */

static dm_status check_library(const bench_multiply_bench *b) {
  if (!b->wanted->against_library) return DM_OK;
  if (dm_plan_tiles(&b->setup->plan) > 1)
    return dm_hint(
        dm_fail(DM_E_USAGE, "C is computed in tiles, but a library call computes all of it"),
        "leave out --against-library, or allow more --memory device=...");
  if (dm_backend_has_library(b->setup->backend)) return DM_OK;
  return dm_fail(DM_E_USAGE, "backend %s has no library call to compare with",
                 b->setup->backend->ops->name);
}

static dm_status call_library(bench_multiply_bench *b, double *seconds) {
  return dm_bench_library_run(b->local, &b->call, dm_measured_part(b->measured), seconds);
}

static dm_status bench_verify(bench_multiply_bench *b, double *seconds) {
  dm_verdict verdict;
  DM_TRY(dm_measured_verify(b->measured, seconds, &verdict));
  if (!verdict.pass || verdict.residual >= b->worst.residual) b->worst = verdict;
  return DM_OK;
}

/* Whether there are enough repetitions. All ranks have the same times and decide alike. */
static bool is_enough(bench_multiply_bench *b) {
  const dm_bench_multiply *wanted = b->wanted;
  double sorted[BENCH_MOST_RUNS];
  if (wanted->repetitions > 0 || b->count == b->room) return b->count >= b->room;
  if (b->count < FEWEST_TIMED) return false;
  double passed = 0.0;
  for (int64_t i = 0; i < b->count; i++) passed += b->seconds[i] + b->verify[i];
  memcpy(sorted, b->seconds, (size_t)b->count * sizeof *sorted);
  const dm_statistics s = dm_statistics_of(sorted, b->count);
  b->narrow = b->count >= BENCH_LEAST_RUNS && s.high - s.low <= 2 * wanted->precision * s.median;
  return b->narrow || passed > wanted->limit;
}

static dm_status run_once(bench_multiply_bench *b, int64_t i) {
  const dm_bench_multiply *wanted = b->wanted;
  double seconds, exposed, verifying = 0.0, library = 0.0;
  /* The order alternates: a GPU that has just worked is warmer and slower. */
  const bool last = i % 2 != 0 || i == -wanted->warmup; /* C is empty at first */
  if (wanted->against_library && !last) DM_TRY(call_library(b, &library));
  DM_TRY(dm_measured_run(b->measured, &seconds, &exposed));
  if (wanted->verify) DM_TRY(bench_verify(b, &verifying));
  if (wanted->against_library && last) DM_TRY(call_library(b, &library));
  DM_TRY(dm_comm_max_f64(b->run->world, &verifying, 1));
  DM_TRY(dm_stop_agree(&b->run->stop, b->run->world));
  if (i < 0) return DM_OK;
  b->seconds[i] = seconds;
  b->exposed[i] = exposed;
  b->verify[i] = verifying;
  b->library[i] = library;
  b->count++;
  return DM_OK;
}

static dm_status bench_repeat(bench_multiply_bench *b) {
  dm_nvml nvml;
  dm_nvml_open(b->setup->device.id, &nvml);
  dm_status status = DM_OK;
  for (int64_t i = -b->wanted->warmup; i < 0 && !status; i++) status = run_once(b, i);
  b->warm = b->local->phases;
  const double start = dm_now(), before = dm_nvml_energy(&nvml);
  while (!status && !is_enough(b)) status = run_once(b, b->count);
  b->watched = dm_now() - start;
  b->energy = (dm_nvml_energy(&nvml) - before) / (double)dm_max(1, b->setup->device.sharing);
  if (b->wanted->against_library) b->energy = NAN; /* includes other products */
  dm_nvml_close(&nvml);
  return status;
}

static dm_status bench_open(bench_multiply_bench *b) {
  double *all;
  DM_TRY(check_library(b));
  b->room = b->wanted->repetitions > 0 ? b->wanted->repetitions : BENCH_MOST_RUNS;
  DM_TRY(dm_buffer_zeroed(4 * b->room, sizeof *all, (void **)&all));
  b->seconds = all;
  b->exposed = all + b->room;
  b->verify = all + 2 * b->room;
  b->library = all + 3 * b->room;
  if (!b->wanted->against_library) return DM_OK;
  return dm_bench_library_open(b->local, b->measured->generated.generators, &b->call);
}

/* For dm_measurement. */
static dm_status bench_multiply_measure(void *context, dm_measured *measured, dm_record *record) {
  bench_multiply_bench *b = context;
  b->measured = measured;
  b->run = measured->product->run;
  b->setup = measured->product->setup;
  b->local = &measured->product->local;
  dm_status status = dm_comm_agree(b->run->world, bench_open(b));
  if (!status) status = bench_repeat(b);
  if (!status) status = bench_report(b, record);
  if (status && !status->agreed) return status;
  dm_bench_library_close(b->local, &b->call);
  if (status) return status;
  return b->wanted->verify ? dm_verdict_status(&b->worst, "the benchmark's product", true) : DM_OK;
}

dm_status dm_bench_multiply_run(dm_run *run, const dm_bench_multiply *wanted, dm_record *record,
                                dm_bench_found *found) {
  bench_multiply_bench b = {
      .wanted = wanted, .found = found, .worst = {.pass = true, .worst_row = -1}};
  const dm_measurement measurement = {.seed = wanted->seed,
                                      .from_host = wanted->from_host,
                                      .measure = bench_multiply_measure,
                                      .context = &b};
  DM_FREED dm_multiply *multiply = NULL;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &multiply)));
  *multiply =
      (dm_multiply){.a = {.rows = wanted->size.m, .cols = wanted->size.k, .dtype = wanted->type},
                    .b = {.rows = wanted->size.k, .cols = wanted->size.n, .dtype = wanted->type},
                    .equation = {.alpha = {1.0},
                                 .type_c = wanted->type_c,
                                 .compute = wanted->compute,
                                 .accumulate = wanted->accumulate,
                                 .accumulate_stated = wanted->accumulate_stated},
                    .engine = wanted->engine,
                    .verify = wanted->verify,
                    .seed = wanted->check_seed,
                    .measurement = &measurement};
  multiply->equation.type = DM_DTYPE_NONE;
  multiply->engine.wishes.from_device = wanted->from_device;
  dm_status status = dm_multiply_run(run, multiply, record);
  if (!status || status->agreed) free(b.seconds);
  return status;
}

/* ---- the verb ---- */

enum { FROM_HOST = 1, FROM_DEVICE = 2 }; /* as in the table of options */

dm_status dm_bench_find_place(const dm_call *call, dm_bench_multiply *wanted) {
  const dm_settings *s = &call->settings;
  const dm_backend_ops *ops = dm_backend_auto();
  wanted->from_host = call->own.from == FROM_HOST;
  wanted->from_device = call->own.from == FROM_DEVICE;
  if (!wanted->from_device) return DM_OK;
  if (s->backend != 0) DM_TRY(dm_backend_find(wanted->engine.backend, &ops));
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
  DM_TRY(dm_cli_dimensions(call, DM_BENCH_SIZE, mnk));
  sizes->count = 1;
  sizes->list[0] = (dm_kernel_size){mnk[0], mnk[1], mnk[2]};
  return DM_OK;
}

/* One size and its record; a product that fails its verification is reported like any other. */
static dm_status bench_size(dm_run *run, const dm_call *call, dm_bench_multiply *wanted,
                            const dm_kernel_size *size) {
  dm_record *record = NULL;
  wanted->size = *size;
  DM_TRY(dm_comm_agree(run->world, dm_record_new(call->verb->name, call->command, &record)));
  dm_status status = dm_bench_multiply_run(run, wanted, record, NULL);
  const bool judged = status && status->code == DM_E_VERIFY && status->agreed;
  if (!status || judged) {
    dm_status reported = run->rank == 0 ? dm_cli_publish(call, record) : DM_OK;
    status = dm_status_first(status, dm_comm_agree(run->world, reported));
  }
  dm_record_free(record);
  return status;
}

dm_bench_multiply dm_bench_wishes(const dm_call *call) {
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
  dm_bench_multiply wanted = dm_bench_wishes(call);
  DM_TRY(dm_comm_agree(run->world, dm_bench_find_place(call, &wanted)));
  for (int64_t i = 0; i < sizes->count; i++)
    DM_TRY(bench_size(run, call, &wanted, &sizes->list[i]));
  return DM_OK;
}

int dm_bench_verb_multiply(dm_call *call) {
  dm_kernel_sizes sizes = {.count = 0};
  dm_status prepared = dm_cli_speaks(call) ? find_sizes(call, &sizes) : DM_OK;
  return dm_bench_job(call, prepared, bench_multiply, &sizes, sizeof sizes);
}
