/* The way of the tiles: loads, products, stores, and what they report. */
#include "core/checked.h"
#include "core/clock.h"
#include "engine/phases.h"
#include "job/multiply_impl.h"
#include "plan/partition.h"
#include "plan/tiles.h"

static dm_status load(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  dm_job *j = context;
  (void)local;
  return dm_prefetch_load(&j->prefetch, matrix, panel);
}

static dm_status loaded(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel,
                        bool *done) {
  dm_job *j = context;
  (void)local;
  return dm_prefetch_loaded(&j->prefetch, matrix, panel, done);
}

static dm_status check(void *context, dm_rank_state *local, int64_t panel, bool *done) {
  dm_job *j = context;
  return dm_streamed_check_panel(&j->streamed, local, panel, done);
}

static dm_status store(void *context, dm_rank_state *local, dm_range rows, bool *done) {
  dm_job *j = context;
  DM_TRY(dm_store_rows(local, &j->sink, rows, done));
  if (!*done || rows.end < dm_range_size(dm_rank_sums(local))) return DM_OK;
  return dm_checkpoint_stored(j->sink.checkpoint, local->tile);
}

static dm_status moves(void *context) {
  dm_run *run = context;
  dm_watch_moved(run->watch);
  dm_watch_poll(run->watch);
  return DM_OK;
}

int64_t dm_multiply_bytes_read(const dm_job *j) {
  int64_t bytes = j->sink.old ? dm_reader_bytes(j->sink.old) : 0;
  for (int x = 0; x < 2; x++) bytes += dm_reader_bytes(j->source[x].reader);
  return bytes;
}

/* Part of the work that is done when DONE panels are, of rank 0's layer and the tiles of this run.
 */
static double part_done(const dm_job *j, int64_t done) {
  const int64_t layer = dm_max(1, dm_range_size(dm_plan_layer(&j->setup.plan, 0)));
  return dm_plan_part_done(&j->setup.plan, j->taken_up + done / layer, 0, done % layer);
}

static dm_status progress(void *context, int64_t done, int64_t total) {
  dm_job *j = context;
  dm_watch_at(j->run->watch, done, total);
  if (total > 0 && dm_progress_is_due(&j->progress))
    dm_progress_show(&j->progress, (dm_standing){.done = part_done(j, done),
                                                 .read = dm_multiply_bytes_read(j),
                                                 .written = j->sink.written});
  return dm_checkpoint_poll(j->sink.checkpoint);
}

static void start_progress(dm_job *j) {
  const dm_plan *plan = &j->setup.plan;
  dm_progress_start(&j->progress, j->run, "multiplying", dm_product_flops(&plan->problem),
                    part_done(j, 0), dm_plan_used(plan));
}

