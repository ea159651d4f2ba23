/* One round of a multiplication from files to a file, from the plan to the report. */
#include "job/multiply.h"

#include <stdlib.h>

#include "check/verdict.h"
#include "core/checked.h"
#include "core/clock.h"
#include "engine/phases.h"
#include "io/file_queue.h"
#include "job/commit.h"
#include "job/multiply_impl.h"
#include "job/multiply_record.h"
#include "job/provenance.h"
#include "job/repair.h"
#include "job/verify_stream.h"
#include "plan/chunk_memory.h"
#include "plan/tiles.h"

/* Memory for large chunks, as the planner counted it. */
static int64_t read_memory(const dm_problem *p) {
  const int64_t kept =
      dm_plus(dm_chunks_kept(p->chunk_a, dm_packed(p->m, p->k, dm_dtype_size(p->file_a))),
              dm_plus(dm_chunks_kept(p->chunk_b, dm_packed(p->k, p->n, dm_dtype_size(p->file_b))),
                      dm_chunks_kept(p->chunk_c, dm_packed(p->m, p->n, dm_dtype_size(p->c)))));
  return dm_max(DM_READ_MEMORY, kept);
}

static dm_status open_inputs(dm_job *j) {
  const dm_multiply *m = j->multiply;
  dm_dataset_input *inputs = j->source.inputs;
  j->source.copies = m->engine.read_copies;
  inputs[DM_A] = (dm_dataset_input){.op = m->equation.op_a, .chunked = m->a.layout == DM_CHUNKED};
  inputs[DM_B] = (dm_dataset_input){.op = m->equation.op_b, .chunked = m->b.layout == DM_CHUNKED};
  DM_TRY(dm_reader_open(&m->a, m->equation.type, &inputs[DM_A].reader));
  DM_TRY(dm_reader_open(&m->b, m->equation.type, &inputs[DM_B].reader));
  dm_source_datasets.set_keepalive(&j->source, &j->run->keepalive);
  if (j->setup.plan.problem.reads_c) DM_TRY(dm_reader_open(&m->c, DM_DTYPE_NONE, &j->sink.old));
  DM_TRY(dm_file_queue_open(dm_run_io_threads(j->run, m->engine.io_threads),
                            read_memory(&j->setup.plan.problem), &j->ahead));
  for (int i = 0; i < 2; i++) {
    dm_reader_lean_on(inputs[i].reader, j->ahead);
    inputs[i].ahead = j->ahead;
  }
  if (j->sink.old) dm_reader_lean_on(j->sink.old, j->ahead);
  return DM_OK;
}

static dm_status open_part(dm_job *j) {
  DM_TRY(dm_output_open(&j->file, &j->sink.output));
  return dm_file_queue_open(dm_run_io_threads(j->run, j->multiply->engine.io_threads), 0,
                            &j->sink.behind);
}

static dm_status open_output(dm_job *j) {
  dm_plan *plan = &j->setup.plan;
  DM_TRY(dm_comm_agree(j->run->world, dm_tile_states_open(dm_plan_tiles(plan), &j->states)));
  DM_TRY(dm_checkpoint_begin(j->sink.checkpoint, &j->setup, &j->file, &j->states));
  DM_TRY(dm_comm_agree(j->run->world, dm_tile_states_choose(&j->states, DM_TILE_RECORDED, plan)));
  DM_TRY(
      dm_comm_agree(j->run->world, j->run->rank == 0 ? dm_commit_room(&j->file, &j->form) : DM_OK));
  DM_TRY(dm_comm_agree(j->run->world, open_part(j)));
  dm_checkpoint_watch(j->sink.checkpoint, j->sink.output);
  return DM_OK;
}

static dm_status files_of(const dm_job *j, dm_verify *verify) {
  const dm_multiply *m = j->multiply;
  *verify = (dm_verify){.a = m->a,
                        .b = m->b,
                        .has_c0 = m->has_c,
                        .c0 = m->c,
                        .equation = m->equation,
                        .tensor = j->setup.plan.gpu,
                        .norm = -1.0,
                        .io_threads = m->engine.io_threads,
                        .draw = j->repair->round};
  return dm_comm_agree(j->run->world, dm_output_part(&j->file, &verify->c));
}

/* Reads the files if the panels seen cannot give a verdict, or if an earlier run wrote part of
 * C. */
