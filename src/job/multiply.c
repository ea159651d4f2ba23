#include "job/multiply.h"

#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/clock.h"
#include "core/units.h"
#include "io/read_ahead.h"
#include "job/engine.h"
#include "job/inflow.h"
#include "job/last_strips.h"
#include "job/multiply_record.h"
#include "job/passing.h"
#include "job/phases.h"
#include "job/progress.h"
#include "job/provenance.h"
#include "job/put_in_place.h"
#include "job/store.h"
#include "job/verdict.h"
#include "job/verify.h"
#include "plan/tiles.h"

/* One multiplication from files to a file; what is open, so that it can be closed in one place. */
typedef struct job {
  dm_run *run;
  const dm_multiply *multiply;
  dm_setup setup;
  dm_task task;
  bool task_opened;
  dm_source source[2];
  dm_read_ahead *ahead;
  dm_inflow inflow;
  dm_sink sink;
  dm_output_form form; /* completed */
  dm_passing passing;
  dm_output_file file;
  int64_t taken_up; /* tiles of an earlier run, */
  bool from_files;  /* for whose sake C is verified as it is in the file */
  bool keep_part;
  dm_progress progress;
  dm_pulse moves; /* of readers while panels are multiplied: there nobody stops alone */
  double started;
} job;

static bool is_on_device(const dm_task *task, dm_matrix matrix) {
  return (matrix == DM_A ? task->a.space : task->b.space) == DM_DEVICE;
}

static dm_status load(void *context, dm_task *task, dm_matrix matrix, int64_t panel) {
  job *j = context;
  if (!is_on_device(task, matrix)) return dm_inflow_load(&j->inflow, matrix, panel);
  if (panel > task->panels.begin) return DM_OK;
  return dm_load_device_share(task, matrix, &j->source[matrix]);
}

static dm_status loaded(void *context, dm_task *task, dm_matrix matrix, int64_t panel, bool *done) {
  job *j = context;
  *done = true;
  return is_on_device(task, matrix) ? DM_OK : dm_inflow_loaded(&j->inflow, matrix, panel, done);
}

static dm_status check(void *context, dm_task *task, int64_t panel, bool *done) {
  job *j = context;
  return dm_passing_check(&j->passing, task, panel, done);
}

static dm_status store(void *context, dm_task *task, dm_range rows, bool *done) {
  job *j = context;
  DM_TRY(dm_store_rows(task, &j->sink, rows, done));
  if (!*done || rows.end < dm_range_size(dm_task_sums(task))) return DM_OK;
  return dm_checkpoint_stored(j->sink.checkpoint, task->tile);
}

static dm_status moves(void *context) {
  dm_run *run = context;
  dm_watch_moved(run->watch);
  dm_watch_poll(run->watch);
  return DM_OK;
}

static int64_t bytes_read(const job *j) {
  int64_t bytes = j->sink.old ? dm_reader_bytes(j->sink.old) : 0;
  for (int x = 0; x < 2; x++) bytes += dm_reader_bytes(j->source[x].reader);
  return bytes;
}

/* Part of the work that stands in the tiles of an earlier run. */
static double part_before(const job *j) {
  return (double)j->taken_up / (double)dm_plan_tiles(&j->setup.plan);
}

static dm_status progress(void *context, int64_t done, int64_t total) {
  job *j = context;
  dm_watch_at(j->run->watch, done, total);
  if (total > 0)
    dm_progress_show(&j->progress,
                     (dm_standing){.done = part_before(j) + (double)done / (double)total,
                                   .read = bytes_read(j),
                                   .written = j->sink.written});
  return dm_checkpoint_poll(j->sink.checkpoint);
}

static void start_progress(job *j) {
  const dm_plan *plan = &j->setup.plan;
  dm_progress_start(&j->progress, j->run, "multiplying", dm_product_flops(&plan->problem),
                    part_before(j), dm_plan_used(plan));
}

