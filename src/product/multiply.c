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
  DM_TRY(j->home[DM_C] == DM_HOME_SEEN ? dm_output_open_memory(j->multiply->seen_c, &j->sink.output)
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
            !(j->home[DM_C] == DM_HOME_SEEN && plan->gpu && dm_triangle_has_images(plan));
  j->sink.holds = j->home[DM_C] == DM_HOME_SEEN && j->held;
  dm_status status = dm_tile_states_choose(&j->states, DM_TILE_RECORDED, plan);
  if (!status && j->home[DM_C] == DM_HOME_SEEN) status = multiply_open_part(j);
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
  DM_TRY(dm_comm_agree(j->run->world, dm_job_unchanged(j)));
  if (dm_job_in_memory(j, DM_C)) {
    DM_TRY(dm_job_deliver(j));
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
  const bool may_not_fit = dm_problem_is_integral(p) || (p->work == DM_I8 && p->k > 131071);
  if (j->basis != DM_BASIS_REREAD || j->multiply->verify || !may_not_fit) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "integers with k = %lld are not resumed without verification",
                         (long long)p->k),
                 "leave out --no-verify");
}

/* All ranks have the plan. */
static dm_status integral_is_on_host(const dm_job *j) {
  if (!dm_problem_is_integral(&j->problem) || !j->setup.plan.gpu) return DM_OK;
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
  problem.finish_bytes =
      dm_job_is_moved(j, DM_C) ? dm_memory_result_bytes(&j->result, &problem) : 0;
  if (dm_job_in_memory(j, DM_C))
    impose(j, &engine.wishes);
  else if (j->sink.checkpoint)
    dm_checkpoint_impose(j->sink.checkpoint, &engine.wishes);
  DM_TRY(dm_setup_open(j->run, &engine, &problem, &j->setup));
  j->repair->process_bytes = j->setup.machine.process_bytes;
  return m->measurement ? dm_comm_agree(j->run->world, dm_measured_check(&j->setup.plan)) : DM_OK;
}

static dm_status multiply_prepare(dm_job *j) {
  const dm_multiply *m = j->multiply;
  dm_run_lap(j->run, &j->outside.start);
  dm_run_phase(j->run, "planning", 1);
  DM_TRY(dm_comm_agree(j->run->world, dm_job_describe(j)));
  DM_TRY(dm_job_describe_memory(j));
  dm_job_set_ends(j);
  bool rereads = m->verify_files || j->repair->wrong_tiles > 0;
  if (dm_multiply_in_file(m, DM_C)) {
    DM_TRY(dm_checkpoint_open(j->run, m, &j->problem, &j->sink.checkpoint));
    if (dm_checkpoint_is_done(j->sink.checkpoint)) return DM_OK;
    rereads |= dm_checkpoint_recorded(j->sink.checkpoint) > 0;
  }
  if (rereads && !dm_job_replaces_old(j)) j->basis = DM_BASIS_REREAD;
  j->problem.verify = m->verify && j->basis != DM_BASIS_REREAD;
  DM_TRY(dm_comm_agree(j->run->world, sums_known(j, &j->problem)));
  DM_TRY(multiply_plan(j));
  DM_TRY(integral_is_on_host(j));
  dm_judge_choose(j);
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

static dm_status multiply_bring(dm_job *j) {
  if (dm_job_is_moved(j, DM_A) || dm_job_is_moved(j, DM_B)) {
    dm_run_phase(j->run, "moving A and B", 1);
    DM_TRY(dm_memory_operands_bring(&j->operands, &j->product.local));
  }
  if (dm_job_is_moved(j, DM_C) || !j->result.old) return DM_OK;
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
  DM_TRY(dm_judge_open(j));
  j->product = (dm_product){.run = j->run, .setup = &j->setup, .check = j->check};
  DM_TRY(dm_measured_open(&j->measured, &j->product, m));
  dm_run_phase(j->run, "measuring", 1);
  return m->measure(m->context, &j->measured, record);
}

static dm_status multiply_matrices(dm_job *j) {
  const dm_source files = {&dm_source_datasets, &j->source};
  const dm_source memory = {&dm_source_memory, &j->operands.source};
  DM_TRY(dm_judge_open(j));
  j->product =
      (dm_product){.run = j->run,
                   .setup = &j->setup,
                   .sink = dm_job_is_moved(j, DM_C) ? (dm_sink){&dm_sink_result, &j->result}
                                                    : (dm_sink){&dm_sink_file, &j->sink},
                   .check = j->check,
                   .guards = j->check && j->multiply->protect,
                   .progress = dm_multiply_progress,
                   .context = j};
  for (int x = 0; x < 2; x++) j->product.source[x] = dm_job_in_file(j, x) ? files : memory;
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
                              .sums = j->basis == DM_BASIS_SUMS,
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

dm_status dm_job_work(dm_job *j, dm_record *record) {
  const dm_multiply *m = j->multiply;
  DM_TRY(multiply_prepare(j));
  if (j->sink.checkpoint && dm_checkpoint_is_done(j->sink.checkpoint))
    return dm_multiply_done(j->run, m, record);
  if (m->measurement) return multiply_measure(j, record);
  if (dm_plan_todo(&j->setup.plan) > 0) DM_TRY(multiply_matrices(j));
  const dm_verdict *verdict = m->verify ? &j->verdict : NULL;
  dm_status failed = verdict ? dm_judge(j) : dm_judge_range(j, NULL);
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