/* The sum of k products of i8 must fit i32; it always does up to k = 131071. */
static dm_status sums_fit(dm_job *j) {
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
static void stop_together(dm_job *j) {
  j->moves = (dm_keepalive){moves, j->run};
  for (int x = 0; x < 2; x++) dm_reader_keepalive(j->source[x].reader, &j->moves);
}

/* Steps of KINDS; what took time goes to where it belongs. */
static dm_status run_steps(dm_job *j, unsigned kinds, const dm_step_calls *calls) {
  dm_phases *phases = &j->local.phases;
  const double start = dm_now(), others = phases->check + phases->verify;
  dm_trace_count_anew(&j->run->trace);
  dm_status status = dm_execute(&j->local, kinds, calls);
  if (!status) dm_phases_take(&j->run->trace, kinds, dm_now() - start, others, phases);
  return status;
}

static dm_status read_shares(dm_job *j) {
  dm_run_phase(j->run, "reading", 1);
  const dm_step_calls calls = {.context = j, .load = load, .loaded = loaded};
  return dm_comm_agree(j->run->world, run_steps(j, DM_LOADS, &calls));
}

static dm_status check_shares(dm_job *j) {
  DM_TRY(sums_fit(j));
  if (!j->setup.plan.problem.verify) return DM_OK;
  dm_run_phase(j->run, "checking A and B", 1);
  return dm_check_operands(&j->local, j->sink.check);
}

/* C in tiles: each is written when it is there; what does not stay in memory is read again. */
static dm_status multiply_tiles(dm_job *j) {
  const bool streams = dm_plan_streams(&j->setup.plan);
  const dm_step_calls calls = {.context = j,
                               .load = load,
                               .loaded = loaded,
                               .check = check,
                               .store = store,
                               .progress = progress,
                               .may_stop = true};
  j->streamed.check = j->sink.check;
  if (streams && j->sink.check) {
    dm_run_phase(j->run, "sampling B", 1);
    DM_TRY(
        dm_streamed_check_sample(&j->streamed, j->run, &j->setup.plan.problem, &j->source[DM_B]));
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

static dm_status sum_layers(dm_job *j) {
  const dm_step_calls none = {0};
  const double start = dm_now();
  dm_run_phase(j->run, "summing over the layers", 1);
  DM_TRY(dm_execute(&j->local, 1u << DM_STEP_REDUCE, &none));
  j->local.phases.reduce = dm_now() - start;
  return DM_OK;
}

static dm_status multiply_strips(dm_job *j) {
  const dm_step_calls calls = {
      .context = j, .store = store, .progress = progress, .may_stop = true};
  dm_run_phase(j->run, "multiplying and writing", DM_SYNC_PATIENCE);
  DM_TRY(run_steps(j, DM_STRIPS, &calls));
  dm_progress_end(&j->progress);
  return DM_OK;
}

/* C in one piece, except for the last strips: they wait until all of A and B was looked at. */
static dm_status multiply_panels(dm_job *j) {
  const dm_plan *plan = &j->setup.plan;
  const bool behind = plan->overlap; /* products begin before all of A and B is there */
  const dm_step_calls calls = {
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
  if (plan->strips == 0) dm_progress_end(&j->progress);
  if (behind) DM_TRY(check_shares(j));
  if (plan->strips > 0) return multiply_strips(j);
  return plan->pk > 1 ? sum_layers(j) : DM_OK;
}

static dm_status store_late(void *context, dm_rank_state *local, dm_range rows, bool *done) {
  dm_run_beat_late(local->run);
  return store(context, local, rows, done);
}

/* From here on nobody stops: what is left is short beside what would have to be done again. */
static dm_status write_result(dm_job *j, bool stored) {
  const dm_step_calls calls = {.context = j, .store = store_late};
  dm_status status = DM_OK;
  dm_run_phase(j->run, "writing", DM_SYNC_PATIENCE);
  if (!stored) status = dm_comm_agree(j->run->world, run_steps(j, 1u << DM_STEP_STORE, &calls));
  const double start = dm_now();
  dm_file_queue_close(j->sink.behind);
  j->sink.behind = NULL;
  if (!status) status = dm_checkpoint_flush(j->sink.checkpoint, false);
  status = dm_status_first(status, dm_output_close(j->sink.output));
  j->sink.output = NULL;
  dm_checkpoint_watch(j->sink.checkpoint, NULL);
  DM_TRY(dm_comm_agree(j->run->world, status));
  j->local.phases.write += dm_now() - start;
  return DM_OK;
}

dm_status dm_multiply_tiles(dm_job *j) {
  const dm_multiply *m = j->multiply;
  const dm_problem *problem = &j->setup.plan.problem;
  if (problem->verify)
    DM_TRY(
        dm_comm_agree(j->run->world, dm_freivalds_new(problem, m->equation.alpha, m->equation.beta,
                                                      j->setup.plan.gpu, &j->sink.check)));
  j->rank_opened = true;
  DM_TRY(dm_rank_open(j->run, &j->setup.plan, j->setup.backend, j->setup.transport, &j->local));
  DM_TRY(dm_comm_agree(j->run->world, dm_prefetch_open(&j->local, j->source, &j->prefetch)));
  const bool whole = !dm_plan_streams(&j->setup.plan) && dm_plan_tiles(&j->setup.plan) == 1;
  DM_TRY(whole ? multiply_panels(j) : multiply_tiles(j));
  return write_result(j, !whole || j->setup.plan.strips > 0);
}