static dm_status open_inputs(job *j) {
  const dm_multiply *m = j->multiply;
  j->source[DM_A].op = m->equation.op_a;
  j->source[DM_B].op = m->equation.op_b;
  DM_TRY(dm_reader_open(&m->a, m->equation.type, &j->source[DM_A].reader));
  DM_TRY(dm_reader_open(&m->b, m->equation.type, &j->source[DM_B].reader));
  dm_reader_pulse(j->source[DM_A].reader, &j->run->pulse);
  dm_reader_pulse(j->source[DM_B].reader, &j->run->pulse);
  if (j->setup.plan.problem.reads_c) DM_TRY(dm_reader_open(&m->c, DM_DTYPE_NONE, &j->sink.old));
  DM_TRY(dm_read_ahead_open(dm_run_io_threads(j->run, m->engine.io_threads), DM_READ_MEMORY,
                            &j->ahead));
  for (int i = 0; i < 2; i++) {
    dm_reader_lean_on(j->source[i].reader, j->ahead);
    j->source[i].ahead = j->ahead;
  }
  if (j->sink.old) dm_reader_lean_on(j->sink.old, j->ahead);
  return DM_OK;
}

static dm_status open_part(job *j) {
  DM_TRY(dm_output_open(&j->file, &j->sink.output));
  return dm_write_behind_open(
      j->sink.output, dm_run_io_threads(j->run, j->multiply->engine.io_threads), &j->sink.behind);
}

static dm_status open_output(job *j) {
  DM_TRY(dm_checkpoint_begin(j->sink.checkpoint, &j->setup, &j->file, &j->taken_up));
  j->setup.plan.done = j->taken_up;
  DM_TRY(dm_comm_agree(j->run->world, j->run->rank == 0 ? dm_put_room(&j->file, &j->form) : DM_OK));
  DM_TRY(dm_comm_agree(j->run->world, open_part(j)));
  dm_checkpoint_watch(j->sink.checkpoint, j->sink.output);
  return DM_OK;
}

/* The sum of k products of i8 must fit i32; it always does up to k = 131071. */
static dm_status sums_fit(job *j) {
  const dm_problem *p = &j->setup.plan.problem;
  if (p->work != DM_I8) return DM_OK;
  double largest[2] = {j->source[DM_A].largest, j->source[DM_B].largest};
  DM_TRY(dm_comm_max_f64(j->run->world, largest, 2));
  if (largest[0] * largest[1] * (double)p->k <= 2147483647.0) return DM_OK;
  dm_status status =
      dm_hint(dm_fail(DM_E_INPUT, "sums of %lld products of i8 may not fit i32", (long long)p->k),
              "--type f64 multiplies in f64");
  status->agreed = true;
  return status;
}

/* While panels are multiplied nobody stops alone. */
static void stop_together(job *j) {
  j->moves = (dm_pulse){moves, j->run};
  for (int x = 0; x < 2; x++) dm_reader_pulse(j->source[x].reader, &j->moves);
}

/* Steps of KINDS; what took time goes to where it belongs. */
static dm_status run_steps(job *j, unsigned kinds, const dm_task_calls *calls) {
  dm_phases *phases = &j->task.phases;
  const double start = dm_now(), others = phases->check + phases->verify;
  dm_trace_count_anew(&j->run->trace);
  dm_status status = dm_execute(&j->task, kinds, calls);
  if (!status) dm_phases_take(&j->run->trace, dm_now() - start, others, phases);
  return status;
}

static dm_status read_shares(job *j) {
  dm_run_phase(j->run, "reading", 1);
  const dm_task_calls calls = {.context = j, .load = load, .loaded = loaded};
  return dm_comm_agree(j->run->world, run_steps(j, DM_LOADS, &calls));
}

static dm_status check_shares(job *j) {
  DM_TRY(sums_fit(j));
  if (!j->setup.plan.problem.verify) return DM_OK;
  dm_run_phase(j->run, "checking A and B", 1);
  return dm_check_operands(&j->task, j->sink.check);
}

