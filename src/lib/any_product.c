#include "lib/any_product.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/clock.h"
#include "core/compute_choice.h"
#include "engine/phases.h"
#include "plan/tiles.h"
#include "plan/todo.h"

/* ---- planning ---- */

static dm_status pose(dm_any_product *p) {
  const dm_cli_files *f = &p->posed->files;
  p->job = dm_cli_multiply_job(&p->posed->call.settings, f);
  if (!p->result.in_file) p->job.equation.type_c = (dm_dtype)p->posed->c->type;
  return dm_problem_of(&f->a, &f->b, f->has_c ? &f->c : NULL, &p->job.equation, &p->problem);
}

static dm_status open_given(dm_any_product *p, int x) {
  const dm_multiply *job = &p->job;
  const dm_equation *e = &job->equation;
  const dm_given_facts facts[] = {
      {p->posed->a, &job->a, "A", e->op_a, e->type, p->ahead},
      {p->posed->b, &job->b, "B", e->op_b, e->type, p->ahead},
      {&p->posed->old, &job->c, "the old C", DM_OP_N, DM_DTYPE_NONE, p->ahead}};
  return dm_given_open(p->run, &facts[x], &p->given[x]);
}

static dm_status open_matrices(dm_any_product *p) {
  DM_TRY(dm_comm_agree(p->run->world,
                       dm_file_queue_open(dm_run_io_threads(p->run, p->job.engine.io_threads),
                                          DM_READ_MEMORY, &p->ahead)));
  DM_TRY(open_given(p, DM_A));
  DM_TRY(open_given(p, DM_B));
  DM_TRY(dm_result_open(p->run, p->posed->c, &p->result));
  return p->problem.reads_c && !p->posed->old_is_c ? open_given(p, DM_OLD) : DM_OK;
}

/* The engine leaves C unscaled in the type of its sums; finishing does the rest. */
static dm_status plan(dm_any_product *p) {
  dm_engine engine = p->job.engine;
  dm_problem problem = p->problem;
  engine.wishes.may_cut = true;
  engine.process_bytes = p->posed->process_bytes;
  problem.home = DM_HOME_HOST;
  problem.c = problem.accumulator;
  problem.op_a = problem.op_b = DM_OP_N;
  problem.reads_c = problem.scales = false;
  problem.verify = p->job.verify;
  problem.finish_bytes = dm_any_finish_bytes(p);
  return dm_setup_open(p->run, &engine, &problem, &p->setup);
}

/* Only the open backend shows whether GPU memory is accessible. */
static dm_status reach_memory(dm_any_product *p) {
  static const char *const names[] = {"A", "B", "the old C"};
  dm_backend *backend = p->setup.backend;
  for (int x = 0; x < 3; x++)
    if (!p->given[x].in_file) DM_TRY(dm_distributed_reach(&p->given[x].memory, backend, names[x]));
  return p->result.in_file ? DM_OK : dm_distributed_reach(&p->result.memory, backend, "C");
}

/* ---- multiplying ---- */

static dm_status open_product(dm_any_product *p) {
  static const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};
  const dm_plan *plan = &p->setup.plan;
  if (plan->problem.verify) DM_TRY(dm_check_new(p->run, plan, one, zero, &p->check));
  if (p->check && p->posed->repeated > 0) dm_freivalds_draw(p->check, 1);
  p->source = (dm_memory_source){.piece = dm_any_piece, .context = p};
  p->sink = (dm_memory_sink){.part = dm_any_sums, .context = p};
  p->product = (dm_product){.run = p->run,
                            .setup = &p->setup,
                            .source = {&dm_source_memory, &p->source},
                            .sink = {plan->gpu ? &dm_sink_memory : NULL, &p->sink},
                            .check = p->check,
                            .guards = p->check && p->job.protect};
  DM_TRY(dm_product_open(&p->product));
  return dm_comm_agree(p->run->world, dm_any_take_memory(p));
}

static dm_status bring_givens(dm_any_product *p) {
  for (int64_t t = 0; t < dm_plan_tiles(&p->setup.plan); t++) {
    DM_TRY(dm_any_bring(p, DM_A, t));
    DM_TRY(dm_any_bring(p, DM_B, t));
  }
  for (int x = 0; x < 3; x++)
    DM_TRY(dm_comm_agree(p->run->world, dm_given_unchanged(&p->given[x])));
  return DM_OK;
}

