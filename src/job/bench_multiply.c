/* bench_multiply: the multiplication alone, on generated matrices in memory. */
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/fill.h"
#include "job/bench.h"
#include "job/bench_host.h"
#include "job/bench_library.h"
#include "job/engine.h"
#include "job/phases.h"
#include "job/statistics.h"
#include "job/verdict.h"

/* What one run of the benchmark holds; the arrays have one entry per repetition. */
typedef struct bench {
  dm_run *run;
  const dm_bench_multiply *wanted;
  dm_setup setup;
  dm_task task;
  bool task_opened;
  dm_phases spent; /* by this rank in all repetitions */
  dm_bench_library call;
  dm_bench_host host; /* where plan->brought */
  dm_freivalds *check;
  dm_verdict worst; /* of all repetitions */
  double *seconds, *exposed, *verify, *library, *local;
} bench;

/* op(A) and op(B) are generated where they lie, each from its own seed. */
static dm_generator generator_of(const bench *b, dm_matrix matrix) {
  const bool whole = b->setup.plan.problem.work == DM_I8;
  return (dm_generator){.kind = whole ? DM_INTEGER : DM_UNIFORM,
                        .seed = b->wanted->seed + (uint64_t)matrix,
                        .parameter = whole ? 8 : 0};
}

static dm_status generate(void *context, dm_task *task, dm_matrix matrix, int64_t panel) {
  const dm_generator generator = generator_of(context, matrix);
  return dm_backend_fill(task->backend, dm_task_piece(task, matrix, panel), &generator,
                         dm_task_piece_rows(task, matrix, panel).begin,
                         dm_task_piece_cols(task, matrix, panel).begin);
}

static dm_status problem_of(const dm_bench_multiply *wanted, dm_problem *problem) {
  *problem = (dm_problem){.m = wanted->m,
                          .n = wanted->n,
                          .k = wanted->k,
                          .file_a = wanted->type,
                          .file_b = wanted->type,
                          .verify = wanted->verify};
  DM_TRY(dm_types_of(wanted->type, wanted->type_c, wanted->compute, problem));
  /* Nothing is stored: C stays as sums of products. */
  if (problem->c != problem->accumulator)
    return dm_fail(DM_E_USAGE, "bench multiply leaves C in %s, where its sums are held",
                   dm_dtype_name(problem->accumulator));
  return DM_OK;
}

/* This rank's part of C: of the block, or, where layers were summed, of the sum. */
static dm_status verify(bench *b, double *seconds) {
  double start = dm_now();
  dm_task *task = &b->task;
  dm_verdict verdict;
  dm_freivalds_reset_c(b->check);
  if (!task->place.idle) {
    bool summed = task->plan->pk > 1;
    dm_range rows =
        summed ? dm_plan_c_share(task->plan, 0, task->place.i, task->place.l) : task->rows;
    dm_view sums = summed ? task->c_sum : task->c;
    DM_TRY(dm_freivalds_add_c(b->check, task->backend, sums, rows.begin, task->cols.begin));
  }
  *seconds = dm_now() - start;
  DM_TRY(dm_freivalds_judge(b->check, b->run->world, &verdict));
  if (!verdict.pass || verdict.residual >= b->worst.residual) b->worst = verdict;
  return DM_OK;
}

static dm_status multiply_once(bench *b, double *seconds, double *exposed) {
  const bool brought = b->setup.plan.brought;
  const dm_task_calls none = {0}, bring = {.context = &b->host,
                                           .load = dm_bench_host_load,
                                           .loaded = dm_bench_host_loaded};
  if (brought) DM_TRY(dm_bench_host_spoil(&b->host));
  DM_TRY(dm_comm_barrier(b->run->world));
  double start = dm_now();
  dm_trace_count_anew(&b->run->trace);
  DM_TRY(brought ? dm_execute(&b->task, DM_LOADS | DM_PRODUCTS, &bring)
                 : dm_execute(&b->task, DM_PRODUCTS, &none));
  double products = dm_now() - start;
  dm_phases_take(&b->run->trace, products, &b->spent);
  DM_TRY(dm_execute(&b->task, 1u << DM_STEP_REDUCE, &none));
  if (brought) DM_TRY(dm_bench_host_return(&b->host));
  double times[2] = {dm_now() - start, products - b->run->trace.busy[DM_ROW_COMPUTE]};
  b->spent.reduce += times[0] - products;
  DM_TRY(dm_comm_max_f64(b->run->world, times, 2));
  *seconds = times[0];
  *exposed = times[1];
  return brought ? dm_bench_host_show(&b->host) : DM_OK;
}

/* The products alone, of whatever the slots hold since the last run: what is left of the time when
 * nothing has to be moved.  C is of no use afterwards. */
