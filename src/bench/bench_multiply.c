/* bench_multiply: the multiplication alone, on generated matrices in memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/nvml.h"
#include "bench/bench_multiply_impl.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "engine/execute.h"
#include "plan/partition.h"
#include "plan/tiles.h"
#include "run/statistics.h"

/* If the number of repetitions is not set: the least for a narrow interval, and the most; the
 * fewest if time is up. */
enum { LEAST_RUNS = 10, MOST_RUNS = 1000, FEWEST_TIMED = 3 };

static dm_status problem_of(const dm_bench_multiply *wanted, dm_problem *problem) {
  *problem = (dm_problem){.m = wanted->m,
                          .n = wanted->n,
                          .k = wanted->k,
                          .file_a = wanted->type,
                          .file_b = wanted->type,
                          .verify = wanted->verify};
  dm_problem_set_home(problem, wanted->from_host ? DM_HOME_HOST : DM_HOME_SHARES);
  const dm_equation equation = {.type_c = wanted->type_c, .compute = wanted->compute};
  return dm_types_of(wanted->type, &equation, problem);
}

/* Adds this rank's part of C, as the product left it. */
static dm_status verify_part(dm_bench *b) {
  dm_rank_state *local = &b->product.local;
  for (int64_t t = 0; t < dm_plan_tiles(local->plan); t++) {
    dm_view c;
    dm_range rows;
    dm_rank_turn_to(local, t);
    DM_TRY(dm_bench_home_show(&b->home, &c, &rows));
    DM_TRY(dm_freivalds_add_c(b->check, local->backend, c, rows.begin, local->cols.begin));
    DM_TRY(dm_backend_settle(local->backend));
  }
  return DM_OK;
}

static dm_status verify(dm_bench *b, double *seconds) {
  double start = dm_now();
  dm_verdict verdict;
  dm_freivalds_reset_c(b->check);
  if (!b->product.local.coords.idle) DM_TRY(verify_part(b));
  *seconds = dm_now() - start;
  DM_TRY(dm_freivalds_judge(b->check, b->run->world, &verdict));
  if (!verdict.pass || verdict.residual >= b->worst.residual) b->worst = verdict;
  return DM_OK;
}

/* Seconds of the loop without a product under way. */
static double hidden_badly(const dm_phases *p) {
  return p->read + p->multiply - p->gemm;
}

static dm_status multiply_once(dm_bench *b, double *seconds, double *exposed) {
  const dm_phases *phases = &b->product.local.phases;
  DM_TRY(dm_bench_home_spoil(&b->home));
  DM_TRY(dm_comm_barrier(b->run->world));
  const double before = hidden_badly(phases), start = dm_now();
  DM_TRY(dm_product_run(&b->product));
  const double end = dm_now();
  *exposed = hidden_badly(phases) - before;
  DM_TRY(dm_comm_max_f64(b->run->world, exposed, 1));
  return dm_run_span(b->run, start, end, seconds);
}

/* The products alone, on the slots' contents of the last run: the time if nothing had to be moved.
 * C is useless afterwards. */
static dm_status local_once(dm_bench *b, double *seconds) {
  const bool rounds = b->product.sink.ops && !dm_plan_returns(&b->setup.plan);
  const unsigned kinds = 1u << DM_STEP_GEMM | 1u << DM_STEP_STRIP | 1u << DM_STEP_STORE;
  const dm_step_calls calls = {.context = &b->home.sink,
                               .store = rounds ? dm_sink_memory.store : NULL};
  DM_TRY(dm_comm_barrier(b->run->world));
  double start = dm_now();
  DM_TRY(dm_execute(&b->product.local, kinds, &calls));
  return dm_run_span(b->run, start, dm_now(), seconds);
}

