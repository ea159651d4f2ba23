/* Matrices in memory: spread over the ranks as the plan wants them, multiplied, and given back. */
#include <string.h>

#include "check/verdict.h"
#include "cli/request.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/copy.h"
#include "engine/finish.h"
#include "engine/memory_sink.h"
#include "engine/memory_source.h"
#include "engine/phases.h"
#include "engine/product.h"
#include "lib/distributed.h"
#include "lib/library.h"
#include "plan/partition.h"

typedef struct memory_job {
  dm_run *run;
  dm_equation equation;
  dm_problem problem;
  dm_distributed matrix[3]; /* op(A), op(B), C */
  dm_distribution planned[3];
  dm_setup setup;
  dm_product product;
  dm_memory_source source;
  dm_memory_sink sink;
  char *pieces[2]; /* of what goes to a GPU, panel after panel; else NULL */
  char *c;         /* this rank's sums of C, copied from a GPU; else NULL */
  dm_freivalds *check;
  dm_verdict verdict;
} memory_job;

/* ---- where the engine has this rank's pieces ---- */

/* As dm_memory_source has it. */
static dm_view piece_of(void *context, const dm_rank_state *local, dm_matrix matrix,
                        int64_t panel) {
  const memory_job *j = context;
  return j->pieces[matrix] ? dm_memory_piece(local, matrix, panel, j->pieces[matrix])
                           : dm_rank_piece(local, matrix, panel);
}

/* As dm_memory_sink has it; without one C is where it was summed. */
static dm_view part_of(void *context, const dm_rank_state *local) {
  const memory_job *j = context;
  dm_range rows;
  const dm_view sums = dm_rank_result(local, &rows);
  if (!j->c) return sums;
  return dm_view_row_major(j->c, local->plan->problem.c, dm_range_size(rows),
                           dm_range_size(local->cols));
}

static dm_status take_memory(memory_job *j) {
  dm_rank_state *local = &j->product.local;
  if (!local->plan->gpu || local->coords.idle) return DM_OK;
  dm_rank_turn_to(local, 0);
  for (int x = 0; x < 2; x++) {
    int64_t bytes;
    if (!dm_plan_brings(local->plan, (dm_matrix)x)) continue;
    DM_TRY(dm_memory_pieces_bytes(local, (dm_matrix)x, &bytes));
    DM_TRY(dm_backend_alloc(local->backend, DM_HOST, bytes, (void **)&j->pieces[x]));
  }
  int64_t bytes;
  dm_range rows;
  (void)dm_rank_result(local, &rows); /* which has no view before layers are summed */
  DM_TRY(dm_bytes_of(dm_range_size(rows), dm_range_size(local->cols),
                     dm_dtype_size(local->plan->problem.c), &bytes));
  return dm_backend_alloc(local->backend, DM_HOST, bytes, (void **)&j->c);
}

/* ---- from the caller's memory to there, and back ---- */

typedef struct planned_end {
  memory_job *job;
  int matrix;
} planned_end;

static dm_view planned_at(void *context, int64_t row, int64_t col) {
  const planned_end *end = context;
  const memory_job *j = end->job;
  const dm_distribution *of = &j->planned[end->matrix];
  if (end->matrix == DM_RESULT) return part_of(end->job, &j->product.local);
  const int64_t panel = end->matrix == DM_A ? of->cols.runs[col].local : of->rows.runs[row].local;
  return piece_of(end->job, &j->product.local, (dm_matrix)end->matrix, panel);
}

static dm_status take_plain(void *context, dm_view into, dm_view arrived) {
  (void)context;
  dm_copy(into, arrived, false);
  return DM_OK;
}

static dm_status take_conjugate(void *context, dm_view into, dm_view arrived) {
  (void)context;
  dm_copy(into, arrived, true);
  return DM_OK;
}

