#include "engine/product.h"

#include <math.h>

#include "core/clock.h"
#include "engine/execute.h"
#include "engine/phases.h"
#include "engine/scaling.h"
#include "engine/share_check.h"
#include "plan/partition.h"
#include "plan/tiles.h"

/* ---- what the executor calls ---- */

static dm_status product_check(void *context, dm_rank_state *local, int64_t panel, bool *done) {
  dm_product *p = context;
  return dm_streamed_check_panel(&p->streamed, local, panel, done);
}

static dm_status progress(void *context, int64_t done, int64_t total) {
  const dm_product *p = context;
  dm_watch_at(p->run->watch, done, total);
  if (p->run->on_progress) p->run->on_progress(p->run->progress_context, done, total);
  return p->progress ? p->progress(p->context, done, total) : DM_OK;
}

/* Runs steps of KINDS and adds their time to the phases. */
static dm_status run_steps(dm_product *p, unsigned kinds, const dm_step_calls *calls) {
  dm_phases *phases = &p->local.phases;
  const double start = dm_now(), others = phases->check + phases->verify;
  dm_trace_count_anew(&p->run->trace);
  DM_TRY(dm_execute(&p->local, kinds, calls));
  dm_phases_take(&p->run->trace, kinds, dm_now() - start, others, phases);
  return DM_OK;
}

/* ---- shares ---- */

/* The sum of k products of integers must fit C, and be exact in f64. */
static dm_status integers_fit(const dm_product *p, const double largest[2]) {
  const dm_problem *problem = &p->setup->plan.problem;
  const double most = largest[0] * largest[1] * (double)problem->k;
  const bool wider = problem->c != DM_I64 && most <= dm_problem_integral_limit(DM_I64);
  if (most <= dm_problem_integral_limit(problem->c)) return DM_OK;
  dm_status status = dm_hint(
      dm_fail(DM_E_INPUT, "sums of %lld products of integers up to %.0f and %.0f may not %s",
              (long long)problem->k, largest[0], largest[1],
              problem->c == DM_I64 ? "be below 2^53, up to which they are exact" : "fit i32"),
      wider ? "--type i64 holds them" : "--type f64 --allow-rounding rounds them");
  status->agreed = true;
  return status;
}

/* The sum of k products of i8 must fit i32; it always does up to k = 131071. */
static dm_status sums_fit(const dm_product *p) {
  const dm_problem *problem = &p->setup->plan.problem;
  if (!dm_problem_is_exact(problem)) return DM_OK;
  double largest[2];
  for (int x = 0; x < 2; x++)
    largest[x] = p->source[x].ops->largest(p->source[x].state, (dm_matrix)x);
  DM_TRY(dm_comm_max_f64(p->run->world, largest, 2));
  if (dm_problem_is_integral(problem)) return integers_fit(p, largest);
  if (largest[0] * largest[1] * (double)problem->k <= 2147483647.0) return DM_OK;
  dm_status status = dm_hint(
      dm_fail(DM_E_INPUT, "sums of %lld products of i8 may not fit i32", (long long)problem->k),
      "--type f64 multiplies in f64");
  status->agreed = true;
  return status;
}

/* Residues need numbers scaled by maxima over all of A and B. */
static bool scales(const dm_product *p) {
  return p->setup->plan.problem.compute.scans;
}

static dm_status product_scale(dm_product *p) {
  dm_run_phase(p->run, "scaling A and B", 1);
  DM_TRY(dm_rank_scale(&p->local, p->source));
  return p->local.scaling.unfit
             ? dm_scaling_refused(&p->local.scaling, &p->setup->plan.problem.compute)
             : DM_OK;
}

static dm_status check_shares(dm_product *p) {
  if (p->scanned) return DM_OK;
  DM_TRY(sums_fit(p));
  if (scales(p)) DM_TRY(product_scale(p));
  if (p->check) DM_TRY(dm_check_operands(&p->local, p->check, p->guards ? &p->sums : NULL));
  p->scanned = true;
  return DM_OK;
}

static dm_status check_loaded_shares(dm_product *p) {
  if (p->check && !p->scanned) dm_run_phase(p->run, "checking A and B", 1);
  return check_shares(p);
}

/* Where no other rank has to be waited for, and a device goes on with products meanwhile.  What is
 * in host memory would be looked at in slots that these need. */
static bool checks_early(const dm_product *p) {
  const dm_plan *plan = &p->setup->plan;
  const bool on_device = dm_plan_residence(plan, DM_A) == DM_IN_DEVICE &&
                         dm_plan_residence(plan, DM_B) == DM_IN_DEVICE;
  return p->run->ranks == 1 && on_device && dm_plan_tiles(plan) == 1 && !scales(p);
}

