#include "bench/bench_files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_files_impl.h"
#include "core/checked.h"
#include "core/clock.h"
#include "engine/execute.h"
#include "engine/generated_source.h"
#include "engine/scaling.h"
#include "plan/tiles.h"
#include "run/statistics.h"

enum { FEWEST = 3, DEFAULT = 5 };

static void pose(dm_files_bench *b) {
  const dm_bench_files *w = b->wanted;
  b->multiply.equation = (dm_equation){.op_a = DM_OP_N,
                                       .op_b = DM_OP_N,
                                       .alpha = {1.0, 0.0},
                                       .type = DM_DTYPE_NONE,
                                       .type_c = w->product.type_c,
                                       .compute = w->product.compute};
  b->multiply.engine = w->product.engine;
  b->multiply.verify = w->product.verify;
  b->multiply.seed = w->product.check_seed;
  b->multiply.allow_unchecked = true; /* only the times matter */
  b->multiply.protect = true;
  b->multiply.reserve_first = true;
  b->multiply.checkpoint = w->checkpoint;
  b->multiply.checkpoint_interval = w->checkpoint_interval;
}

/* 1, 2, 4, ... threads, and the number that the job uses. */
static void choose_widths(dm_files_bench *b) {
  const int most = (int)dm_max(1, dm_run_io_threads(b->run, b->wanted->product.engine.io_threads));
  for (int width = 1; width < most && b->widths < DM_MOST_WIDTHS - 1; width *= 2)
    b->width[b->widths++] = width;
  b->width[b->widths++] = most;
}

/* Collective: pwrite, and the best way for the folder, each with every number of threads. */
static dm_status choose_writers(dm_files_bench *b) {
  dm_write_way ways[DM_MOST_WAYS] = {DM_WRITE_PWRITE, DM_WRITE_PWRITE};
  dm_status status = DM_OK;
  dm_write_way wish = b->wanted->product.engine.write_by;
  if (wish == DM_WRITE_PWRITE) wish = DM_WRITE_AUTO; /* measured in any case */
  if (b->run->rank == 0) {
    b->scratch.bytes = 1; /* for trials */
    status = dm_ceiling_make(&b->scratch);
    if (!status)
      status = dm_write_way_choose(b->scratch.file, wish,
                                   dm_run_writers(b->run, b->wanted->product.engine.io_threads),
                                   &ways[1]);
  }
  DM_TRY(dm_comm_agree(b->run->world, status));
  DM_TRY(dm_comm_broadcast(b->run->world, ways, sizeof ways, 0));
  for (int i = 0; i < (ways[1] == DM_WRITE_PWRITE ? 1 : 2); i++)
    for (int w = 0; w < b->widths; w++)
      b->writer[b->writers++] = (dm_writers){ways[i], b->width[w]};
  return DM_OK;
}

/* ---- the parts of a turn ---- */

static dm_status forget_inputs(const dm_files_bench *b) {
  dm_status status = DM_OK;
  if (!b->wanted->cold) return DM_OK;
  for (int i = 0; i < 2 && b->run->local_rank == 0 && !status; i++)
    status = dm_ceiling_forget(b->inputs[i].file);
  return dm_comm_agree(b->run->world, status);
}

static dm_status remove_result(const dm_files_bench *b) {
  if (b->run->rank != 0 || !unlink(b->multiply.out.file) || errno == ENOENT) return DM_OK;
  return dm_fail(DM_E_IO, "%s: %s", b->multiply.out.file, strerror(errno));
}

/* The process grows with each run: --memory allows the next run as much as the first. */
static void allow_memory(dm_files_bench *b) {
  const int64_t stated = b->wanted->product.engine.memory_host;
  if (stated > 0)
    b->multiply.engine.memory_host = stated + dm_max(0, dm_setup_process_bytes() - b->own);
}

static dm_status multiply_once(dm_files_bench *b, bool overlap, dm_outcome *outcome) {
  allow_memory(b);
  DM_TRY(dm_comm_agree(b->run->world, remove_result(b)));
  DM_TRY(forget_inputs(b));
  b->multiply.engine.wishes.no_overlap = !overlap;
  dm_record *unused = NULL;
  DM_TRY(dm_comm_agree(b->run->world, dm_record_new("multiply", "", &unused)));
  dm_status status = dm_multiply_run(b->run, &b->multiply, unused, outcome);
  dm_record_free(unused);
  /* No hint on resuming: the files are removed. */
  if (status && status->code == DM_E_STOPPED) return dm_hint(status, "%s", "");
  DM_TRY(status);
  if (b->multiply.verify &&
      (b->worst.rows_checked == 0 || outcome->verdict.residual >= b->worst.residual))
    b->worst = outcome->verdict;
  return DM_OK;
}

