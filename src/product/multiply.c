/* One round of a multiplication, from the description of the product to its report. */
#include "product/multiply.h"

#include <stdlib.h>
#include <string.h>

#include "check/verdict.h"
#include "core/buffer.h"
#include "core/clock.h"
#include "core/copy.h"
#include "engine/phases.h"
#include "io/file_queue.h"
#include "plan/tiles.h"
#include "product/commit.h"
#include "product/multiply_impl.h"
#include "product/provenance.h"
#include "product/repair.h"
#include "product/verify.h"

/* ---- the matrices ---- */

static dm_status multiply_open_part(dm_job *j) {
  DM_TRY(dm_job_is_written(j) ? dm_output_open_memory(j->multiply->whole_c, &j->sink.output)
                              : dm_output_open(&j->file, &j->sink.output));
  return dm_file_queue_open(dm_run_io_threads(j->run, j->multiply->engine.io_threads), 0,
                            &j->sink.behind);
}

/* C in memory: what the last round left is recorded. */
static dm_status open_result(dm_job *j) {
  dm_plan *plan = &j->setup.plan;
  for (int64_t t = 0; t < j->repair->wrong_tiles; t++)
    if (!j->repair->wrong[t]) dm_tile_reach(&j->states, t, DM_TILE_RECORDED);
  /* The sums of mirror images are taken on the host, as they are stored. */
  j->held = dm_plan_tiles(plan) == 1 &&
            !(dm_job_is_written(j) && plan->gpu && dm_triangle_has_images(plan));
  j->sink.holds = dm_job_is_written(j) && j->held;
  dm_status status = dm_tile_states_choose(&j->states, DM_TILE_RECORDED, plan);
  if (!status && dm_job_is_written(j)) status = multiply_open_part(j);
  return dm_comm_agree(j->run->world, status);
}

static dm_status open_output(dm_job *j) {
  dm_plan *plan = &j->setup.plan;
  if (j->multiply->measurement) return DM_OK;
  DM_TRY(dm_comm_agree(j->run->world, dm_tile_states_open(dm_plan_tiles(plan), &j->states)));
  if (dm_job_in_memory(j, DM_C)) return open_result(j);
  DM_TRY(dm_checkpoint_begin(j->sink.checkpoint, &j->setup, &j->file, &j->states));
  DM_TRY(dm_comm_agree(j->run->world, dm_tile_states_choose(&j->states, DM_TILE_RECORDED, plan)));
  DM_TRY(
      dm_comm_agree(j->run->world, j->run->rank == 0 ? dm_commit_room(&j->file, &j->form) : DM_OK));
  DM_TRY(dm_comm_agree(j->run->world, multiply_open_part(j)));
  dm_checkpoint_watch(j->sink.checkpoint, j->sink.output);
  return DM_OK;
}

enum { STRIPS_OF_MEMORY = 32 }; /* two of them, beside what the plan has counted */

static dm_status files_of(const dm_job *j, dm_verify *verify) {
  const dm_multiply *m = j->multiply;
  *verify = (dm_verify){.a = m->a,
                        .b = m->b,
                        .has_c0 = m->has_c,
                        .c0 = m->c,
                        .equation = m->equation,
                        .from_gpu = j->setup.plan.gpu,
                        .norm = -1.0,
                        .io_threads = m->engine.io_threads,
                        .strip = dm_max(1 << 20, j->setup.machine.host_bytes / STRIPS_OF_MEMORY),
                        .seed = m->seed,
                        .draw = j->repair->round};
  for (int x = 0; x < 4; x++)
    if (dm_job_in_memory(j, x) && (x == DM_C || !dm_job_is_read(j, x)))
      verify->memory[x] = &j->memory[x];
  if (dm_job_in_memory(j, DM_C)) return DM_OK;
  return dm_comm_agree(j->run->world, dm_output_part(&j->file, &verify->c));
}

/* Whether C and all it was computed from can be read again. */
static bool multiply_is_readable(const dm_job *j) {
  return !dm_job_in_memory(j, DM_C) || (!j->held && !dm_job_replaces_old(j));
}

/* Reads the matrices if the panels seen cannot give a verdict, or if C has tiles of an earlier
 * round. */
static dm_status judge_files(dm_job *j, bool scaled, dm_verdict *verdict) {
  const dm_problem *p = &j->setup.plan.problem;
  dm_verify verify;
  DM_TRY(files_of(j, &verify));
  return scaled ? dm_verify_each_entry(j->run, &verify, p, dm_verify_scaled, verdict)
                : dm_verify_residual(j->run, &verify, p, verdict);
}