static dm_status judge_files(dm_job *j, bool scaled, dm_verdict *verdict) {
  const dm_problem *p = &j->setup.plan.problem;
  dm_verify verify;
  DM_TRY(files_of(j, &verify));
  return scaled ? dm_verify_scaled(j->run, &verify, p, verdict)
                : dm_verify_residual(j->run, &verify, p, verdict);
}

static void say_read_again(const dm_job *j, const char *why) {
  dm_log_line(&j->run->log, DM_LOG_NOTE, "%s: the files are read again", why);
}

static dm_status judge(dm_job *j, dm_verdict *verdict) {
  bool sound = true;
  dm_run_phase(j->run, "verifying", DM_SYNC_PATIENCE);
  if (j->from_files) return judge_files(j, false, verdict);
  const int64_t *changed = j->product.changed; /* products and verification both saw them */
  if (changed[DM_A] + changed[DM_B] > 0) {
    dm_log_line(&j->run->log, DM_LOG_WARNING,
                "%lld pieces of A and %lld of B changed in memory since they were read: C is "
                "verified against the files",
                (long long)changed[DM_A], (long long)changed[DM_B]);
    return judge_files(j, false, verdict);
  }
  int64_t differ = j->sink.differs;
  DM_TRY(dm_comm_sum_i64(j->run->world, &differ, 1));
  if (differ > 0) {
    dm_log_line(&j->run->log, DM_LOG_WARNING,
                "C changed on its way from the GPU on %lld ranks: it is verified against the files",
                (long long)differ);
    return judge_files(j, false, verdict);
  }
  if (dm_plan_streams(&j->setup.plan))
    DM_TRY(dm_freivalds_settle(j->sink.check, j->run->world, &sound));
  if (!sound) {
    say_read_again(j, "B has NaN, Inf, extreme exponents or unlike rows");
    return judge_files(j, false, verdict);
  }
  DM_TRY(dm_freivalds_judge(j->sink.check, j->run->world, verdict));
  if (!verdict->strained) return DM_OK;
  say_read_again(j, "there are NaN, Inf or extreme exponents");
  return judge_files(j, true, verdict);
}

/* If an input was written while it was read, C matches neither its old nor its new elements. */
static dm_status inputs_unchanged(const dm_job *j) {
  DM_TRY(dm_io_unchanged(&j->multiply->a));
  DM_TRY(dm_io_unchanged(&j->multiply->b));
  return j->setup.plan.problem.reads_c ? dm_io_unchanged(&j->multiply->c) : DM_OK;
}

/* Packing C compares it anyway. */
static dm_status read_back(dm_job *j) {
  const bool packed = dm_output_is_chunked(&j->form) || dm_output_is_recast(&j->form);
  const dm_read_back wish = packed ? DM_READ_BACK_NEVER : j->multiply->read_back;
  DM_TRY(dm_checkpoint_read_back(j->sink.checkpoint, wish, &j->read_back));
  j->read_back |= packed && dm_checkpoint_sums(j->sink.checkpoint);
  return DM_OK;
}

static dm_status commit(dm_job *j, const dm_verdict *verdict) {
  dm_status status = DM_OK;
  dm_run_phase(j->run, "committing C", DM_SYNC_PATIENCE);
  DM_TRY(dm_comm_agree(j->run->world, inputs_unchanged(j)));
  DM_TRY(read_back(j));
  if (j->run->rank == 0) {
    dm_attributes *attributes = malloc(sizeof *attributes);
    status = attributes ? dm_provenance_of(j->multiply, &j->setup, j->run, verdict, attributes)
                        : dm_fail(DM_E_FIT, "no memory for the provenance");
    int64_t count;
    bool named = false;
    if (!status) status = dm_checkpoint_intend(j->sink.checkpoint);
    const dm_tile_record *tiles = dm_checkpoint_tiles(j->sink.checkpoint, &count);
    if (!status)
      status = dm_commit_file(j->run, &j->file, &j->form, j->multiply->engine.io_threads,
                              attributes, tiles, count, j->multiply->force, &named);
    if (named) dm_checkpoint_named(j->sink.checkpoint);
    /* If the file could not get its form, the only copy of the result stays. */
    j->keep_part = status != DM_OK && !named &&
                   (dm_output_is_chunked(&j->form) || dm_output_is_recast(&j->form));
    free(attributes);
  }
  return dm_comm_agree(j->run->world, status);
}