/* For packed inputs: the rate of one thread, times all threads. */
static dm_status unpack_once(dm_files_bench *b, int64_t turn) {
  double part[2] = {0.0, 0.0};
  dm_status status = DM_OK;
  if (b->run->rank == 0) {
    status = dm_ceiling_unpack(&b->multiply.a, &part[0]);
    if (!status) status = dm_ceiling_unpack(&b->multiply.b, &part[1]);
  }
  DM_TRY(dm_comm_agree(b->run->world, status));
  DM_TRY(dm_comm_max_f64(b->run->world, part, 2));
  for (int w = 0; w < b->widths; w++)
    b->read[w][turn] = (part[0] + part[1]) / (double)(b->width[w] * b->run->ranks);
  return DM_OK;
}

static dm_status read_once(dm_files_bench *b, int64_t turn) {
  if (b->multiply.a.layout == DM_CHUNKED) return unpack_once(b, turn);
  for (int w = 0; w < b->widths; w++) {
    b->read[w][turn] = INFINITY;
    if (b->slow_read[w]) continue;
    DM_TRY(forget_inputs(b));
    DM_TRY(dm_ceiling_read(b->run, b->inputs, 2, b->width[w], &b->read[w][turn]));
  }
  return DM_OK;
}

/* A fresh file each time, as in a job. */
static dm_status write_once(dm_files_bench *b, int64_t turn) {
  const dm_comm *world = b->run->world;
  const dm_problem *p = &b->last.plan.problem;
  b->scratch.bytes = p->m * p->n * dm_dtype_size(p->c);
  for (int w = 0; w < b->writers; w++) {
    b->write[w][turn] = INFINITY;
    if (b->slow_write[w]) continue;
    DM_TRY(dm_comm_agree(world, b->run->rank == 0 ? dm_ceiling_make(&b->scratch) : DM_OK));
    DM_TRY(dm_ceiling_write(b->run, &b->scratch, b->writer[w].way, b->writer[w].threads,
                            &b->write[w][turn]));
  }
  dm_status status = DM_OK;
  if (b->run->rank == 0 && unlink(b->scratch.file))
    status = dm_fail(DM_E_IO, "%s: %s", b->scratch.file, strerror(errno));
  return dm_comm_agree(world, status);
}

/* The second round reuses the contents of slots and shares from the first. */
static dm_status two_rounds(dm_files_bench *b, dm_rank_state *local, double *seconds) {
  const dm_comm *world = b->run->world;
  dm_generated_source source =
      dm_generated_random(local->plan->problem.work, b->wanted->product.seed);
  const dm_step_calls filling = {.context = &source, .load = dm_source_generated.load}, none = {0};
  const unsigned products = DM_PRODUCTS | DM_SUMS;
  const bool streams = dm_plan_streams(local->plan);
  const unsigned kinds = streams ? products | DM_LOADS : products;
  if (!streams) DM_TRY(dm_comm_agree(world, dm_execute(local, DM_LOADS, &filling)));
  if (local->plan->problem.compute.moduli > 0) DM_TRY(dm_rank_scale_by_one(local));
  DM_TRY(dm_comm_barrier(world));
  DM_TRY(dm_execute(local, kinds, streams ? &filling : &none));
  DM_TRY(dm_comm_barrier(world));
  const double start = dm_now();
  DM_TRY(dm_execute(local, kinds, &none));
  *seconds = dm_now() - start;
  return dm_comm_max_f64(world, seconds, 1);
}

/* The products of the plan on operands in memory: the time to compute and to move panels. */
static dm_status compute_once(dm_files_bench *b, double *seconds) {
  dm_setup setup;
  dm_rank_state local;
  dm_run_phase(b->run, "multiplying alone", 1);
  allow_memory(b);
  DM_TRY(dm_setup_open(b->run, &b->multiply.engine, &b->last.plan.problem, &setup));
  setup.plan = b->last.plan;
  setup.plan.strips = 0; /* all strips together */
  setup.plan.stretch = 0;
  setup.plan.todo = NULL;
  dm_status status = dm_rank_open(b->run, &setup.plan, setup.backend, setup.transport, &local);
  if (!status || status->agreed) {
    if (!status) status = two_rounds(b, &local, seconds);
    if (status && !status->agreed) return status;
    dm_rank_close(&local);
    dm_setup_close(&setup);
  }
  return status;
}