/* C in memory gets a single tile after its verdict, so that a wrong one replaces nothing. */
static dm_status multiply_deliver(dm_job *j) {
  if (!j->held) return DM_OK;
  j->held = false;
  if (!j->sink.holds) return dm_memory_result_deliver(&j->result, &j->product.local, 0);
  return dm_comm_agree(j->run->world, dm_file_sink_release(&j->sink, &j->product.local));
}

static void say_read_again(const dm_job *j, const char *why) {
  dm_log_line(&j->run->log, DM_LOG_NOTE, "%s: the matrices are read again", why);
}

/* Whether C's elements are other numbers than the sums that were verified. */
static bool is_finished(const dm_job *j) {
  const dm_problem *p = &j->problem;
  return j->sums &&
         !dm_finish_is_identity(p->c, p->accumulator, p->reads_c, j->multiply->equation.alpha);
}

/* Looks at the rows and columns of C that must be NaN, and for others. */
static dm_status multiply_judge_nan(dm_job *j, dm_verdict *verdict) {
  dm_verify verify;
  if (!verdict->pass || verdict->strained || !(j->expects_nan || is_finished(j))) return DM_OK;
  if (dm_job_in_memory(j, DM_C)) DM_TRY(multiply_deliver(j));
  DM_TRY(files_of(j, &verify));
  if (j->expects_nan) DM_TRY(dm_verify_nan(j->run, &verify, &j->setup.plan.problem, verdict));
  return is_finished(j) ? dm_verify_finished(j->run, &verify, &j->problem, verdict) : DM_OK;
}

/* If an input was written while it was read, C matches neither its old nor its new elements. */
static dm_status inputs_unchanged(const dm_job *j) {
  if (!dm_job_in_memory(j, DM_A)) DM_TRY(dm_dataset_unchanged(&j->multiply->a));
  if (!dm_job_in_memory(j, DM_B)) DM_TRY(dm_dataset_unchanged(&j->multiply->b));
  return j->problem.reads_c && !dm_job_in_memory(j, DM_OLD) ? dm_dataset_unchanged(&j->multiply->c)
                                                            : DM_OK;
}

/* Whether other elements of C arrived than left the GPU, on any rank. */
static dm_status find_changes(const dm_job *j, bool *differs) {
  int64_t differ = j->sink.differs;
  DM_TRY(dm_comm_sum_i64(j->run->world, &differ, 1));
  *differs = differ > 0;
  if (*differs)
    dm_log_line(&j->run->log, DM_LOG_WARNING,
                "C changed on its way from the GPU on %lld ranks: it is verified again",
                (long long)differ);
  return DM_OK;
}

/* C in memory was verified on the GPU, where what left it was summed: if that is not what arrived,
 * the latter is verified. */
static dm_status judge_arrived(dm_job *j, dm_verdict *verdict) {
  bool differs = false;
  if (!j->sink.holds || !j->setup.plan.gpu || !verdict->pass) return DM_OK;
  DM_TRY(dm_comm_agree(j->run->world, inputs_unchanged(j)));
  DM_TRY(multiply_deliver(j));
  DM_TRY(find_changes(j, &differs));
  if (!differs) return DM_OK;
  if (multiply_is_readable(j)) return judge_files(j, false, verdict);
  verdict->pass = false;
  return DM_OK;
}

/* The verdict of the sums, or of rank 0 on all runs of entries. */
static dm_status take_verdict(dm_job *j, dm_verdict *verdict, bool *sound) {
  const dm_plan *plan = &j->setup.plan;
  *sound = true;
  if (dm_plan_has_runs(plan)) {
    *verdict = j->runs.verdict;
    return dm_comm_broadcast(j->run->world, verdict, sizeof *verdict, 0);
  }
  if (dm_plan_streams(plan)) DM_TRY(dm_freivalds_settle(j->check, j->run->world, sound));
  return dm_freivalds_judge(j->check, j->run->world, verdict);
}