/* Completes FORM and counts the disk space it needs. */
static dm_status complete_form(dm_output_form *form, dm_problem *problem) {
  DM_TRY(dm_output_form_complete(form, problem->c, problem->m, problem->n));
  if (!dm_output_is_chunked(form)) return DM_OK;
  return dm_output_form_bytes(form, problem->c, problem->m, problem->n, &problem->beside_bytes);
}

/* The magnitudes of factors that an earlier run multiplied are only known to the verification. */
static dm_status sums_known(const dm_job *j, const dm_problem *p) {
  if (!j->from_files || j->multiply->verify || p->work != DM_I8 || p->k <= 131071) return DM_OK;
  return dm_hint(
      dm_fail(DM_E_USAGE, "i8 with k = %lld is not resumed without verification", (long long)p->k),
      "leave out --no-verify");
}

/* Files whose rates the planner may know. */
static dm_named_files names_of(const dm_multiply *m) {
  return (dm_named_files){.reads = {m->a.at.file, m->b.at.file, m->has_c ? m->c.at.file : NULL},
                          .writes = m->out.file};
}

static dm_status prepare(dm_job *j) {
  const dm_multiply *m = j->multiply;
  dm_problem problem;
  dm_run_lap(j->run, &j->outside.start);
  dm_run_phase(j->run, "planning", 1);
  DM_TRY(dm_comm_agree(
      j->run->world, dm_problem_of(&m->a, &m->b, m->has_c ? &m->c : NULL, &m->equation, &problem)));
  j->form = m->form;
  DM_TRY(dm_comm_agree(j->run->world, complete_form(&j->form, &problem)));
  DM_TRY(dm_checkpoint_open(j->run, m, &problem, &j->sink.checkpoint));
  if (dm_checkpoint_is_done(j->sink.checkpoint)) return DM_OK;
  j->from_files = m->verify_files || dm_checkpoint_recorded(j->sink.checkpoint) > 0;
  problem.verify = m->verify && !j->from_files;
  DM_TRY(dm_comm_agree(j->run->world, sums_known(j, &problem)));
  dm_engine engine = m->engine;
  engine.files = names_of(m);
  engine.process_bytes = j->repair->process_bytes;
  dm_checkpoint_impose(j->sink.checkpoint, &engine.wishes);
  DM_TRY(dm_setup_open(j->run, &engine, &problem, &j->setup));
  j->repair->process_bytes = j->setup.machine.process_bytes;
  dm_run_lap(j->run, &j->outside.plan);
  dm_run_phase(j->run, "opening files and memory", 1);
  DM_TRY(dm_comm_agree(j->run->world, open_inputs(j)));
  return open_output(j);
}

static dm_status multiply_matrices(dm_job *j) {
  const dm_multiply *m = j->multiply;
  const dm_plan *plan = &j->setup.plan;
  if (plan->problem.verify)
    DM_TRY(dm_check_new(j->run, plan, m->equation.alpha, m->equation.beta, &j->sink.check));
  if (j->sink.check) dm_freivalds_draw(j->sink.check, j->repair->round);
  j->product = (dm_product){.run = j->run,
                            .setup = &j->setup,
                            .source = {&dm_source_datasets, &j->source},
                            .sink = {&dm_sink_file, &j->sink},
                            .check = j->sink.check,
                            .guards = j->sink.check && m->protect,
                            .progress = dm_multiply_progress,
                            .context = j};
  DM_TRY(dm_product_open(&j->product));
  j->product.local.states = &j->states;
  dm_run_lap(j->run, &j->outside.open);
  DM_TRY(dm_product_run(&j->product));
  double counted = 0.0; /* counted by the product */
  dm_run_lap(j->run, &counted);
  return DM_OK;
}

static dm_status tell(const dm_job *j, const dm_phases *worst, const dm_verdict *verdict,
                      dm_outcome *outcome) {
  double seconds[2] = {dm_now() - j->began, j->began - j->started};
  DM_TRY(dm_comm_max_f64(j->run->world, seconds, 2));
  *outcome = (dm_outcome){.seconds = seconds[0],
                          .before = seconds[1],
                          .worst = *worst,
                          .plan = j->setup.plan,
                          .way = j->file.way};
  outcome->plan.todo = NULL; /* is freed with the job */
  if (verdict) outcome->verdict = *verdict;
  return DM_OK;
}