/* C in tiles: each is written when it is there; what does not stay in memory is read again. */
static dm_status multiply_tiles(job *j) {
  const bool streams = dm_plan_streams(&j->setup.plan);
  const dm_task_calls calls = {.context = j,
                               .load = load,
                               .loaded = loaded,
                               .check = check,
                               .store = store,
                               .progress = progress,
                               .may_stop = true};
  j->passing.check = j->sink.check;
  if (streams && j->sink.check) {
    dm_run_phase(j->run, "sampling B", 1);
    DM_TRY(dm_passing_sample(&j->passing, j->run, &j->setup.plan.problem, &j->source[DM_B]));
  }
  if (!streams) {
    DM_TRY(read_shares(j));
    DM_TRY(check_shares(j));
  }
  stop_together(j);
  dm_run_phase(j->run, "multiplying", streams ? DM_SYNC_PATIENCE : 1);
  DM_TRY(dm_comm_barrier(j->run->world));
  start_progress(j);
  DM_TRY(run_steps(j, streams ? DM_ALL_STEPS : DM_ALL_STEPS & ~DM_LOADS, &calls));
  dm_progress_end(&j->progress);
  return streams ? sums_fit(j) : DM_OK;
}

/* Whether products may begin before all of A and B is there. */
static bool reads_behind(const dm_plan *plan) {
  return plan->overlap && plan->a == DM_IN_HOST && plan->b == DM_IN_HOST;
}

static dm_status sum_layers(job *j) {
  const dm_task_calls none = {0};
  const double start = dm_now();
  dm_run_phase(j->run, "summing over the layers", 1);
  DM_TRY(dm_execute(&j->task, 1u << DM_STEP_REDUCE, &none));
  j->task.phases.reduce = dm_now() - start;
  return DM_OK;
}

/* C in one piece, except for the last strips: they wait until all of A and B was looked at. */
static dm_status multiply_panels(job *j) {
  const dm_plan *plan = &j->setup.plan;
  const bool behind = reads_behind(plan);
  const dm_task_calls calls = {
      .context = j, .load = load, .loaded = loaded, .progress = progress, .may_stop = true};
  if (!behind) {
    DM_TRY(read_shares(j));
    DM_TRY(check_shares(j));
  }
  stop_together(j);
  dm_run_phase(j->run, behind ? "reading and multiplying" : "multiplying", 1);
  DM_TRY(dm_comm_barrier(j->run->world));
  start_progress(j);
  DM_TRY(run_steps(j, behind ? DM_LOADS | DM_PRODUCTS : DM_PRODUCTS, &calls));
  if (behind) DM_TRY(check_shares(j));
  if (plan->pk > 1) DM_TRY(sum_layers(j));
  return DM_OK;
}

/* What is left of a C in one piece: its last strips, and its way into the file. */
static dm_status write_block(job *j) {
  const dm_task_calls calls = {.context = j, .store = store, .progress = progress};
  dm_phases *phases = &j->task.phases;
  if (j->setup.plan.strips == 0) return run_steps(j, 1u << DM_STEP_STORE, &calls);
  const double start = dm_now(), others = phases->check + phases->verify;
  dm_trace_count_anew(&j->run->trace);
  DM_TRY(dm_multiply_last_strips(&j->task, &calls));
  dm_phases_take(&j->run->trace, dm_now() - start, others, phases);
  return DM_OK;
}

static dm_status write_result(job *j, bool stored) {
  dm_status status = DM_OK;
  /* From here on nobody stops: what is left is short beside what would have to be done again. */
  dm_run_phase(j->run, "writing", DM_SYNC_PATIENCE);
  if (!stored) status = dm_comm_agree(j->run->world, write_block(j));
  if (!stored) dm_progress_end(&j->progress);
  const double start = dm_now();
  dm_write_behind_close(j->sink.behind);
  j->sink.behind = NULL;
  if (!status) status = dm_checkpoint_flush(j->sink.checkpoint, false);
  status = dm_status_first(status, dm_output_close(j->sink.output));
  j->sink.output = NULL;
  dm_checkpoint_watch(j->sink.checkpoint, NULL);
  DM_TRY(dm_comm_agree(j->run->world, status));
  j->task.phases.write += dm_now() - start;
  return DM_OK;
}

/* Where the panels that passed cannot tell, or an earlier run wrote part of C, the files are read.
 */
