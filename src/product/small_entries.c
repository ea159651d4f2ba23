#include "product/small_entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/verdict.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/element_sum.h"
#include "engine/dataset_input.h"
#include "engine/phases.h"
#include "file/file_queue.h"
#include "file/naming.h"
#include "plan/plan_text.h"
#include "product/endpoints.h"
#include "product/in_place.h"
#include "product/provenance.h"
#include "product/rows_file.h"

enum {
  LEAST_ENTRIES = 256, /* fewer are a matter of milliseconds as tiles, too */
  RUN = 16 << 20,      /* bytes of each factor, and of C, in a run of entries */
};

typedef struct work {
  dm_run *run;
  const dm_multiply *multiply;
  dm_problem problem;
  int64_t entry_rows, each; /* rows of op(A) and C in an entry; entries in a run */
  dm_dataset_input input[2];
  dm_file_queue *ahead;
  void *factor[2]; /* room for a run of op(A) and op(B) */
  dm_in_place kept;
  dm_verdict verdict;    /* on all runs so far */
  dm_tile_record *tiles; /* one for each run */
  int64_t runs;          /* so far */
  dm_progress progress;
  double reading, multiplying; /* seconds */
} work;

/* ---- which products ---- */

static bool is_plain(const dm_multiply *m) {
  const dm_wishes *w = &m->engine.wishes;
  const bool on_host =
      strcmp(m->engine.backend, "auto") == 0 || strcmp(m->engine.backend, "cpu") == 0;
  const bool records = m->checkpoint && m->checkpoint_interval == 0.0; /* asked for */
  return on_host && strcmp(m->engine.kernel, "auto") == 0 && !m->measurement && !m->verify_files &&
         !w->reproducible && !m->equation.own && w->pm == 0 && w->panel == 0 && w->tiles_m == 0 &&
         m->engine.memory_host == 0 && m->engine.memory_device == 0 && !records &&
         m->on_corruption == DM_ON_CORRUPTION_REPAIR && m->read_back != DM_READ_BACK_ALWAYS &&
         !m->a.meaning.active && !m->b.meaning.active && !m->a.swmr && !m->b.swmr;
}

static bool is_written(const dm_multiply *m) {
  return dm_multiply_in_file(m, DM_C) || (m->whole_c.base && m->whole_c.col_stride == 1);
}

/* An earlier run that was interrupted is resumed by the pipeline. */
static bool is_new(const dm_multiply *m) {
  char journal[DM_SIBLING_PATH];
  if (m->in_memory[DM_C]) return true;
  dm_status status = dm_io_sibling(&m->out, ".journal", journal);
  const bool first = !status && access(journal, F_OK) != 0;
  dm_status_free(status);
  return first && !m->whole.at.file[0];
}

static int64_t run_bytes(const work *w) {
  const dm_problem *p = &w->problem;
  const int64_t elements = w->entry_rows * p->k + p->k * p->n + 2 * w->entry_rows * p->n;
  return w->each * elements * dm_dtype_size(p->accumulator);
}

static bool suits(const work *w) {
  const dm_multiply *m = w->multiply;
  const dm_problem *p = &w->problem;
  const bool native = !dm_dtype_is_integer(p->work) && p->c == p->accumulator;
  const bool zero = m->equation.alpha[0] == 0.0 && m->equation.alpha[1] == 0.0;
  return w->run->ranks == 1 && p->batch >= LEAST_ENTRIES && is_plain(m) && native && !zero &&
         !p->no_k && p->symmetry == DM_NO_SYMMETRY && dm_compute_is_plain(&p->compute) &&
         dm_entries_are_small(p->batch, w->entry_rows, p->n, p->k) &&
         dm_multiply_is_read(m, DM_A) && dm_multiply_is_read(m, DM_B) && is_written(m) &&
         is_new(m) &&
         run_bytes(w) + 2 * DM_READ_MEMORY <= dm_setup_share(0, (double)dm_memory_available());
}