/* A copy of this rank's part of C, which C will replace; *kept: all ranks have one. */
static dm_status keep_old(const dm_job *j, void **memory, dm_distributed *old, bool *kept) {
  *old = j->memory[DM_C];
  const dm_view c = old->local;
  dm_status status =
      c.space != DM_HOST
          ? dm_fail(DM_E_FIT, "the old C is in GPU memory")
          : dm_buffer_alloc(dm_max(1, c.rows * c.cols) * dm_dtype_size(c.dtype), memory);
  int64_t none = status != DM_OK;
  dm_status_free(status);
  DM_TRY(dm_comm_max_i64(j->run->world, &none, 1));
  *kept = none == 0;
  if (!*kept) return DM_OK;
  old->local = dm_view_row_major(*memory, c.dtype, c.rows, c.cols);
  dm_copy(old->local, c, false);
  return DM_OK;
}

/* Readers find numbers that they make infinite; of other matrices in memory those are looked for
 * where C may have NaN or Inf. */
static dm_status in_range(const dm_job *j, const dm_verdict *verdict) {
  dm_verify verify;
  if (verdict && verdict->pass && verdict->rows_left_out + verdict->cols_left_out == 0)
    return DM_OK;
  DM_TRY(files_of(j, &verify));
  return dm_verify_range(j->run, &verify, &j->problem);
}

/* C in memory that its sums do not judge, and that was not delivered yet: *judged by its elements,
 * unless there is no room for the old C meanwhile. A wrong C gives way to that. */
static dm_status judge_elements(dm_job *j, bool scaled, dm_verdict *verdict, bool *judged) {
  const dm_problem *p = &j->setup.plan.problem;
  DM_FREED void *memory = NULL;
  dm_distributed old;
  dm_verify verify;
  *judged = true;
  if (dm_job_replaces_old(j)) DM_TRY(keep_old(j, &memory, &old, judged));
  if (!*judged) return DM_OK;
  DM_TRY(in_range(j, NULL)); /* refused, it leaves C as it is */
  DM_TRY(multiply_deliver(j));
  DM_TRY(files_of(j, &verify));
  if (memory) verify.memory[DM_OLD] = &old;
  DM_TRY(scaled ? dm_verify_each_entry(j->run, &verify, p, dm_verify_scaled, verdict)
                : dm_verify_residual(j->run, &verify, p, verdict));
  if (verdict->pass || !memory) return DM_OK;
  dm_copy(j->memory[DM_C].local, old.local, false);
  j->held = true;
  return DM_OK;
}

/* C in memory that cannot be read again: the sums must do. */
static dm_status judge_sums(dm_job *j, dm_verdict *verdict) {
  const int64_t *changed = j->product.changed;
  bool sound, judged = false;
  DM_TRY(take_verdict(j, verdict, &sound));
  if (changed[DM_A] + changed[DM_B] > 0) verdict->pass = false;
  if (sound) DM_TRY(judge_arrived(j, verdict));
  if (sound && !(verdict->pass && verdict->strained)) return multiply_judge_nan(j, verdict);
  if (j->held || multiply_is_readable(j)) DM_TRY(judge_elements(j, sound, verdict, &judged));
  if (judged || sound) return DM_OK;
  verdict->rows_left_out = j->problem.m; /* nothing is known of any row */
  verdict->rows_checked = 0;
  return DM_OK;
}

static dm_status multiply_judge(dm_job *j, dm_verdict *verdict) {
  bool sound;
  dm_run_phase(j->run, "verifying", DM_SYNC_PATIENCE);
  if (j->from_files) {
    DM_TRY(multiply_deliver(j));
    return judge_files(j, false, verdict);
  }
  if (j->multiply->scratch) DM_TRY(multiply_deliver(j));
  if (!multiply_is_readable(j)) return judge_sums(j, verdict);
  const int64_t *changed = j->product.changed; /* products and verification both saw them */
  if (changed[DM_A] + changed[DM_B] > 0) {
    dm_log_line(&j->run->log, DM_LOG_WARNING,
                "%lld pieces of A and %lld of B changed in memory since they were read: C is "
                "verified against the files",
                (long long)changed[DM_A], (long long)changed[DM_B]);
    return judge_files(j, false, verdict);
  }
  bool differs;
  DM_TRY(find_changes(j, &differs));
  if (differs) return judge_files(j, false, verdict);
  DM_TRY(take_verdict(j, verdict, &sound));
  if (!sound) {
    say_read_again(j, "B has NaN, Inf, extreme exponents or unlike rows");
    return judge_files(j, false, verdict);
  }
  if (!verdict->strained) return multiply_judge_nan(j, verdict);
  say_read_again(j, "there are NaN, Inf or extreme exponents");
  return judge_files(j, true, verdict);
}