static dm_status judge_files(job *j, dm_verdict *verdict) {
  const dm_multiply *m = j->multiply;
  const double start = dm_now();
  dm_verify verify = {.a = m->a,
                      .b = m->b,
                      .has_c0 = m->has_c,
                      .c0 = m->c,
                      .equation = m->equation,
                      .tensor = j->setup.plan.gpu,
                      .norm = -1.0};
  DM_TRY(dm_comm_agree(j->run->world, dm_checkpoint_part(&j->file, &verify.c)));
  DM_TRY(dm_verify_residual(j->run, &verify, &j->setup.plan.problem, verdict));
  j->task.phases.verify += dm_now() - start;
  return DM_OK;
}

static dm_status judge(job *j, dm_verdict *verdict) {
  bool sound = !j->from_files;
  dm_run_phase(j->run, "verifying", DM_SYNC_PATIENCE);
  if (sound && dm_plan_streams(&j->setup.plan)) {
    DM_TRY(dm_freivalds_settle(j->sink.check, j->run->world, &sound));
    if (!sound)
      dm_log_line(&j->run->log, DM_LOG_NOTE,
                  "B has NaN, Inf or unlike rows: the files are read again");
  }
  return sound ? dm_freivalds_judge(j->sink.check, j->run->world, verdict)
               : judge_files(j, verdict);
}

static dm_status commit(job *j, const dm_verdict *verdict) {
  dm_status status = DM_OK;
  if (j->run->rank == 0) {
    dm_attributes *attributes = malloc(sizeof *attributes);
    status = attributes ? dm_provenance_of(j->multiply, &j->setup, j->run, verdict, attributes)
                        : dm_fail(DM_E_FIT, "no memory for the provenance");
    int64_t count;
    const dm_tile_record *tiles = dm_checkpoint_tiles(j->sink.checkpoint, &count);
    double start = dm_now();
    if (!status)
      status = dm_put_in_place(j->run, &j->file, &j->form, j->multiply->engine.io_threads,
                               attributes, tiles, count, j->multiply->force);
    /* Where chunks could not be made the only copy of a result stays. */
    j->keep_part = status != DM_OK && dm_output_is_chunked(&j->form);
    j->task.phases.commit = dm_now() - start;
    free(attributes);
  }
  return dm_comm_agree(j->run->world, status);
}

/* Completes FORM and counts what it needs on the disk. */
static dm_status complete_form(dm_output_form *form, dm_problem *problem) {
  DM_TRY(dm_output_form_complete(form, problem->c, problem->m, problem->n));
  if (!dm_output_is_chunked(form)) return DM_OK;
  return dm_output_form_bytes(form, problem->c, problem->m, problem->n, &problem->beside_bytes);
}

/* Reads, multiplies and writes the tiles that are not there yet. */
static dm_status compute(job *j) {
  const dm_multiply *m = j->multiply;
  const dm_problem *problem = &j->setup.plan.problem;
  if (problem->verify)
    DM_TRY(
        dm_comm_agree(j->run->world, dm_freivalds_new(problem, m->equation.alpha, m->equation.beta,
                                                      j->setup.plan.gpu, &j->sink.check)));
  j->task_opened = true;
  DM_TRY(dm_task_open(j->run, &j->setup.plan, j->setup.backend, j->setup.transport, &j->task));
  DM_TRY(dm_comm_agree(j->run->world, dm_inflow_open(&j->task, j->source, &j->inflow)));
  const bool whole = !dm_plan_streams(&j->setup.plan) && dm_plan_tiles(&j->setup.plan) == 1;
  DM_TRY(whole ? multiply_panels(j) : multiply_tiles(j));
  return write_result(j, !whole);
}

/* How large the factors are that an earlier run multiplied only the verification can tell. */
static dm_status sums_known(const job *j, const dm_problem *p) {
  if (!j->from_files || j->multiply->verify || p->work != DM_I8 || p->k <= 131071) return DM_OK;
  return dm_hint(
      dm_fail(DM_E_USAGE, "i8 with k = %lld is not resumed without verification", (long long)p->k),
      "leave out --no-verify");
}