/* Multiplies only TILE. All shares must be loaded before: what is loaded depends on the tiles to
 * do. */
static dm_status multiply_one(dm_any_product *p, int64_t tile) {
  dm_plan *plan = &p->setup.plan;
  const int64_t tiles = dm_plan_tiles(plan);
  dm_todo *todo = NULL;
  bool *there;
  DM_TRY(dm_comm_agree(p->run->world, dm_buffer_table(tiles, &there)));
  for (int64_t t = 0; t < tiles; t++) there[t] = t != tile;
  dm_status status = dm_comm_agree(p->run->world, dm_todo_new(tiles, there, &todo));
  free(there);
  plan->todo = todo;
  if (!status) status = dm_product_run(&p->product);
  plan->todo = NULL;
  dm_todo_free(todo);
  return status;
}

static dm_status add_to_check(dm_any_product *p, int64_t tile) {
  dm_rank_state *local = &p->product.local;
  dm_range rows;
  if (!p->check || local->coords.idle) return DM_OK;
  dm_rank_turn_to(local, tile);
  (void)dm_rank_result(local, &rows);
  return dm_freivalds_add_c(p->check, local->backend, dm_any_sums(p, local), rows.begin,
                            local->cols.begin);
}

/* Pieces of A and B that changed after they arrived: products and verification may have used the
 * same damaged data. */
static int64_t changed(const dm_any_product *p) {
  return p->product.changed[DM_A] + p->product.changed[DM_B];
}

/* A single tile is delivered only after its verification. */
static dm_status multiply_tile(dm_any_product *p, int64_t tile) {
  dm_phases *phases = &p->product.local.phases;
  const int64_t tiles = dm_plan_tiles(&p->setup.plan);
  double counted = 0.0; /* counted by the product */
  p->posed->context->tile = tile;
  DM_TRY(tiles > 1 ? multiply_one(p, tile) : dm_product_run(&p->product));
  dm_run_lap(p->run, &counted);
  DM_TRY(dm_comm_agree(p->run->world, add_to_check(p, tile)));
  if (p->check && tile + 1 == tiles)
    DM_TRY(dm_freivalds_judge(p->check, p->run->world, &p->verdict));
  if (changed(p) > 0) p->verdict.pass = false;
  p->verdict.repaired = p->posed->repeated;
  dm_run_lap(p->run, &phases->verify);
  if (tiles > 1 || !p->check || p->verdict.pass) DM_TRY(dm_any_deliver(p, tile));
  dm_run_lap(p->run, &phases->write);
  return DM_OK;
}

static dm_status multiply_tiles(dm_any_product *p) {
  const int64_t tiles = dm_plan_tiles(&p->setup.plan);
  p->posed->context->tiles = tiles;
  if (tiles > 1) DM_TRY(dm_product_load(&p->product));
  for (int64_t t = 0; t < tiles; t++) DM_TRY(multiply_tile(p, t));
  return DM_OK;
}

/* ---- the end ---- */

static dm_status report(dm_any_product *p, dm_record *record) {
  dm_phases worst, mean;
  DM_TRY(dm_phases_worst(p->run, &p->product.local, &worst));
  DM_TRY(dm_phases_mean(p->run, &p->product.local.phases, &mean));
  if (!record) return DM_OK;
  dm_setup_record(&p->setup, p->run, record);
  dm_phases_record(&worst, &mean, &p->setup.plan, dm_now() - p->run->born, record);
  if (p->check) dm_verdict_record(&p->verdict, &p->run->log, record);
  return DM_OK;
}

/* Whether to compute a failed C again: not if a part of it has replaced the old C. */
static bool is_to_be_repeated(dm_any_product *p) {
  const int64_t tiles = dm_plan_tiles(&p->setup.plan);
  if (p->verdict.pass || p->posed->repeated > 0 || (p->posed->old_is_c && tiles > 1) ||
      p->job.on_corruption != DM_ON_CORRUPTION_REPAIR)
    return false;
  p->posed->repeated = tiles;
  p->posed->process_bytes = p->setup.machine.process_bytes;
  return true;
}

static dm_status status_of(const dm_any_product *p) {
  if (changed(p) == 0) return dm_verdict_status(&p->verdict, "C", p->job.allow_unchecked);
  dm_status status = dm_fail(
      DM_E_VERIFY, "%lld pieces of A and %lld of B changed in memory while they were multiplied",
      (long long)p->product.changed[DM_A], (long long)p->product.changed[DM_B]);
  status->agreed = true;
  return status;
}