/* Packing C compares it anyway. */
static dm_status read_back(dm_job *j) {
  const bool packed = dm_output_is_chunked(&j->form) || dm_output_is_recast(&j->form);
  const dm_read_back wish = packed ? DM_READ_BACK_NEVER : j->multiply->read_back;
  DM_TRY(dm_checkpoint_read_back(j->sink.checkpoint, wish, &j->read_back));
  j->read_back |= packed && dm_checkpoint_sums(j->sink.checkpoint);
  return DM_OK;
}

static dm_status multiply_commit(dm_job *j, const dm_verdict *verdict) {
  dm_status status = DM_OK;
  dm_run_phase(j->run, "committing C", DM_SYNC_PATIENCE);
  DM_TRY(dm_comm_agree(j->run->world, inputs_unchanged(j)));
  if (dm_job_in_memory(j, DM_C)) {
    DM_TRY(multiply_deliver(j));
    return dm_distributed_correlate(j->run, &j->memory[DM_C], &j->problem);
  }
  DM_TRY(read_back(j));
  if (j->run->rank == 0) {
    dm_attributes *attributes = malloc(sizeof *attributes);
    status = attributes ? dm_provenance_of(j->multiply, &j->setup, j->run, verdict, attributes)
                        : dm_fail(DM_E_FIT, "no memory for the provenance");
    dm_output_completion completion = {.provenance = attributes, .force = j->multiply->force};
    bool named = false;
    if (!status) status = dm_checkpoint_intend(j->sink.checkpoint, &completion);
    if (!status)
      status = dm_commit_file(j->run, &j->file, &j->form, j->multiply->engine.io_threads,
                              &completion, &named);
    if (named) dm_checkpoint_named(j->sink.checkpoint);
    j->keep_part = status != DM_OK && !named; /* the only copy of the result */
    free(attributes);
  }
  return dm_comm_agree(j->run->world, status);
}

/* The magnitudes of factors that an earlier run multiplied are only known to the verification. */
static dm_status sums_known(const dm_job *j, const dm_problem *p) {
  const bool may_not_fit = dm_problem_is_whole(p) || (p->work == DM_I8 && p->k > 131071);
  if (!j->from_files || j->multiply->verify || !may_not_fit) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "integers with k = %lld are not resumed without verification",
                         (long long)p->k),
                 "leave out --no-verify");
}

/* All ranks have the plan. */
static dm_status whole_is_on_host(const dm_job *j) {
  if (!dm_problem_is_whole(&j->problem) || !j->setup.plan.gpu) return DM_OK;
  dm_status status = dm_hint(
      dm_fail(DM_E_USAGE, "GPUs do not make an integer C of type %s", dm_dtype_name(j->problem.c)),
      "--backend cpu does");
  status->agreed = true;
  return status;
}

/* For a round that computes some tiles of C again: the same tiles on the same grid. */
static void impose(const dm_job *j, dm_wishes *wishes) {
  const dm_plan *last = &j->repair->plan;
  wishes->may_cut = true;
  if (j->repair->wrong_tiles == 0) return;
  wishes->tiles_m = last->tiles_m;
  wishes->tiles_n = last->tiles_n;
  wishes->down = last->down;
  wishes->pm = last->pm;
  wishes->pn = last->pn;
  wishes->pk = last->pk;
  wishes->panel = last->kb;
}

static dm_status multiply_plan(dm_job *j) {
  const dm_multiply *m = j->multiply;
  dm_engine_options engine = m->engine;
  dm_problem problem = j->problem;
  engine.files = dm_job_files(m);
  engine.slower = j->repair->slower;
  if (j->repair->process_bytes > 0) engine.process_bytes = j->repair->process_bytes;
  problem.finish_bytes = dm_job_is_returned(j) ? dm_memory_result_bytes(&j->result, &problem) : 0;
  if (dm_job_in_memory(j, DM_C))
    impose(j, &engine.wishes);
  else if (j->sink.checkpoint)
    dm_checkpoint_impose(j->sink.checkpoint, &engine.wishes);
  DM_TRY(dm_setup_open(j->run, &engine, &problem, &j->setup));
  j->repair->process_bytes = j->setup.machine.process_bytes;
  return m->measurement ? dm_comm_agree(j->run->world, dm_measured_check(&j->setup.plan)) : DM_OK;
}