static dm_status spread(memory_job *j, dm_matrix matrix) {
  planned_end planned = {j, matrix};
  const dm_end from = dm_distributed_end(&j->matrix[matrix]);
  const dm_end to = {&j->planned[matrix], planned_at, &planned};
  const dm_op op = matrix == DM_A ? j->equation.op_a : j->equation.op_b;
  return dm_redistribute(j->run->world, j->matrix[matrix].local.dtype, &from, &to,
                         (dm_taker){op == DM_OP_C ? take_conjugate : take_plain, NULL});
}

static dm_status take_result(void *context, dm_view into, dm_view sums) {
  const memory_job *j = context;
  return dm_finish(into, sums, j->problem.reads_c ? &into : NULL, j->equation.alpha,
                   j->equation.beta);
}

static dm_status give_back(memory_job *j) {
  planned_end planned = {j, DM_RESULT};
  const dm_end from = {&j->planned[DM_RESULT], planned_at, &planned};
  const dm_end to = dm_distributed_end(&j->matrix[DM_RESULT]);
  return dm_redistribute(j->run->world, j->setup.plan.problem.c, &from, &to,
                         (dm_taker){take_result, j});
}

/* ---- planning ---- */

static dm_dataset dataset_of(const damier_matrix *matrix, const char *name) {
  dm_dataset d = {.rows = matrix->rows, .cols = matrix->cols, .dtype = (dm_dtype)matrix->type};
  strcpy(d.at.file, "memory");
  strcpy(d.at.dataset, name);
  return d;
}

static dm_status pose(memory_job *j, const dm_matrices *of) {
  const dm_dataset a = dataset_of(of->a, "A"), b = dataset_of(of->b, "B");
  const dm_dataset c = dataset_of(of->c, "C");
  j->equation.type_c = c.dtype;
  DM_TRY(dm_problem_of(&a, &b, &c, &j->equation, &j->problem));
  if (c.rows == j->problem.m && c.cols == j->problem.n) return DM_OK;
  return dm_fail(DM_E_USAGE, "C is %lld x %lld, the product %lld x %lld", (long long)c.rows,
                 (long long)c.cols, (long long)j->problem.m, (long long)j->problem.n);
}

static dm_status open_matrices(memory_job *j, const dm_matrices *of) {
  const dm_comm *world = j->run->world;
  DM_TRY(dm_distributed_open(world, of->a, "A", &j->matrix[DM_A]));
  DM_TRY(dm_distributed_open(world, of->b, "B", &j->matrix[DM_B]));
  DM_TRY(dm_distributed_open(world, of->c, "C", &j->matrix[DM_RESULT]));
  if (j->equation.op_a != DM_OP_N) dm_distributed_transpose(&j->matrix[DM_A]);
  if (j->equation.op_b != DM_OP_N) dm_distributed_transpose(&j->matrix[DM_B]);
  return DM_OK;
}

/* The engine leaves C in the type of its sums, unscaled; the rest is done where it is given back.
 */
static dm_status plan(memory_job *j, const dm_settings *settings) {
  dm_engine engine = dm_cli_engine(settings);
  dm_problem problem = j->problem;
  engine.wishes.tiles_m = engine.wishes.tiles_n = 1;
  problem.home = DM_HOME_HOST;
  problem.c = problem.accumulator;
  problem.op_a = problem.op_b = DM_OP_N;
  problem.reads_c = problem.scales = false;
  problem.verify = settings->verify;
  return dm_setup_open(j->run, &engine, &problem, &j->setup);
}

/* ---- multiplying ---- */