/* Products hide it: it counts as nobody's time. */
static dm_status check_early(dm_product *p) {
  const double counted = p->local.phases.check;
  dm_status status = check_shares(p);
  p->local.phases.check = counted;
  return status;
}

static dm_status product_arrived(void *context, dm_rank_state *local, dm_matrix matrix,
                                 int64_t panel) {
  dm_product *p = context;
  DM_TRY(dm_share_sums_take(&p->sums, local, matrix, panel));
  const bool is_last = ++p->arrived == 2 * dm_range_size(local->panels);
  return is_last && checks_early(p) ? check_early(p) : DM_OK;
}

static dm_step_calls calls_of(dm_product *p) {
  return (dm_step_calls){.source = {p->source[DM_A], p->source[DM_B]},
                         .sink = p->sink,
                         .context = p,
                         .arrived = product_arrived,
                         .check = product_check,
                         .progress = progress,
                         .delivers = p->halts != NULL,
                         .halts = p->halts,
                         .may_stop = true};
}

static dm_status read_shares(dm_product *p) {
  if (p->loaded) return DM_OK;
  const dm_step_calls calls = {
      .source = {p->source[DM_A], p->source[DM_B]}, .context = p, .arrived = product_arrived};
  p->arrived = 0;
  dm_run_phase(p->run, "reading", 1);
  DM_TRY(dm_comm_agree(p->run->world, run_steps(p, DM_LOADS, &calls)));
  return check_loaded_shares(p);
}

dm_status dm_product_load(dm_product *product) {
  DM_TRY(read_shares(product));
  product->loaded = true;
  return DM_OK;
}

/* ---- products ---- */

static dm_status product_moves(void *context) {
  dm_run *run = context;
  dm_watch_moved(run->watch);
  dm_watch_poll(run->watch);
  return DM_OK;
}

/* While panels are multiplied no rank stops alone. */
static void stop_together(dm_product *p) {
  p->moves = (dm_keepalive){product_moves, p->run};
  for (int x = 0; x < 2; x++)
    if (p->source[x].ops->set_keepalive)
      p->source[x].ops->set_keepalive(p->source[x].state, &p->moves);
}

/* Before the first step that stores. */
static dm_status sink_ready(dm_product *p) {
  const double start = dm_now();
  if (p->sink.ops && p->sink.ops->ready) DM_TRY(p->sink.ops->ready(p->sink.state));
  p->local.phases.write += dm_now() - start;
  return DM_OK;
}

/* C in tiles: each is stored when complete; pieces that do not stay in memory are read again. */
static dm_status product_multiply_tiles(dm_product *p) {
  const bool streams = dm_plan_streams(&p->setup->plan);
  const dm_step_calls calls = calls_of(p);
  p->streamed.check = p->check;
  if (streams && scales(p)) DM_TRY(product_scale(p));
  if (streams && p->check) {
    dm_run_phase(p->run, "sampling B", 1);
    DM_TRY(dm_streamed_check_sample(&p->streamed, &p->local, &p->source[DM_B]));
  }
  if (!streams) DM_TRY(read_shares(p));
  DM_TRY(sink_ready(p));
  stop_together(p);
  dm_run_phase(p->run, "multiplying", streams ? DM_SYNC_PATIENCE : 1);
  DM_TRY(dm_comm_barrier(p->run->world));
  DM_TRY(run_steps(p, streams ? DM_ALL_STEPS : DM_ALL_STEPS & ~DM_LOADS, &calls));
  return streams ? sums_fit(p) : DM_OK;
}

static dm_status sum_layers(dm_product *p) {
  const dm_step_calls none = {0};
  const double start = dm_now();
  dm_run_phase(p->run, "summing over the layers", 1);
  DM_TRY(dm_execute(&p->local, DM_SUMS, &none));
  p->local.phases.reduce += dm_now() - start;
  return DM_OK;
}

static dm_status multiply_strips(dm_product *p) {
  dm_step_calls calls = calls_of(p);
  calls.delivers = false; /* the caller does, after its verdict */
  dm_run_phase(p->run, p->sink.ops ? "multiplying and writing" : "multiplying", DM_SYNC_PATIENCE);
  DM_TRY(sink_ready(p));
  return run_steps(p, DM_STRIPS, &calls);
}