static dm_status prepare(job *j) {
  const dm_multiply *m = j->multiply;
  dm_problem problem;
  DM_TRY(dm_comm_agree(
      j->run->world, dm_problem_of(&m->a, &m->b, m->has_c ? &m->c : NULL, &m->equation, &problem)));
  j->form = m->form;
  DM_TRY(dm_comm_agree(j->run->world, complete_form(&j->form, &problem)));
  DM_TRY(dm_checkpoint_open(j->run, m, &problem, &j->sink.checkpoint));
  j->from_files = dm_checkpoint_recorded(j->sink.checkpoint) > 0;
  problem.verify = m->verify && !j->from_files;
  DM_TRY(dm_comm_agree(j->run->world, sums_known(j, &problem)));
  dm_engine engine = m->engine;
  dm_checkpoint_impose(j->sink.checkpoint, &engine.wishes);
  DM_TRY(dm_setup_open(j->run, &engine, &problem, &j->setup));
  DM_TRY(dm_comm_agree(j->run->world, open_inputs(j)));
  return open_output(j);
}

static dm_status work(job *j, dm_record *record) {
  const dm_multiply *m = j->multiply;
  DM_TRY(prepare(j));
  if (j->taken_up < dm_plan_tiles(&j->setup.plan)) DM_TRY(compute(j));
  dm_verdict verdict;
  if (m->verify) DM_TRY(judge(j, &verdict));
  int64_t unpacked = dm_read_ahead_unpacked(j->ahead);
  DM_TRY(dm_comm_sum_i64(j->run->world, &unpacked, 1));
  dm_phases worst;
  j->task.phases.from_files = bytes_read(j);
  DM_TRY(dm_phases_worst(j->run, &j->task, &worst));
  if (!m->verify || verdict.pass) DM_TRY(commit(j, m->verify ? &verdict : NULL));
  worst.commit = j->task.phases.commit;
  const dm_multiplied done = {.run = j->run,
                              .multiply = m,
                              .setup = &j->setup,
                              .form = &j->form,
                              .worst = &worst,
                              .verdict = m->verify ? &verdict : NULL,
                              .unpacked = unpacked,
                              .seconds = dm_now() - j->started};
  if (record) dm_multiply_record(&done, record);
  DM_TRY(dm_phases_by_rank(j->run, &j->task.phases, record));
  if (!m->verify || verdict.pass) return DM_OK;
  j->keep_part = true; /* what failed stays to be looked at, under a name that says unfinished */
  return dm_hint(dm_verdict_status(&verdict, j->multiply->out.file),
                 "the result is kept as %s; %s was not touched", j->file.part, m->out.file);
}

/* What is there when a run is stopped is made safe and recorded. */
static dm_status end_early(job *j, dm_status status) {
  if (!status || status->code != DM_E_STOPPED || !status->agreed || !j->sink.checkpoint)
    return status;
  dm_status flushed = dm_checkpoint_flush(j->sink.checkpoint, true);
  if (!flushed) return status;
  dm_status_free(status);
  return flushed;
}

dm_status dm_multiply_run(dm_run *run, const dm_multiply *multiply, dm_record *record) {
  job j = {.run = run, .multiply = multiply, .started = dm_now()};
  memcpy(j.sink.alpha, multiply->equation.alpha, sizeof j.sink.alpha);
  memcpy(j.sink.beta, multiply->equation.beta, sizeof j.sink.beta);
  dm_status status = end_early(&j, work(&j, run->rank == 0 ? record : NULL));
  dm_write_behind_close(j.sink.behind);
  status = dm_status_first(status, dm_output_close(j.sink.output));
  status = dm_checkpoint_close(j.sink.checkpoint, status, j.keep_part);
  /* Where one rank failed alone the others are still at work: the launcher ends them all. */
  if (status && !status->agreed) return status;
  dm_read_ahead_close(j.ahead); /* before the memory goes that it reads into */
  dm_inflow_close(&j.inflow);
  dm_store_abandon(&j.task, &j.sink);
  if (j.task_opened) dm_task_close(&j.task);
  dm_reader_close(j.source[DM_A].reader);
  dm_reader_close(j.source[DM_B].reader);
  dm_reader_close(j.sink.old);
  dm_freivalds_free(j.sink.check);
  dm_setup_close(&j.setup);
  return status;
}