/* As many entries as RUN has room for, of the largest of three matrices. */
static int64_t entries_of_run(const dm_problem *p, int64_t rows) {
  const int64_t most = dm_max(rows * p->n, dm_max(rows * p->k, p->k * p->n));
  return dm_max(1, dm_min(p->batch, RUN / (most * dm_dtype_size(p->accumulator))));
}

/* ---- a run of entries ---- */

/* ROWS packed rows at DATA. */
static dm_memory_matrix in_rows(const work *w, void *data, int64_t rows, int64_t cols,
                                int64_t stride) {
  return (dm_memory_matrix){.division = DM_BY_ROWS,
                            .dtype = w->problem.accumulator,
                            .rows = rows,
                            .cols = cols,
                            .data = data,
                            .row_stride = stride,
                            .col_stride = 1,
                            .own_rows = rows};
}

static dm_status read_factors(work *w, int64_t first, dm_view factor[2]) {
  const dm_dtype type = w->problem.accumulator; /* f16 and bf16 are widened, exactly */
  const double start = dm_now();
  for (int x = 0; x < 2; x++) {
    const int64_t rows = factor[x].rows, cols = factor[x].cols;
    factor[x] = dm_view_row_major(w->factor[x], type, rows, cols);
    DM_TRY(dm_dataset_input_read(&w->input[x], first * (x == 0 ? w->entry_rows : w->problem.k), 0,
                                 factor[x]));
  }
  w->reading += dm_now() - start;
  return DM_OK;
}

/* All runs draw the same vector. */
static dm_check_seed seed_of(const work *w) {
  const dm_verdict *v = &w->verdict;
  return w->runs > 0 && v->drawn ? (dm_check_seed){.stated = true, .value = v->seed}
                                 : w->multiply->seed;
}

static void join(work *w, const dm_verdict *of_run, int64_t row) {
  const int64_t repaired = w->verdict.repaired + of_run->repaired;
  if (w->runs > 0)
    dm_verdict_join(&w->verdict, of_run, row);
  else
    w->verdict = *of_run;
  w->verdict.repaired = repaired;
}

/* C is the run's part, from row ROW on. */
static dm_status multiply_run(work *w, const dm_view factor[2], dm_view c, int64_t row) {
  const dm_problem *p = &w->problem;
  const int64_t entries = c.rows / w->entry_rows;
  const dm_memory_matrix at[3] = {in_rows(w, factor[0].base, factor[0].rows, p->k, p->k),
                                  in_rows(w, factor[1].base, factor[1].rows, p->n, p->n),
                                  in_rows(w, c.base, c.rows, c.cols, c.row_stride)};
  dm_multiply job = *w->multiply;
  dm_dataset *const sets[2] = {&job.a, &job.b};
  dm_run quiet = *w->run; /* the callback hears of all runs */
  dm_in_place_outcome outcome;
  bool taken;
  quiet.at = NULL;
  for (int x = 0; x < 2; x++) {
    *sets[x] = (dm_dataset){
        .rows = at[x].rows, .cols = at[x].cols, .dtype = p->accumulator, .batch = entries};
    job.in_memory[x] = &at[x];
  }
  job.in_memory[DM_C] = &at[2];
  job.equation.op_a = job.equation.op_b = DM_OP_N;
  job.equation.type = DM_DTYPE_NONE;
  job.equation.type_c = p->c;
  job.equation.compute = 0; /* auto: the mode is a plain one */
  job.engine.backend = "cpu";
  job.seed = seed_of(w);
  const double start = dm_now();
  dm_status status = dm_in_place_run(&w->kept, &quiet, &job, &outcome, &taken);
  if (!status && !taken) status = dm_fail(DM_E_BUG, "entries in memory are not multiplied there");
  w->multiplying += dm_now() - start;
  if (status) return status;
  join(w, &outcome.verdict, row);
  if (!w->multiply->verify || strcmp(dm_verdict_word(&outcome.verdict), "PASS") == 0) return DM_OK;
  return dm_fail(DM_E_UNCHECKED, "entries from row %lld on are not plain", (long long)row);
}