static dm_status local_once(bench *b, double *seconds) {
  const dm_task_calls none = {0};
  DM_TRY(dm_comm_barrier(b->run->world));
  double start = dm_now();
  DM_TRY(dm_execute(&b->task, 1u << DM_STEP_GEMM, &none));
  *seconds = dm_now() - start;
  return dm_comm_max_f64(b->run->world, seconds, 1);
}

static dm_status check_library(const bench *b) {
  if (!b->wanted->against_library || b->setup.backend->ops->direct) return DM_OK;
  return dm_fail(DM_E_USAGE, "backend %s has no library call to compare with",
                 b->setup.backend->ops->name);
}

/* What the multiplication is compared with, if with anything. */
static dm_status compare_once(bench *b, double *library, double *local) {
  if (b->wanted->against_library) DM_TRY(dm_bench_library_run(&b->task, &b->call, library));
  if (b->wanted->against_local) DM_TRY(local_once(b, local));
  return DM_OK;
}

static dm_status repeat(bench *b) {
  const dm_bench_multiply *wanted = b->wanted;
  for (int i = -wanted->warmup; i < wanted->repetitions; i++) {
    double seconds, exposed, verifying = 0.0, library = 0.0, local = 0.0;
    /* Who comes first alternates: a GPU that has just worked is warmer and slower. */
    const bool last = i % 2 != 0 || i == -wanted->warmup; /* the slots hold nothing at first */
    if (i == 0) b->spent = (dm_phases){.check = b->task.phases.check};
    if (!last) DM_TRY(compare_once(b, &library, &local));
    DM_TRY(multiply_once(b, &seconds, &exposed));
    if (wanted->verify) DM_TRY(verify(b, &verifying));
    if (last) DM_TRY(compare_once(b, &library, &local));
    DM_TRY(dm_comm_max_f64(b->run->world, &verifying, 1));
    DM_TRY(dm_stop_agree(&b->run->stop, b->run->world));
    if (i < 0) continue;
    b->seconds[i] = seconds;
    b->exposed[i] = exposed;
    b->verify[i] = verifying;
    b->library[i] = library;
    b->local[i] = local;
  }
  return DM_OK;
}

/* What one repetition took on this rank, as a mean. */
static dm_phases mean_of(const bench *b) {
  dm_phases mean = b->spent;
  double *const seconds[] = {&mean.multiply, &mean.gemm, &mean.reduce, &mean.exposed_fetch,
                             &mean.exposed_upload};
  for (int i = 0; i < 5; i++) *seconds[i] /= b->wanted->repetitions;
  return mean;
}

static void record_statistics(dm_record *record, const char *name, const char *label,
                              double *values, int64_t count, dm_statistics *s) {
  char path[64];
  snprintf(path, sizeof path, "repetitions.%s_s", name);
  dm_record_series(record, path, values, count);
  *s = dm_statistics_of(values, count);
  const char *const parts[] = {"median", "min", "max", "ci95_low", "ci95_high"};
  const double numbers[] = {s->median, s->least, s->most, s->low, s->high};
  for (int i = 0; i < 5; i++) {
    snprintf(path, sizeof path, "times.%s_%s_s", name, parts[i]);
    dm_record_real(record, path, i == 0 ? label : NULL, DM_SHOWN_SECONDS, numbers[i]);
  }
}

static const char *place_of(const dm_plan *plan) {
  if (plan->brought) return "pinned host memory, where C returns to";
  if (plan->a != plan->b) return "device and host memory";
  return plan->a == DM_IN_DEVICE ? "device memory" : "host memory";
}