/* Runs of entries are verified one by one, with alpha, which is not applied again. */
static void open_runs(dm_job *j) {
  dm_problem *p = &j->setup.plan.problem;
  const double *alpha = j->multiply->equation.alpha;
  const bool zero = alpha[0] == 0.0 && alpha[1] == 0.0; /* bounds would vanish */
  j->runs = (dm_run_products){.alpha = {1.0, 0.0},
                              .verify = p->verify,
                              .seed = j->multiply->seed,
                              .draw = j->repair->round};
  if (!zero) memcpy(j->runs.alpha, alpha, sizeof j->runs.alpha);
  if (!zero) memcpy(j->sink.alpha, (const double[2]){1.0, 0.0}, sizeof j->sink.alpha);
  p->verify = false;
}

/* A streamed check needs all of B before the last tile of a row of tiles, but half of a symmetric C
 * has rows without all of B's columns: it is verified from its file. */
static void choose_check(dm_job *j) {
  dm_plan *plan = &j->setup.plan;
  j->from_files |= j->problem.verify && !plan->problem.verify; /* dm_plan_verifies_later */
  if (dm_plan_has_runs(plan)) {
    open_runs(j);
    return;
  }
  if (plan->problem.symmetry == DM_NO_SYMMETRY || dm_plan_tiles(plan) == 1 ||
      !dm_plan_streams(plan) || !plan->problem.verify)
    return;
  j->from_files = true;
  plan->problem.verify = false;
}

static dm_status multiply_prepare(dm_job *j) {
  const dm_multiply *m = j->multiply;
  dm_run_lap(j->run, &j->outside.start);
  dm_run_phase(j->run, "planning", 1);
  DM_TRY(dm_comm_agree(j->run->world, dm_job_describe(j)));
  DM_TRY(dm_job_describe_memory(j));
  dm_job_set_ends(j);
  j->from_files = m->verify_files || j->repair->wrong_tiles > 0;
  if (dm_multiply_in_file(m, DM_C)) {
    DM_TRY(dm_checkpoint_open(j->run, m, &j->problem, &j->sink.checkpoint));
    if (dm_checkpoint_is_done(j->sink.checkpoint)) return DM_OK;
    j->from_files |= dm_checkpoint_recorded(j->sink.checkpoint) > 0;
  }
  j->from_files &= !dm_job_replaces_old(j);
  j->problem.verify = m->verify && !j->from_files;
  DM_TRY(dm_comm_agree(j->run->world, sums_known(j, &j->problem)));
  DM_TRY(multiply_plan(j));
  DM_TRY(whole_is_on_host(j));
  choose_check(j);
  DM_TRY(dm_comm_agree(j->run->world, dm_job_reach_memory(j)));
  dm_run_lap(j->run, &j->outside.plan);
  dm_run_phase(j->run, "opening files and memory", 1);
  DM_TRY(dm_job_identify_memory(j));
  DM_TRY(dm_comm_agree(j->run->world, dm_job_open_inputs(j)));
  j->sink.old = j->result.old_file = j->old;
  DM_TRY(dm_job_check_old(j));
  return open_output(j);
}

/* ---- multiplying ---- */

/* C in memory is verified before it is finished. */
static dm_status open_check(dm_job *j) {
  static const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};
  const dm_equation *e = &j->multiply->equation;
  const bool sums =
      dm_job_in_memory(j, DM_C) && (j->held || dm_job_is_returned(j) || dm_job_replaces_old(j));
  dm_plan plan = j->setup.plan;
  if (!plan.problem.verify) return DM_OK;
  plan.problem.half = DM_BOTH_HALVES; /* which are there until one is stored */
  if (sums) {
    plan.problem.c = plan.problem.accumulator;
    plan.problem.reads_c = plan.problem.scales = false;
  }
  DM_TRY(dm_check_new(j->run, &plan, sums ? one : e->alpha, sums ? zero : e->beta, &j->check));
  dm_freivalds_repeat(j->check, j->multiply->seed, j->repair->round);
  if (j->multiply->a.centering || j->multiply->b.centering)
    j->expects_nan = dm_verify_expect_nan(&j->multiply->a, &j->multiply->b, e, j->check);
  j->sums = j->sink.of_sums = sums;
  j->sink.check = j->sink.holds ? NULL : j->check;
  j->result.check = j->check;
  return DM_OK;
}