static dm_status check_library(const dm_bench *b) {
  if (!b->wanted->against_library) return DM_OK;
  if (dm_plan_tiles(&b->setup.plan) > 1)
    return dm_hint(
        dm_fail(DM_E_USAGE, "C is computed in tiles, but a library call computes all of it"),
        "leave out --against-library, or allow more --memory device=...");
  if (b->setup.backend->ops->direct) return DM_OK;
  return dm_fail(DM_E_USAGE, "backend %s has no library call to compare with",
                 b->setup.backend->ops->name);
}

static dm_status check_result(const dm_bench *b) {
  const dm_plan *plan = &b->setup.plan;
  const dm_dtype sums = plan->problem.accumulator;
  if (plan->problem.c == sums || !dm_plan_returns(plan)) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "C can return to host memory only in its accumulator type, %s",
                         dm_dtype_name(sums)),
                 "leave out --type-c, or keep all matrices on the GPUs: --from device");
}

/* Runs the requested baselines; in the opposite order if AFTER the multiplication. */
static dm_status compare_once(dm_bench *b, bool after, double *library, double *local) {
  if (b->wanted->against_local && after) DM_TRY(local_once(b, local));
  if (b->wanted->against_library)
    DM_TRY(
        dm_bench_library_run(&b->product.local, &b->call, dm_bench_home_part(&b->home), library));
  if (b->wanted->against_local && !after) DM_TRY(local_once(b, local));
  return DM_OK;
}

/* Whether there are enough repetitions. All ranks have the same times and decide alike. */
static bool is_enough(dm_bench *b) {
  const dm_bench_multiply *wanted = b->wanted;
  double sorted[MOST_RUNS];
  if (wanted->repetitions > 0 || b->count == b->room) return b->count >= b->room;
  if (b->count < FEWEST_TIMED) return false;
  double passed = 0.0;
  for (int64_t i = 0; i < b->count; i++) passed += b->seconds[i] + b->verify[i];
  memcpy(sorted, b->seconds, (size_t)b->count * sizeof *sorted);
  const dm_statistics s = dm_statistics_of(sorted, b->count);
  b->narrow = b->count >= LEAST_RUNS && s.high - s.low <= 2 * wanted->precision * s.median;
  return b->narrow || passed > wanted->limit;
}

static dm_status run_once(dm_bench *b, int64_t i) {
  const dm_bench_multiply *wanted = b->wanted;
  double seconds, exposed, verifying = 0.0, library = 0.0, local = 0.0;
  /* The order alternates: a GPU that has just worked is warmer and slower. */
  const bool last = i % 2 != 0 || i == -wanted->warmup; /* the slots are empty at first */
  if (!last) DM_TRY(compare_once(b, false, &library, &local));
  DM_TRY(multiply_once(b, &seconds, &exposed));
  if (wanted->verify) DM_TRY(verify(b, &verifying));
  if (last) DM_TRY(compare_once(b, true, &library, &local));
  DM_TRY(dm_comm_max_f64(b->run->world, &verifying, 1));
  DM_TRY(dm_stop_agree(&b->run->stop, b->run->world));
  if (i < 0) return DM_OK;
  b->seconds[i] = seconds;
  b->exposed[i] = exposed;
  b->verify[i] = verifying;
  b->library[i] = library;
  b->local[i] = local;
  b->count++;
  return DM_OK;
}

static dm_status repeat(dm_bench *b) {
  dm_nvml nvml;
  dm_nvml_open(b->setup.device.id, &nvml);
  dm_status status = DM_OK;
  for (int64_t i = -b->wanted->warmup; i < 0 && !status; i++) status = run_once(b, i);
  b->warm = b->product.local.phases;
  const double start = dm_now(), before = dm_nvml_energy(&nvml);
  while (!status && !is_enough(b)) status = run_once(b, b->count);
  b->watched = dm_now() - start;
  b->energy = (dm_nvml_energy(&nvml) - before) / (double)dm_max(1, b->setup.device.sharing);
  if (b->wanted->against_library || b->wanted->against_local)
    b->energy = NAN; /* includes other products */
  dm_nvml_close(&nvml);
  return status;
}