static dm_status report_progress(work *w, int64_t rows) {
  const dm_problem *p = &w->problem;
  const dm_run *run = w->run;
  const int64_t written = rows * p->n * dm_dtype_size(p->c);
  if (dm_progress_is_due(&w->progress))
    dm_progress_show(&w->progress, (dm_standing){.done = (double)rows / (double)p->m,
                                                 .read = dm_reader_bytes(w->input[0].reader) +
                                                         dm_reader_bytes(w->input[1].reader),
                                                 .written = written});
  if (run->at) run->at(run->at_context, rows, p->m);
  return dm_run_beat(w->run);
}

static dm_status make_run(void *context, dm_view c, int64_t row) {
  work *w = context;
  const dm_problem *p = &w->problem;
  const int64_t first = row / w->entry_rows, entries = c.rows / w->entry_rows;
  dm_view factor[2] = {{.rows = c.rows, .cols = p->k}, {.rows = entries * p->k, .cols = p->n}};
  DM_TRY(read_factors(w, first, factor));
  DM_TRY(multiply_run(w, factor, c, row));
  if (w->multiply->protect && !w->multiply->in_memory[DM_C])
    w->tiles[w->runs] = (dm_tile_record){.row = row,
                                         .rows = c.rows,
                                         .cols = c.cols,
                                         .checksum = dm_checksum_view(c, row, 0, c.cols)};
  w->runs++;
  return report_progress(w, row + c.rows);
}

/* ---- all runs ---- */

static dm_status open_inputs(work *w) {
  const dm_multiply *m = w->multiply;
  const dm_dataset *const sets[2] = {&m->a, &m->b};
  const dm_op ops[2] = {m->equation.op_a, m->equation.op_b};
  const int64_t rows[2] = {w->each * w->entry_rows, w->each * w->problem.k};
  const int64_t cols[2] = {w->problem.k, w->problem.n};
  DM_TRY(dm_file_queue_open(dm_run_io_threads(w->run, m->engine.io_threads), DM_READ_MEMORY,
                            &w->ahead));
  for (int x = 0; x < 2; x++) {
    w->input[x] = (dm_dataset_input){.op = ops[x], .chunked = sets[x]->chunk_rows > 0};
    DM_TRY(dm_reader_open(sets[x], m->equation.type, &w->input[x].reader));
    dm_reader_lean_on(w->input[x].reader, w->ahead);
    dm_reader_keepalive(w->input[x].reader, &w->run->keepalive);
    DM_TRY(
        dm_buffer_alloc(rows[x] * cols[x] * dm_dtype_size(w->problem.accumulator), &w->factor[x]));
  }
  return dm_buffer_table(dm_ceil_div(w->problem.batch, w->each), &w->tiles);
}

static const dm_verdict *verdict_of(const work *w) {
  return w->multiply->verify ? &w->verdict : NULL;
}

static const char *recipe_of(const work *w, char text[DM_RECIPE]) {
  snprintf(text, DM_RECIPE, "in place, in runs of %lld entries, by %s", (long long)w->each,
           w->kept.device[0].library);
  return text;
}

/* Called before C gets its name. */
static dm_status describe(void *context, const dm_run *run, dm_attributes *list) {
  const work *w = context;
  char recipe[DM_RECIPE];
  const dm_maker maker = {&w->problem, "cpu", w->kept.device[0].name, recipe_of(w, recipe)};
  DM_TRY(dm_io_unchanged(&w->multiply->a));
  DM_TRY(dm_io_unchanged(&w->multiply->b));
  return dm_provenance_by(w->multiply, &maker, run, verdict_of(w), list);
}

static dm_status write_file(work *w, dm_output_form *form) {
  const dm_multiply *m = w->multiply;
  const dm_problem *p = &w->problem;
  *form = m->form;
  DM_TRY(dm_output_form_complete(form, p->c, p->m, p->n));
  const dm_rows_file file = {.out = m->out,
                             .rows = p->m,
                             .cols = p->n,
                             .dtype = p->c,
                             .form = *form,
                             .io_threads = m->engine.io_threads,
                             .write_by = m->engine.write_by,
                             .force = m->force,
                             .height = w->each * w->entry_rows,
                             .bring = make_run,
                             .describe = describe,
                             .tiles = m->protect ? w->tiles : NULL,
                             .tile_count = m->protect ? dm_ceil_div(p->batch, w->each) : 0,
                             .context = w};
  return dm_rows_file_write(w->run, &file);
}