static dm_status multiply_bring(dm_job *j) {
  if (dm_job_is_brought(j, DM_A) || dm_job_is_brought(j, DM_B)) {
    dm_run_phase(j->run, "moving A and B", 1);
    DM_TRY(dm_memory_operands_bring(&j->operands, &j->product.local));
  }
  if (dm_job_is_returned(j) || !j->result.old) return DM_OK;
  return dm_old_bring(j->run, j->result.old, &j->product.local, &j->sink.old_tiles);
}

/* The sums of a single tile in memory; those of several are added as they are delivered. */
static dm_status add_held(dm_job *j) {
  dm_rank_state *local = &j->product.local;
  if (!j->held || !j->check) return DM_OK;
  dm_status status = dm_file_sink_hold(&j->sink, local);
  if (!status) status = dm_memory_result_check(&j->result, local);
  return dm_comm_agree(j->run->world, status);
}

/* A product that is measured has no tiles to record and no progress of its own. */
static dm_status multiply_measure(dm_job *j, dm_record *record) {
  const dm_measurement *m = j->multiply->measurement;
  DM_TRY(open_check(j));
  j->product = (dm_product){.run = j->run, .setup = &j->setup, .check = j->check};
  DM_TRY(dm_measured_open(&j->measured, &j->product, m));
  dm_run_phase(j->run, "measuring", 1);
  return m->measure(m->context, &j->measured, record);
}

static dm_status multiply_matrices(dm_job *j) {
  const dm_source files = {&dm_source_datasets, &j->source};
  const dm_source memory = {&dm_source_memory, &j->operands.source};
  DM_TRY(open_check(j));
  j->product = (dm_product){.run = j->run,
                            .setup = &j->setup,
                            .sink = dm_job_is_returned(j) ? (dm_sink){&dm_sink_result, &j->result}
                                                          : (dm_sink){&dm_sink_file, &j->sink},
                            .check = j->check,
                            .guards = j->check && j->multiply->protect,
                            .progress = dm_multiply_progress,
                            .context = j};
  for (int x = 0; x < 2; x++) j->product.source[x] = dm_job_is_read(j, x) ? files : memory;
  DM_TRY(dm_product_open(&j->product));
  j->product.local.states = &j->states;
  j->product.local.runs = &j->runs;
  dm_run_lap(j->run, &j->outside.open);
  DM_TRY(multiply_bring(j));
  dm_run_lap(j->run, &j->outside.read);
  DM_TRY(dm_product_run(&j->product));
  double counted = 0.0; /* counted by the product */
  dm_run_lap(j->run, &counted);
  return add_held(j);
}

/* ---- the end ---- */

/* All phases of this rank: those counted by the product, and those before and after it. */
static dm_phases phases_of(const dm_job *j) {
  dm_phases all = j->product.local.phases;
  all.start = j->outside.start;
  all.plan = j->outside.plan;
  all.open = j->outside.open;
  all.read += j->outside.read;
  all.verify += j->outside.verify;
  all.commit = j->outside.commit;
  all.from_files = dm_multiply_bytes_read(j);
  return all;
}

static dm_status multiply_report(dm_job *j, const dm_verdict *verdict, dm_record *record) {
  dm_phases mean, worst;
  int64_t counts[2] = {dm_file_queue_unpacked(j->ahead), dm_dataset_source_calls(&j->source)};
  j->product.local.phases = phases_of(j);
  const dm_phases *own = &j->product.local.phases;
  DM_TRY(dm_comm_sum_i64(j->run->world, counts, 2));
  DM_TRY(dm_phases_worst(j->run, &j->product.local, &worst));
  DM_TRY(dm_phases_mean(j->run, own, &mean));
  const dm_multiplied done = {.run = j->run,
                              .multiply = j->multiply,
                              .setup = &j->setup,
                              .factor = j->product.local.scaling.factor,
                              .form = &j->form,
                              .way = j->file.way,
                              .worst = &worst,
                              .mean = &mean,
                              .verdict = verdict,
                              .sums = j->sums,
                              .read_back = j->read_back,
                              .unpacked = counts[0],
                              .calls = counts[1],
                              .repeated = j->repair->seconds,
                              .seconds = dm_now() - j->run->born};
  if (record) dm_multiply_record(&done, record);
  return dm_phases_by_rank(j->run, own, record);
}