static dm_status open(dm_bench *b) {
  const dm_bench_multiply *wanted = b->wanted;
  dm_problem problem;
  DM_TRY(dm_comm_agree(b->run->world, problem_of(wanted, &problem)));
  dm_engine engine = wanted->engine;
  engine.wishes.from_device = wanted->from_device;
  DM_TRY(dm_setup_open(b->run, &engine, &problem, &b->setup));
  DM_TRY(dm_comm_agree(b->run->world, check_library(b)));
  DM_TRY(dm_comm_agree(b->run->world, check_result(b)));
  double *all;
  b->room = wanted->repetitions > 0 ? wanted->repetitions : MOST_RUNS;
  DM_TRY(dm_buffer_zeroed(5 * b->room, sizeof *all, (void **)&all));
  b->seconds = all;
  b->exposed = all + b->room;
  b->verify = all + 2 * b->room;
  b->library = all + 3 * b->room;
  b->local = all + 4 * b->room;
  const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};
  if (wanted->verify) DM_TRY(dm_check_new(b->run, &b->setup.plan, one, zero, &b->check));
  if (b->check) dm_freivalds_repeat(b->check, wanted->check_seed, 0);
  b->generated = dm_generated_random(b->setup.plan.problem.work, wanted->seed);
  b->product = (dm_product){
      .run = b->run,
      .setup = &b->setup,
      .source = {{&dm_source_generated, &b->generated}, {&dm_source_generated, &b->generated}},
      .check = b->check,
  };
  if (dm_bench_home_takes(&b->setup.plan))
    b->product.sink = (dm_sink){&dm_sink_memory, &b->home.sink};
  DM_TRY(dm_product_open(&b->product));
  return dm_product_load(&b->product);
}

/* Bytes of the allowed memory that the plan does not use. */
static int64_t room_beside(const dm_bench *b) {
  const dm_plan *plan = &b->setup.plan;
  const dm_machine *machine = &b->setup.machine;
  return plan->gpu ? machine->device_bytes - plan->device_bytes
                   : machine->host_bytes - plan->host_bytes;
}

static dm_status measure(dm_bench *b, dm_record *record) {
  dm_rank_state *local = &b->product.local;
  const dm_generator *generators = b->generated.generators;
  DM_TRY(open(b));
  DM_TRY(dm_comm_agree(b->run->world, dm_bench_home_open(local, &b->home)));
  if (dm_bench_home_brings(&b->setup.plan))
    DM_TRY(dm_product_set_source(&b->product, (dm_source){&dm_source_memory, &b->home.source}));
  if (b->wanted->against_library)
    DM_TRY(dm_comm_agree(b->run->world, dm_bench_library_open(local, generators, &b->call)));
  dm_run_phase(b->run, "measuring", 1);
  DM_TRY(repeat(b));
  if (b->wanted->against_one)
    DM_TRY(dm_bench_one_run(local, generators, room_beside(b), b->wanted->limit / 20, &b->one));
  DM_TRY(dm_bench_record(b, record));
  return b->wanted->verify ? dm_verdict_status(&b->worst, "the benchmark's product", true) : DM_OK;
}

dm_status dm_bench_multiply_run(dm_run *run, const dm_bench_multiply *wanted, dm_record *record,
                                dm_bench_found *found) {
  dm_bench b = {
      .run = run, .wanted = wanted, .found = found, .worst = {.pass = true, .worst_row = -1}};
  dm_status status = measure(&b, run->rank == 0 ? record : NULL);
  if (status && !status->agreed) return status;
  dm_bench_library_close(&b.product.local, &b.call);
  dm_bench_home_close(&b.home);
  dm_product_close(&b.product);
  dm_freivalds_free(b.check);
  free(b.seconds);
  dm_setup_close(&b.setup);
  return status;
}