static void record_bench(bench *b, const dm_phases *phases, dm_record *record) {
  const dm_bench_multiply *wanted = b->wanted;
  const dm_problem *p = &b->setup.plan.problem;
  const int64_t count = wanted->repetitions;
  dm_statistics multiply, exposed, verifying, library = {0};
  dm_setup_record(&b->setup, b->run, record);
  dm_record_text(record, "bench.from", "operands start in", "%s", place_of(&b->setup.plan));
  dm_record_integer(record, "bench.warmup", NULL, DM_SHOWN_PLAIN, wanted->warmup);
  dm_record_integer(record, "bench.repetitions", "repetitions", DM_SHOWN_PLAIN, count);
  record_statistics(record, "multiply", "multiplying (median)", b->seconds, count, &multiply);
  record_statistics(record, "exposed", "  not hidden behind products", b->exposed, count, &exposed);
  record_statistics(record, "verify", "verifying C (median)", b->verify, count, &verifying);
  dm_record_real(record, "times.check_operands_s", "verifying A and B, once", DM_SHOWN_SECONDS,
                 phases->check);
  double flops = dm_product_flops(p) / multiply.median;
  dm_record_real(record, "rates.multiply_flops", "rate", DM_SHOWN_FLOPS, flops);
  if (wanted->against_library) {
    record_statistics(record, "library", "library call (median)", b->library, count, &library);
    dm_record_real(record, "rates.library_flops", "library rate", DM_SHOWN_FLOPS,
                   dm_product_flops(p) / library.median);
    dm_record_real(record, "rates.of_library", "rate / library rate", DM_SHOWN_PLAIN,
                   library.median / multiply.median);
  }
  if (wanted->against_local) {
    dm_statistics local;
    record_statistics(record, "local", "the same, nothing moved (median)", b->local, count, &local);
    dm_record_real(record, "rates.of_local", "rate / rate with nothing moved", DM_SHOWN_PLAIN,
                   local.median / multiply.median);
  }
  dm_record_integer(record, "moved.between_ranks_bytes", NULL, DM_SHOWN_BYTES, phases->received);
  if (wanted->verify) dm_verdict_record(&b->worst, &b->run->log, record);
  dm_record_summary(record,
                    "damier: bench multiply m=%lld n=%lld k=%lld dtype=%s%s ranks=%d "
                    "median_s=%.6f tflops=%.4g residual=%.2g %s",
                    (long long)p->m, (long long)p->n, (long long)p->k, dm_dtype_name(p->work),
                    p->tf32 ? " compute=tf32" : "", b->run->ranks, multiply.median, flops * 1e-12,
                    b->worst.residual, wanted->verify ? dm_verdict_word(&b->worst) : "UNVERIFIED");
}

static dm_status open(bench *b) {
  const dm_bench_multiply *wanted = b->wanted;
  dm_problem problem;
  DM_TRY(dm_comm_agree(b->run->world, problem_of(wanted, &problem)));
  dm_engine engine = wanted->engine;
  engine.wishes.from_device = wanted->from_device;
  engine.wishes.from_host = engine.wishes.brings = wanted->from_host;
  DM_TRY(dm_setup_open(b->run, &engine, &problem, &b->setup));
  DM_TRY(dm_comm_agree(b->run->world, check_library(b)));
  double *all;
  DM_TRY(dm_buffer_zeroed(5 * (int64_t)wanted->repetitions, sizeof *all, (void **)&all));
  b->seconds = all;
  b->exposed = all + wanted->repetitions;
  b->verify = all + 2 * wanted->repetitions;
  b->library = all + 3 * wanted->repetitions;
  b->local = all + 4 * wanted->repetitions;
  const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};
  if (wanted->verify)
    DM_TRY(dm_comm_agree(b->run->world,
                         dm_freivalds_new(&problem, one, zero, b->setup.plan.gpu, &b->check)));
  b->task_opened = true;
  return dm_task_open(b->run, &b->setup.plan, b->setup.backend, b->setup.transport, &b->task);
}

static dm_status measure(bench *b, dm_record *record) {
  const dm_task_calls calls = {.context = b, .load = generate};
  DM_TRY(open(b));
  DM_TRY(dm_comm_agree(b->run->world, dm_execute(&b->task, DM_LOADS, &calls)));
  if (b->wanted->verify) DM_TRY(dm_check_operands(&b->task, b->check));
  if (b->setup.plan.brought)
    DM_TRY(dm_comm_agree(b->run->world, dm_bench_host_open(&b->task, &b->host)));
  const dm_generator generators[2] = {generator_of(b, DM_A), generator_of(b, DM_B)};
  if (b->wanted->against_library)
    DM_TRY(dm_comm_agree(b->run->world, dm_bench_library_open(&b->task, generators, &b->call)));
  dm_run_phase(b->run, "measuring", 1);
  DM_TRY(repeat(b));
  dm_phases worst;
  DM_TRY(dm_phases_worst(b->run, &b->task, &worst));
  if (record) record_bench(b, &worst, record);
  const dm_phases mean = mean_of(b);
  DM_TRY(dm_phases_by_rank(b->run, &mean, record));
  return b->wanted->verify ? dm_verdict_status(&b->worst, "the benchmark's product") : DM_OK;
}

dm_status dm_bench_multiply_run(dm_run *run, const dm_bench_multiply *wanted, dm_record *record) {
  bench b = {.run = run, .wanted = wanted, .worst = {.pass = true, .worst_row = -1}};
  dm_status status = measure(&b, run->rank == 0 ? record : NULL);
  if (status && !status->agreed) return status;
  dm_bench_library_close(&b.task, &b.call);
  dm_bench_host_close(&b.host);
  if (b.task_opened) dm_task_close(&b.task);
  dm_freivalds_free(b.check);
  free(b.seconds);
  dm_setup_close(&b.setup);
  return status;
}