/* C in one piece, except the last strips, which wait until all of A and B has been scanned. */
static dm_status multiply_panels(dm_product *p) {
  const dm_plan *plan = &p->setup->plan;
  /* Products start before everything is loaded. */
  const bool behind = plan->overlap && !plan->read_first && !p->loaded && !scales(p);
  dm_step_calls calls = calls_of(p);
  calls.sink = (dm_sink){0};
  calls.delivers = false;
  p->arrived = 0;
  if (!behind) DM_TRY(read_shares(p));
  stop_together(p);
  dm_run_phase(p->run, behind ? "reading and multiplying" : "multiplying", 1);
  DM_TRY(dm_comm_barrier(p->run->world));
  DM_TRY(run_steps(p, behind ? DM_LOADS | DM_PRODUCTS : DM_PRODUCTS, &calls));
  if (behind) DM_TRY(check_loaded_shares(p));
  if (plan->strips > 0) return multiply_strips(p);
  return dm_plan_sums(plan) ? sum_layers(p) : DM_OK;
}

/* From here on requests to stop are ignored: the rest takes less time than repeating the work
 * done. */
static dm_status product_settle(dm_product *p, bool stored) {
  const dm_step_calls calls = {.sink = p->sink, .storing = dm_run_poll_late};
  if (!p->sink.ops) return DM_OK;
  dm_run_phase(p->run, "writing", DM_SYNC_PATIENCE);
  if (!stored) DM_TRY(sink_ready(p));
  if (!stored) DM_TRY(dm_comm_agree(p->run->world, run_steps(p, 1u << DM_STEP_STORE, &calls)));
  const double start = dm_now();
  if (p->sink.ops->settle) DM_TRY(dm_comm_agree(p->run->world, p->sink.ops->settle(p->sink.state)));
  p->local.phases.write += dm_now() - start;
  return DM_OK;
}

static dm_status run_all(dm_product *product) {
  const dm_plan *plan = &product->setup->plan;
  const bool whole = !dm_plan_streams(plan) && dm_plan_tiles(plan) == 1;
  DM_TRY(whole ? multiply_panels(product) : product_multiply_tiles(product));
  return product_settle(product, !whole || plan->strips > 0);
}

dm_status dm_product_run(dm_product *product) {
  dm_phases *phases = &product->local.phases;
  const double start = dm_now(), before = dm_phases_sum(phases);
  DM_TRY(run_all(product));
  if (product->guards)
    DM_TRY(dm_share_sums_compare(&product->sums, &product->local, product->changed));
  phases->wait += fmax(0.0, dm_now() - start - (dm_phases_sum(phases) - before));
  return DM_OK;
}

/* ---- opening and closing ---- */

/* Whether both matrices come from one state. */
static bool is_shared(const dm_source source[2]) {
  return source[DM_A].state == source[DM_B].state;
}

static dm_status open_sources(dm_product *p) {
  for (int x = 0; x < (is_shared(p->source) ? 1 : 2); x++)
    if (p->source[x].ops->open) DM_TRY(p->source[x].ops->open(p->source[x].state, &p->local));
  return DM_OK;
}

static void close_sources(dm_product *p) {
  for (int x = 0; x < (is_shared(p->source) ? 1 : 2); x++)
    if (p->source[x].ops->close) p->source[x].ops->close(p->source[x].state);
}

static dm_status open_ends(dm_product *p) {
  if (p->check && !p->local.coords.idle)
    DM_TRY(dm_rank_memory_count(&p->local.memory, DM_BUFFER_VECTORS, dm_freivalds_bytes(p->check)));
  DM_TRY(open_sources(p));
  if (p->guards) DM_TRY(dm_share_sums_open(&p->local, p->check, &p->sums));
  return p->sink.ops && p->sink.ops->open ? p->sink.ops->open(p->sink.state, &p->local) : DM_OK;
}

dm_status dm_product_open(dm_product *product) {
  dm_setup *setup = product->setup;
  product->is_open = true;
  DM_TRY(
      dm_rank_open(product->run, &setup->plan, setup->backend, setup->transport, &product->local));
  DM_TRY(dm_comm_agree(product->run->world, open_ends(product)));
  const bool delivers = product->sink.ops && product->sink.ops->deliver;
  if (!delivers || dm_plan_tiles(&setup->plan) == 1) return DM_OK;
  return dm_comm_split(product->run->world, 0, product->run->rank, &product->halts);
}

dm_status dm_product_set_source(dm_product *product, dm_source source) {
  close_sources(product);
  product->source[DM_A] = product->source[DM_B] = source;
  product->loaded = false;
  return dm_comm_agree(product->run->world, open_sources(product));
}

void dm_product_close(dm_product *product) {
  if (!product->is_open) return;
  close_sources(product);
  if (product->sink.ops && product->sink.ops->close)
    product->sink.ops->close(product->sink.state, &product->local);
  dm_share_sums_close(&product->sums);
  dm_rank_close(&product->local);
  dm_comm_free(product->halts);
  product->halts = NULL;
  product->is_open = false;
}