/* All phases of this rank: those counted by the product, and those before and after it. */
static dm_phases phases_of(const dm_job *j) {
  dm_phases all = j->product.local.phases;
  all.start = j->outside.start;
  all.plan = j->outside.plan;
  all.open = j->outside.open;
  all.verify += j->outside.verify;
  all.commit = j->outside.commit;
  all.from_files = dm_multiply_bytes_read(j);
  return all;
}

static dm_status report(dm_job *j, const dm_verdict *verdict, dm_record *record,
                        dm_outcome *outcome) {
  dm_phases mean, worst;
  int64_t unpacked = dm_file_queue_unpacked(j->ahead);
  j->product.local.phases = phases_of(j);
  const dm_phases *own = &j->product.local.phases;
  DM_TRY(dm_comm_sum_i64(j->run->world, &unpacked, 1));
  DM_TRY(dm_phases_worst(j->run, &j->product.local, &worst));
  DM_TRY(dm_phases_mean(j->run, own, &mean));
  if (outcome) DM_TRY(tell(j, &worst, verdict, outcome));
  const dm_multiplied done = {.run = j->run,
                              .multiply = j->multiply,
                              .setup = &j->setup,
                              .factor = j->product.local.scaling.factor,
                              .form = &j->form,
                              .way = j->file.way,
                              .worst = &worst,
                              .mean = &mean,
                              .verdict = verdict,
                              .read_back = j->read_back,
                              .unpacked = unpacked,
                              .repeated = j->repair->seconds,
                              .seconds = dm_now() - j->run->born};
  if (record) dm_multiply_record(&done, record);
  return dm_phases_by_rank(j->run, own, record);
}

/* An earlier run ended after it named C, but before it could report. */
static dm_status tell_done(const dm_job *j, dm_record *record) {
  const dm_multiply *m = j->multiply;
  dm_problem problem;
  DM_TRY(dm_problem_of(&m->a, &m->b, m->has_c ? &m->c : NULL, &m->equation, &problem));
  if (record) dm_multiply_record_done(j->run, m, &problem, record);
  return DM_OK;
}

/* Keeps the wrong result for inspection, under its .part name. */
static dm_status stop(dm_job *j) {
  const char *out = j->multiply->out.file;
  j->keep_part = true;
  return dm_hint(dm_verdict_status(&j->verdict, out, false),
                 "the result is kept as %s; %s was not touched", j->file.part, out);
}

/* A result that must not be published is an error. */
static dm_status judge_or_repair(dm_job *j) {
  DM_TRY(judge(j, &j->verdict));
  j->verdict.repaired = j->repair->tiles;
  if (j->verdict.pass || j->multiply->on_corruption == DM_ON_CORRUPTION_WARN) return DM_OK;
  if (j->multiply->on_corruption == DM_ON_CORRUPTION_STOP) return stop(j);
  dm_verify verify;
  DM_TRY(files_of(j, &verify));
  dm_status status = dm_repair_try(j, &verify, j->repair, &j->again);
  if (j->keep_part)
    dm_hint(status, "the result is kept as %s; %s was not touched", j->file.part,
            j->multiply->out.file);
  return status;
}

dm_status dm_job_work(dm_job *j, dm_record *record, dm_outcome *outcome) {
  const dm_multiply *m = j->multiply;
  DM_TRY(prepare(j));
  if (dm_checkpoint_is_done(j->sink.checkpoint)) return tell_done(j, record);
  if (m->reserve_first && j->setup.plan.gpu) DM_TRY(dm_checkpoint_reserved(j->sink.checkpoint));
  j->began = dm_now();
  if (dm_plan_todo(&j->setup.plan) > 0) DM_TRY(multiply_matrices(j));
  const dm_verdict *verdict = m->verify ? &j->verdict : NULL;
  dm_status failed = verdict ? judge_or_repair(j) : DM_OK;
  if (failed && !dm_verdict_is(failed)) return failed;
  if (j->again) return DM_OK;
  dm_run_lap(j->run, &j->outside.verify);
  const bool pass = !verdict || verdict->pass;
  if (verdict && pass) dm_tile_reach_all(&j->states, DM_TILE_CHECKED);
  if (!failed) DM_TRY(commit(j, verdict));
  j->judged = verdict != NULL;
  dm_run_lap(j->run, &j->outside.commit);
  dm_status reported = report(j, verdict, record, outcome);
  return dm_status_first(failed, reported);
}
