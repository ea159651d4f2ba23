#include "job/multiply.h"

#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/clock.h"
#include "core/units.h"
#include "io/read_ahead.h"
#include "job/engine.h"
#include "job/load.h"
#include "job/phases.h"
#include "job/progress.h"
#include "job/provenance.h"
#include "job/put_in_place.h"
#include "job/store.h"
#include "job/verdict.h"

/* One multiplication from files to a file; what is open, so that it can be closed in one place. */
typedef struct job {
  dm_run *run;
  const dm_multiply *multiply;
  dm_setup setup;
  dm_task task;
  bool task_opened;
  dm_source source[2];
  dm_read_ahead *ahead;
  int64_t unpacked; /* chunks, by all ranks */
  dm_sink sink;
  dm_output_form form; /* completed */
  dm_output_file file;
  bool created;
  dm_progress progress;
  double started;
} job;

static dm_status load(void *context, dm_task *task, dm_matrix matrix) {
  job *j = context;
  return dm_load_share(task, matrix, &j->source[matrix]);
}

static dm_status store(void *context, dm_task *task) {
  job *j = context;
  return dm_store_block(task, &j->sink);
}

static void progress(void *context, int64_t done, int64_t total) {
  job *j = context;
  dm_watch_at(j->run->watch, done, total);
  dm_progress_show(&j->progress, done, total);
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

/* Rank 0 makes the file, the others learn where its data begins. */
static dm_status open_output(job *j) {
  const dm_problem *p = &j->setup.plan.problem;
  dm_status status = DM_OK;
  if (j->run->rank == 0) {
    status = dm_output_create(&j->multiply->out, p->c, p->m, p->n, j->multiply->force, &j->file);
    j->created = status == DM_OK;
    if (!status) status = dm_put_room(&j->file, &j->form);
  }
  DM_TRY(dm_comm_agree(j->run->world, status));
  DM_TRY(dm_comm_broadcast(j->run->world, &j->file, sizeof j->file, 0));
  return dm_comm_agree(j->run->world, dm_output_open(&j->file, &j->sink.output));
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

static dm_status read_shares(job *j) {
  double start = dm_now();
  dm_run_phase(j->run, "reading", 1);
  const dm_task_calls calls = {.context = j, .load = load};
  DM_TRY(dm_comm_agree(j->run->world, dm_execute(&j->task, DM_LOADS, &calls)));
  j->task.phases.read = dm_now() - start;
  return sums_fit(j);
}

static dm_status multiply_panels(job *j) {
  const dm_task_calls calls = {.context = j, .progress = progress, .may_stop = true};
  dm_run_phase(j->run, "multiplying", 1);
  DM_TRY(dm_comm_barrier(j->run->world));
  double start = dm_now();
  dm_progress_start(&j->progress, j->run, "multiplying");
  dm_trace_count_anew(&j->run->trace);
  DM_TRY(dm_execute(&j->task, DM_PRODUCTS, &calls));
  dm_progress_end(&j->progress);
  dm_phases_take(&j->run->trace, dm_now() - start, &j->task.phases);

  start = dm_now();
  const dm_task_calls none = {0};
  dm_run_phase(j->run, "summing over the layers", 1);
  DM_TRY(dm_execute(&j->task, 1u << DM_STEP_REDUCE, &none));
  j->task.phases.reduce = dm_now() - start;
  return DM_OK;
}

static dm_status write_result(job *j) {
  double start = dm_now();
  const dm_task_calls calls = {.context = j, .store = store};
  /* From here on nobody stops: what is left is short beside what would have to be done again. */
  dm_run_phase(j->run, "writing", DM_SYNC_PATIENCE);
  dm_status status = dm_execute(&j->task, 1u << DM_STEP_STORE, &calls);
  if (!status) status = dm_output_sync(j->sink.output);
  status = dm_status_first(status, dm_output_close(j->sink.output));
  j->sink.output = NULL;
  DM_TRY(dm_comm_agree(j->run->world, status));
  j->task.phases.write = dm_now() - start - j->task.phases.verify;
  return DM_OK;
}

static dm_status commit(job *j, const dm_verdict *verdict) {
  dm_status status = DM_OK;
  if (j->run->rank == 0) {
    dm_attributes *attributes = malloc(sizeof *attributes);
    status = attributes ? dm_provenance_of(j->multiply, &j->setup, j->run, verdict, attributes)
                        : dm_fail(DM_E_FIT, "no memory for the provenance");
    double start = dm_now();
    if (!status)
      status = dm_put_in_place(j->run, &j->file, &j->form, j->multiply->engine.io_threads,
                               attributes, j->multiply->force);
    /* Where chunks could not be made the only copy of a result stays. */
    j->created = status != DM_OK && !dm_output_is_chunked(&j->form);
    j->task.phases.commit = dm_now() - start;
    free(attributes);
  }
  return dm_comm_agree(j->run->world, status);
}

static int64_t chunks_of(const dm_dataset *d) {
  if (d->layout != DM_CHUNKED) return 0;
  return dm_ceil_div(d->rows, d->chunk_rows) * dm_ceil_div(d->cols, d->chunk_cols);
}

static void record_inputs(const job *j, dm_record *record) {
  const dm_dataset *inputs[] = {&j->multiply->a, &j->multiply->b};
  const char *const paths[] = {"files.a", "files.b"}, *const labels[] = {"A", "B"};
  for (int i = 0; i < 2; i++) {
    const dm_dataset *d = inputs[i];
    char layout[160];
    dm_io_describe(d, layout, sizeof layout);
    dm_record_text(record, paths[i], labels[i], "%s:%s, %lld x %lld %s, %s", d->at.file,
                   d->at.dataset, (long long)d->rows, (long long)d->cols, dm_dtype_name(d->dtype),
                   layout);
  }
  if (j->unpacked > 0) {
    dm_record_integer(record, "files.chunks", "chunks in A and B", DM_SHOWN_PLAIN,
                      chunks_of(inputs[0]) + chunks_of(inputs[1]));
    dm_record_integer(record, "files.chunks_unpacked", "chunks unpacked", DM_SHOWN_PLAIN,
                      j->unpacked);
  }
  char form[96];
  dm_output_form_text(&j->form, form, sizeof form);
  dm_record_text(record, "files.c", "C", "%s:%s, %s", j->multiply->out.file,
                 j->multiply->out.dataset, form);
}

static void record_result(job *j, const dm_phases *worst, const dm_verdict *verdict,
                          dm_record *record) {
  const dm_problem *p = &j->setup.plan.problem;
  record_inputs(j, record);
  dm_setup_record(&j->setup, j->run, record);
  dm_phases_record(worst, &j->setup.plan, dm_now() - j->started, record);
  if (verdict) dm_verdict_record(verdict, &j->run->log, record);
  dm_record_summary(record,
                    "damier: multiply m=%lld n=%lld k=%lld dtype=%s ranks=%d time_s=%.3f "
                    "multiply_s=%.3f tflops=%.4g residual=%.2g %s",
                    (long long)p->m, (long long)p->n, (long long)p->k, dm_dtype_name(p->work),
                    j->run->ranks, dm_now() - j->started, worst->multiply + worst->reduce,
                    dm_phases_flops(worst, &j->setup.plan) * 1e-12,
                    verdict ? verdict->residual : 0.0,
                    verdict ? dm_verdict_word(verdict) : "UNVERIFIED");
}

/* Completes FORM and counts what it needs on the disk. */
static dm_status complete_form(dm_output_form *form, dm_problem *problem) {
  DM_TRY(dm_output_form_complete(form, problem->c, problem->m, problem->n));
  if (!dm_output_is_chunked(form)) return DM_OK;
  return dm_output_form_bytes(form, problem->c, problem->m, problem->n, &problem->beside_bytes);
}

static dm_status work(job *j, dm_record *record) {
  const dm_multiply *m = j->multiply;
  dm_problem problem;
  DM_TRY(dm_comm_agree(
      j->run->world, dm_problem_of(&m->a, &m->b, m->has_c ? &m->c : NULL, &m->equation, &problem)));
  problem.verify = m->verify;
  j->form = m->form;
  DM_TRY(dm_comm_agree(j->run->world, complete_form(&j->form, &problem)));
  DM_TRY(dm_setup_open(j->run, &m->engine, &problem, &j->setup));
  DM_TRY(dm_comm_agree(j->run->world, open_inputs(j)));
  if (m->verify)
    DM_TRY(
        dm_comm_agree(j->run->world, dm_freivalds_new(&problem, m->equation.alpha, m->equation.beta,
                                                      j->setup.plan.gpu, &j->sink.check)));
  DM_TRY(open_output(j));
  j->task_opened = true;
  DM_TRY(dm_task_open(j->run, &j->setup.plan, j->setup.backend, j->setup.transport, &j->task));
  DM_TRY(read_shares(j));
  dm_run_phase(j->run, "checking A and B", 1);
  if (m->verify) DM_TRY(dm_check_operands(&j->task, j->sink.check));
  DM_TRY(multiply_panels(j));
  DM_TRY(write_result(j));
  dm_run_phase(j->run, "verifying", DM_SYNC_PATIENCE);

  dm_verdict verdict;
  if (m->verify) DM_TRY(dm_freivalds_judge(j->sink.check, j->run->world, &verdict));
  j->unpacked = dm_read_ahead_unpacked(j->ahead);
  DM_TRY(dm_comm_sum_i64(j->run->world, &j->unpacked, 1));
  dm_phases worst;
  DM_TRY(dm_phases_worst(j->run, &j->task, &worst));
  if (!m->verify || verdict.pass) DM_TRY(commit(j, m->verify ? &verdict : NULL));
  worst.commit = j->task.phases.commit;
  if (record) record_result(j, &worst, m->verify ? &verdict : NULL, record);
  DM_TRY(dm_phases_by_rank(j->run, &j->task.phases, record));
  if (!m->verify || verdict.pass) return DM_OK;
  j->created = false; /* what failed stays to be looked at, under a name that says unfinished */
  return dm_hint(dm_verdict_status(&verdict, j->multiply->out.file),
                 "the result is kept as %s; %s was not touched", j->file.part, m->out.file);
}

dm_status dm_multiply_run(dm_run *run, const dm_multiply *multiply, dm_record *record) {
  job j = {.run = run, .multiply = multiply, .started = dm_now()};
  memcpy(j.sink.alpha, multiply->equation.alpha, sizeof j.sink.alpha);
  memcpy(j.sink.beta, multiply->equation.beta, sizeof j.sink.beta);
  dm_status status = work(&j, run->rank == 0 ? record : NULL);
  dm_status closed = dm_output_close(j.sink.output);
  if (j.created) dm_output_discard(&j.file);
  /* Where one rank failed alone the others are still at work: the launcher ends them all. */
  if (status && !status->agreed) return dm_status_first(status, closed);
  dm_read_ahead_close(j.ahead); /* before the memory goes that it reads into */
  if (j.task_opened) dm_task_close(&j.task);
  dm_reader_close(j.source[DM_A].reader);
  dm_reader_close(j.source[DM_B].reader);
  dm_reader_close(j.sink.old);
  dm_freivalds_free(j.sink.check);
  dm_setup_close(&j.setup);
  return dm_status_first(status, closed);
}