static dm_status fill_memory(work *w) {
  const dm_problem *p = &w->problem;
  const int64_t height = w->each * w->entry_rows;
  for (int64_t row = 0; row < p->m; row += height)
    DM_TRY(make_run(w, dm_view_sub(w->multiply->whole_c, row, 0, dm_min(height, p->m - row), p->n),
                    row));
  return DM_OK;
}

static void report(const work *w, const dm_output_form *form, dm_record *record) {
  const double seconds = dm_now() - w->run->born;
  const dm_multiplied done = {.run = w->run,
                              .multiply = w->multiply,
                              .form = form,
                              .verdict = verdict_of(w),
                              .unpacked = dm_file_queue_unpacked(w->ahead),
                              .seconds = seconds};
  const dm_setup setup = {
      .backend = w->kept.host, .device = w->kept.device[0], .plan = {.problem = w->problem}};
  const double flops = dm_product_flops(&w->problem) / w->multiplying;
  const dm_equation *e = &w->multiply->equation;
  const dm_checked checked = {&w->problem, e->alpha, e->beta, NULL, NULL};
  char recipe[DM_RECIPE];
  dm_multiply_record_files(&done, record);
  dm_setup_record_product(&setup, w->run, record);
  dm_record_text(record, "plan.recipe", "plan", "%s", recipe_of(w, recipe));
  dm_record_text(record, "plan.grid", NULL, "1x1x1");
  dm_record_integer(record, "plan.tiles", NULL, DM_SHOWN_PLAIN, w->runs);
  dm_run_record_launch(w->run, record);
  dm_record_real(record, "times.total_s", "total", DM_SHOWN_SECONDS, seconds);
  dm_record_real(record, "times.read_s", "  reading", DM_SHOWN_SECONDS, w->reading);
  dm_record_real(record, "times.multiply_s", "  multiplying and verifying", DM_SHOWN_SECONDS,
                 w->multiplying);
  dm_record_real(record, "rates.multiply_flops", "rate", DM_SHOWN_FLOPS, flops);
  if (done.verdict) dm_verdict_record(done.verdict, &checked, &w->run->log, record);
  dm_multiply_summary(&done, &w->problem, w->multiplying, flops, record);
}

static void close_all(work *w) {
  dm_progress_end(&w->progress);
  dm_file_queue_close(w->ahead); /* before its readers and memory */
  for (int x = 0; x < 2; x++) {
    dm_reader_close(w->input[x].reader);
    free(w->factor[x]);
  }
  free(w->tiles);
  dm_in_place_close(&w->kept);
}

static dm_status multiply(work *w, dm_record *record) {
  dm_output_form form = {0};
  DM_TRY(open_inputs(w));
  dm_progress_start(&w->progress, w->run, "multiplying", dm_product_flops(&w->problem), 0.0, 1);
  dm_run_phase(w->run, "multiplying", 1);
  DM_TRY(w->multiply->in_memory[DM_C] ? fill_memory(w) : write_file(w, &form));
  if (record) report(w, &form, record);
  return DM_OK;
}

dm_status dm_small_entries_run(dm_run *run, const dm_multiply *m, dm_record *record, bool *done) {
  work w = {.run = run, .multiply = m};
  *done = false;
  if (run->ranks > 1 || m->a.batch < LEAST_ENTRIES || m->has_c) return DM_OK;
  DM_TRY(dm_problem_of(&m->a, &m->b, NULL, &m->equation, &w.problem));
  w.entry_rows = dm_problem_entry_rows(&w.problem);
  w.each = entries_of_run(&w.problem, w.entry_rows);
  if (!suits(&w)) return DM_OK;
  dm_status status = dm_comm_agree(run->world, multiply(&w, record));
  close_all(&w);
  *done = !status || status->code != DM_E_UNCHECKED;
  if (*done) return status;
  dm_status_free(status);
  return DM_OK;
}