dm_status dm_multiply_done(const dm_run *run, const dm_multiply *m, dm_record *record) {
  dm_problem problem;
  if (run->rank == 0)
    dm_log_line(&run->log, DM_LOG_NOTE,
                "%s is already the result of this command: nothing was multiplied", m->out.file);
  DM_TRY(dm_problem_of(&m->a, &m->b, m->has_c ? &m->c : NULL, &m->equation, &problem));
  if (record) dm_multiply_record_done(run, m, &problem, record);
  return DM_OK;
}

/* Keeps the wrong result for inspection, under its .part name. */
static dm_status multiply_stop(dm_job *j) {
  const char *out = j->multiply->out.file;
  j->keep_part = true;
  return dm_hint(dm_verdict_status(&j->verdict, out, false),
                 "the result is kept as %s; %s was not touched", j->file.part, out);
}

/* C in memory: a tile that was never delivered replaced nothing; of several, the wrong ones are
 * computed again if what they were computed from is still there. */
static dm_status repair_memory(dm_job *j) {
  const bool repairs = j->multiply->on_corruption == DM_ON_CORRUPTION_REPAIR;
  const bool again = repairs && j->held && j->repair->round == 0;
  dm_verify verify;
  if (repairs && multiply_is_readable(j)) {
    DM_TRY(files_of(j, &verify));
    return dm_repair_try(j, &verify, j->repair, &j->again);
  }
  if (again) j->repair->tiles = 1;
  j->again = again;
  dm_status status = dm_verdict_status(&j->verdict, "C", false);
  if (again) {
    dm_log_line(&j->run->log, DM_LOG_WARNING, "%s: it is computed again", status->message);
    dm_status_free(status);
    return DM_OK;
  }
  if (j->repair->round > 0) {
    status->code = DM_E_CORRUPT;
    dm_context(status, "computed a second time");
  }
  return dm_hint(status,
                 j->held ? "C is unchanged" : "C holds wrong elements and must not be used");
}

/* A result that must not be published is an error. */
static dm_status judge_or_repair(dm_job *j) {
  DM_TRY(multiply_judge(j, &j->verdict));
  DM_TRY(in_range(j, &j->verdict));
  j->verdict.repaired = j->repair->tiles;
  if (j->verdict.pass) return DM_OK;
  if (dm_job_in_memory(j, DM_C)) return repair_memory(j);
  if (j->multiply->on_corruption == DM_ON_CORRUPTION_WARN) return DM_OK;
  if (j->multiply->on_corruption == DM_ON_CORRUPTION_STOP) return multiply_stop(j);
  dm_verify verify;
  DM_TRY(files_of(j, &verify));
  dm_status status = dm_repair_try(j, &verify, j->repair, &j->again);
  if (j->keep_part)
    dm_hint(status, "the result is kept as %s; %s was not touched", j->file.part,
            j->multiply->out.file);
  return status;
}

dm_status dm_job_work(dm_job *j, dm_record *record) {
  const dm_multiply *m = j->multiply;
  DM_TRY(multiply_prepare(j));
  if (j->sink.checkpoint && dm_checkpoint_is_done(j->sink.checkpoint))
    return dm_multiply_done(j->run, m, record);
  if (m->measurement) return multiply_measure(j, record);
  if (dm_plan_todo(&j->setup.plan) > 0) DM_TRY(multiply_matrices(j));
  const dm_verdict *verdict = m->verify ? &j->verdict : NULL;
  dm_status failed = verdict ? judge_or_repair(j) : in_range(j, NULL);
  if (failed && !dm_verdict_is(failed)) return failed;
  if (j->again) return DM_OK;
  dm_run_lap(j->run, &j->outside.verify);
  const bool pass = !verdict || verdict->pass;
  if (verdict && pass) dm_tile_reach_all(&j->states, DM_TILE_CHECKED);
  if (!failed) DM_TRY(multiply_commit(j, verdict));
  j->judged = verdict != NULL;
  dm_run_lap(j->run, &j->outside.commit);
  dm_status reported = multiply_report(j, verdict, record);
  return dm_status_first(failed, reported);
}

dm_status dm_job_plan(dm_job *j, dm_record *record) {
  DM_TRY(dm_comm_agree(j->run->world, dm_job_describe(j)));
  DM_TRY(dm_job_describe_memory(j));
  dm_job_set_ends(j);
  j->problem.verify = j->multiply->verify;
  DM_TRY(multiply_plan(j));
  DM_TRY(dm_comm_agree(j->run->world, dm_job_reach_memory(j)));
  if (record) dm_setup_record(&j->setup, j->run, record);
  return DM_OK;
}