static dm_status open_product(memory_job *j) {
  static const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};
  const dm_plan *plan = &j->setup.plan;
  dm_status status = DM_OK;
  for (int x = 0; x < 3 && !status; x++) status = dm_distribution_of_plan(plan, x, &j->planned[x]);
  if (!status && plan->problem.verify)
    status = dm_freivalds_new(&plan->problem, one, zero, plan->gpu, &j->check);
  DM_TRY(dm_comm_agree(j->run->world, status));
  j->source = (dm_memory_source){.piece = piece_of, .context = j};
  j->sink = (dm_memory_sink){.part = part_of, .context = j};
  j->product = (dm_product){.run = j->run,
                            .setup = &j->setup,
                            .source = {&dm_source_memory, &j->source},
                            .sink = {plan->gpu ? &dm_sink_memory : NULL, &j->sink},
                            .check = j->check};
  DM_TRY(dm_product_open(&j->product));
  return dm_comm_agree(j->run->world, take_memory(j));
}

static dm_status judge(memory_job *j) {
  dm_rank_state *local = &j->product.local;
  dm_status status = DM_OK;
  dm_range rows;
  if (!j->check) return DM_OK;
  if (!local->coords.idle) {
    dm_rank_result(local, &rows);
    status = dm_freivalds_add_c(j->check, local->backend, part_of(j, local), rows.begin,
                                local->cols.begin);
  }
  DM_TRY(dm_comm_agree(j->run->world, status));
  return dm_freivalds_judge(j->check, j->run->world, &j->verdict);
}

static dm_status report(memory_job *j, dm_record *record) {
  dm_phases worst, mean;
  const dm_product *p = &j->product;
  DM_TRY(dm_phases_worst(j->run, &p->local, &worst));
  DM_TRY(dm_phases_mean(j->run, &p->local.phases, &mean));
  if (!record) return DM_OK;
  dm_setup_record(&j->setup, j->run, record);
  dm_phases_record(&worst, &mean, &j->setup.plan, dm_now() - j->run->born, record);
  if (j->check) dm_verdict_record(&j->verdict, &j->run->log, record);
  return DM_OK;
}

static dm_status multiply(memory_job *j, bool allow_unchecked, dm_record *record) {
  dm_phases *phases = &j->product.local.phases;
  DM_TRY(open_product(j));
  dm_run_lap(j->run, &phases->open);
  DM_TRY(spread(j, DM_A));
  DM_TRY(spread(j, DM_B));
  dm_run_lap(j->run, &phases->read);
  DM_TRY(dm_product_run(&j->product));
  double counted = 0.0; /* by the product itself */
  dm_run_lap(j->run, &counted);
  DM_TRY(judge(j));
  dm_run_lap(j->run, &phases->verify);
  if (!j->check || j->verdict.pass) DM_TRY(give_back(j));
  dm_run_lap(j->run, &phases->write);
  DM_TRY(report(j, record));
  return j->check ? dm_verdict_status(&j->verdict, "C", allow_unchecked) : DM_OK;
}

static void close_all(memory_job *j) {
  for (int x = 0; x < 2; x++)
    if (j->pieces[x]) dm_backend_release(j->setup.backend, DM_HOST, j->pieces[x]);
  if (j->c) dm_backend_release(j->setup.backend, DM_HOST, j->c);
  dm_product_close(&j->product);
  dm_freivalds_free(j->check);
  for (int x = 0; x < 3; x++) {
    dm_distribution_free(&j->planned[x]);
    dm_distributed_close(&j->matrix[x]);
  }
  dm_setup_close(&j->setup);
}

dm_status dm_multiply_in_memory(damier_context *context, const dm_matrices *matrices,
                                bool plan_only, dm_record *record) {
  memory_job j = {.run = &context->run, .equation = dm_cli_equation(&context->call.settings)};
  dm_status status = dm_comm_agree(j.run->world, pose(&j, matrices));
  if (!status) status = open_matrices(&j, matrices);
  if (!status) status = plan(&j, &context->call.settings);
  if (!status && plan_only && record) dm_setup_record(&j.setup, j.run, record);
  if (!status && !plan_only) status = multiply(&j, context->call.settings.allow_unchecked, record);
  /* Where one rank failed alone the others are still at work. */
  if (!status || status->agreed) close_all(&j);
  return status;
}