/* With several tiles, C in memory contains wrong tiles. */
static dm_status tell_wrong(const dm_any_product *p) {
  dm_status status = status_of(p);
  if (p->verdict.pass) return status;
  if (p->posed->repeated > 0) {
    status->code = DM_E_CORRUPT;
    dm_context(status, "computed a second time");
  }
  if (p->result.in_file) return status;
  return dm_hint(status, dm_plan_tiles(&p->setup.plan) > 1
                             ? "C holds wrong elements and must not be used"
                             : "C is unchanged");
}

static dm_status multiply(dm_any_product *p, dm_record *record, bool *repeat) {
  dm_phases *phases = &p->product.local.phases;
  DM_TRY(open_product(p));
  if (p->result.in_file) DM_TRY(dm_result_make(p->run, &p->job, &p->problem, &p->result));
  dm_run_lap(p->run, &phases->open);
  DM_TRY(bring_givens(p));
  dm_run_lap(p->run, &phases->read);
  DM_TRY(multiply_tiles(p));
  const dm_verdict *verdict = p->check ? &p->verdict : NULL;
  const bool pass = !verdict || verdict->pass;
  if (pass && p->result.in_file)
    DM_TRY(dm_result_commit(p->run, &p->job, &p->setup, verdict, &p->result));
  dm_run_lap(p->run, &phases->commit);
  *repeat = verdict && is_to_be_repeated(p);
  if (!*repeat) DM_TRY(report(p, record));
  return verdict ? tell_wrong(p) : DM_OK;
}

static void close_all(dm_any_product *p) {
  dm_file_queue_close(p->ahead); /* before its memory is freed */
  dm_product_close(&p->product);
  dm_freivalds_free(p->check);
  for (int x = 0; x < 3; x++) dm_given_close(&p->given[x]);
  dm_result_close(p->run, &p->result);
  dm_setup_close(&p->setup);
}

static dm_status work(dm_any_product *p, dm_record *record, bool *repeat) {
  p->result.in_file = p->posed->c->division == DAMIER_IN_FILE;
  DM_TRY(dm_comm_agree(p->run->world, pose(p)));
  DM_TRY(open_matrices(p));
  DM_TRY(plan(p));
  DM_TRY(dm_comm_agree(p->run->world, reach_memory(p)));
  if (!p->posed->plan_only) return multiply(p, record, repeat);
  if (record) dm_setup_record(&p->setup, p->run, record);
  return DM_OK;
}

/* UNFIT: residues do not suit A and B; C is untouched. REPEAT: C failed its verification, A and B
 * are unchanged, and nothing is recorded yet. */
static dm_status multiply_once(dm_posed *posed, dm_record *record, bool *unfit, bool *repeat) {
  dm_any_product *p;
  dm_run *run = &posed->context->run;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &p)));
  p->run = run;
  p->posed = posed;
  *repeat = false;
  dm_status status = work(p, record, repeat);
  *unfit = status && status->agreed && p->product.local.scaling.unfit;
  /* If one rank failed alone the others are still working. */
  if (!status || status->agreed) {
    close_all(p);
    free(p);
  }
  return status;
}

/* Reads the caller's matrices, or their files, again: the copies may be damaged. */
static dm_status multiply_rightly(dm_posed *posed, dm_record *record, bool *unfit) {
  bool repeat;
  dm_status status = multiply_once(posed, record, unfit, &repeat);
  if (!repeat) return status;
  dm_log_line(&posed->context->run.log, DM_LOG_WARNING, "%s: it is computed again",
              status->message);
  dm_status_free(status);
  return multiply_once(posed, record, unfit, &repeat);
}

/* Multiplies natively what only fastest turned into residues; an explicit choice of residues is an
 * error. */
dm_status dm_posed_multiply(dm_posed *posed, dm_record *record) {
  dm_compute_choice *compute = &posed->call.settings.compute;
  bool unfit = false;
  dm_status status = multiply_rightly(posed, record, &unfit);
  if (!unfit || !dm_compute_is_fastest(*compute)) return status;
  dm_log_line(&posed->context->run.log, DM_LOG_NOTE, "%s: multiplied as by auto", status->message);
  if (record) dm_record_text(record, "problem.instead", "not by residues", "%s", status->message);
  dm_status_free(status);
  (void)dm_compute_parse("auto", compute);
  return multiply_rightly(posed, record, &unfit);
}