static void keep(dm_files_bench *b, int64_t turn, const dm_outcome *with,
                 const dm_outcome *without) {
  const dm_phases *p = &with->worst;
  const double exposed[DM_EXPOSED_PHASES] = {
      p->read,  fmax(0.0, p->multiply - p->gemm), p->reduce, p->write, p->check + p->verify,
      p->commit};
  b->last = *with;
  b->seconds[turn] = with->seconds;
  b->before[turn] = with->before;
  b->plain[turn] = without->seconds;
  for (int i = 0; i < DM_EXPOSED_PHASES; i++) b->exposed[i][turn] = exposed[i];
}

/* After a warm-up round: skips all but the fastest two from now on. */
static void leave_out_slow(bool *slow, double seconds[][DM_MOST_TURNS], int count) {
  for (int w = 0; w < count; w++) {
    int faster = 0;
    for (int v = 0; v < count; v++) faster += seconds[v][0] < seconds[w][0];
    slow[w] |= faster >= 2;
  }
}

/* Measures everything once; the two ways swap order from turn to turn. The first turn overwrites
 * the results of warm-up turns (below 0). */
static dm_status take_turn(dm_files_bench *b, int64_t turn) {
  dm_outcome outcome[2]; /* without overlap, with it */
  const int64_t at = dm_max(turn, 0);
  const bool first = turn % 2 == 0;
  DM_TRY(multiply_once(b, first, &outcome[first]));
  DM_TRY(multiply_once(b, !first, &outcome[!first]));
  keep(b, at, &outcome[1], &outcome[0]);
  DM_TRY(dm_comm_agree(b->run->world, remove_result(b)));
  dm_run_phase(b->run, "measuring the ceilings", DM_SYNC_PATIENCE);
  DM_TRY(read_once(b, at));
  DM_TRY(write_once(b, at));
  DM_TRY(compute_once(b, &b->compute[at]));
  DM_TRY(dm_stop_agree(&b->run->stop, b->run->world));
  if (turn < 0) leave_out_slow(b->slow_read, b->read, b->widths);
  if (turn < 0) leave_out_slow(b->slow_write, b->write, b->writers);
  return DM_OK;
}

/* All ranks have the same times and decide alike. */
static bool is_enough(const dm_files_bench *b, double passed) {
  const dm_bench_multiply *p = &b->wanted->product;
  if (b->count == DM_MOST_TURNS) return true;
  if (p->repetitions > 0) return b->count >= p->repetitions;
  return b->count >= DEFAULT || (b->count >= FEWEST && passed > p->limit);
}

static dm_status repeat(dm_files_bench *b) {
  double passed = 0.0;
  for (int64_t turn = -b->wanted->product.warmup; turn < 0; turn++) DM_TRY(take_turn(b, turn));
  while (!is_enough(b, passed)) {
    double start = dm_now();
    DM_TRY(take_turn(b, b->count));
    b->count++;
    start = dm_now() - start;
    DM_TRY(dm_comm_max_f64(b->run->world, &start, 1));
    passed += start;
  }
  return DM_OK;
}

/* Records the machine and the plan of the runs. */
static dm_status report(dm_files_bench *b, dm_record *record) {
  dm_setup setup;
  allow_memory(b);
  DM_TRY(dm_setup_open(b->run, &b->multiply.engine, &b->last.plan.problem, &setup));
  setup.plan = b->last.plan;
  if (record) dm_bench_files_record(b, &setup, record);
  dm_setup_close(&setup);
  return DM_OK;
}

static dm_status measure(dm_files_bench *b, dm_record *record) {
  const dm_log log = b->run->log;
  const dm_progress_mode progress = b->run->progress;
  DM_TRY(dm_bench_files_make(b));
  DM_TRY(choose_writers(b));
  /* Silences the notes of the many runs. */
  if (log.level == DM_LOG_NOTE) b->run->log.level = DM_LOG_WARNING;
  b->run->progress = DM_PROGRESS_NEVER;
  dm_status status = repeat(b);
  if (!status) status = report(b, record);
  b->run->log = log;
  b->run->progress = progress;
  return status;
}

dm_status dm_bench_files_run(dm_run *run, const dm_bench_files *wanted, dm_record *record) {
  dm_files_bench *b = calloc(1, sizeof *b);
  DM_TRY(dm_comm_agree(run->world, b ? DM_OK : dm_fail(DM_E_FIT, "no memory for a benchmark")));
  b->run = run;
  b->wanted = wanted;
  b->own = dm_setup_process_bytes();
  pose(b);
  choose_widths(b);
  dm_status status = measure(b, run->rank == 0 ? record : NULL);
  if (run->rank == 0) dm_bench_files_remove(b);
  if (!status || status->agreed) free(b);
  return status;
}
