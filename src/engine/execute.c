/* execute: posts every step as soon as the steps it waits for are done, and never waits for one
 * that is not needed yet. The same loop runs on CPU and GPU, with and without peers. */
#include <string.h>
#include <time.h>

#include "core/checked.h"
#include "engine/execute.h"
#include "engine/post_steps.h"
#include "plan/partition.h"

enum { EXECUTE_WINDOW = 64 }; /* steps considered; more than slots * 8 never help */
enum { QUEUE = 4 };           /* products posted at a time */

typedef struct slot_state {
  dm_step step;
  bool posted, done;
  int ticket;     /* ticket of a gather */
  dm_event event; /* event of a copy or product */
} slot_state;

typedef struct execution {
  dm_rank_state *local;
  const dm_step_calls *calls;
  unsigned kinds;
  dm_cursor cursor;
  slot_state window[EXECUTE_WINDOW]; /* step i is at i % EXECUTE_WINDOW */
  int64_t first, end;                /* steps in the window */
  bool exhausted;
  bool behind; /* loads run in the background */
  dm_published published;
  int io; /* loads and stores under way */
  int64_t products_posted, products_done;
  int finishing; /* FINISH steps under way */
  bool strips_begun;
  int64_t begun; /* position of the run, as counted by reach_of */
  dm_halt halt;
  dm_status failure;         /* error of this rank's file, with which all ranks must end */
  int64_t stored, delivered; /* tiles of the run: stored by this rank, delivered by all */
  bool delivers;             /* there are tiles to deliver */
  bool worthless;            /* a rank failed: nothing is delivered any more */
  dm_comm_pending *round;    /* in which the ranks learn that all have stored the next tile */
} execution;

static slot_state *state_of(execution *x, int64_t index) {
  return &x->window[index % EXECUTE_WINDOW];
}

/* Whether all that STEP comes after is done. */
static bool may_begin(execution *x, const dm_step *step) {
  for (int i = 0; i < DM_STEP_AFTER; i++)
    if (step->after[i] >= x->first && !state_of(x, step->after[i])->done) return false;
  return dm_publish_may_begin(&x->published, step);
}

/* STEP's position in the run, counted alike on all ranks: in panels, for each tile as many as the
 * longest layer has, then in strips. The sum over the layers comes after all of them. */
static int64_t reach_of(const execution *x, const dm_step *step) {
  const int64_t longest = dm_range_size(dm_plan_layer(x->local->plan, 0));
  if (step->strip >= 0) return longest + step->strip + 1;
  const bool last = step->kind >= DM_STEP_FINISH;
  int64_t within = last ? longest : step->panel - x->local->panels.begin + 1;
  return dm_plan_todo_place(x->local->plan, step->tile) * longest + within;
}

/* Whether STEP is after the panel on which all ranks stop, so must not start, or not yet. */
static bool is_beyond(const execution *x, const dm_step *step) {
  return reach_of(x, step) > x->halt.limit;
}

/* ---- tiles that all ranks deliver together ---- */

/* Whether this rank stops before it has stored the next tile. */
static bool stops_before(const execution *x) {
  const int64_t longest = dm_range_size(dm_plan_layer(x->local->plan, 0));
  return x->halt.state == DM_HALT_DECIDED && (x->delivered + 1) * longest > x->halt.limit;
}

/* The next tile's products would overwrite the block. */
static bool is_undelivered(const execution *x, const dm_step *step) {
  return x->delivers && dm_step_is_product(step) &&
         dm_plan_todo_place(x->local->plan, step->tile) > x->delivered;
}

/* Each rank starts one round for each tile, in order; one that stops before the tile ends them all.
 * Meanwhile the ranks go on, since others may need their panels. */
static dm_status execute_deliver(execution *x) {
  const dm_comm *world = x->local->run->world;
  const int64_t place = x->delivered;
  int64_t values[DM_MAXIMA] = {x->failure != DM_OK, stops_before(x)};
  bool done = false;
  if (!x->round) {
    if (x->stored <= place && !values[1] && !x->local->coords.idle) return DM_OK;
    DM_TRY(dm_comm_max_start(world, values, &x->round));
  }
  DM_TRY(dm_comm_max_test(x->round, &done, values));
  if (!done) return DM_OK;
  x->round = NULL;
  x->worthless |= values[0] != 0;
  if (!values[1]) x->delivered++;
  x->delivers = !values[1] && x->delivered < dm_plan_todo(x->local->plan);
  if (x->worthless || values[1]) return DM_OK;
  const dm_sink *sink = &x->calls->sink;
  return sink->ops->deliver(sink->state, x->local, dm_plan_todo_tile(x->local->plan, place));
}

/* ---- steps ---- */

/* Handles an error in a file: what this rank sends afterwards is worthless, and it stores and
 * records nothing more. */
static dm_status endure(execution *x, const dm_step *step, dm_status status) {
  const int64_t tiles = dm_plan_tiles(x->local->plan);
  const bool failed = x->failure != DM_OK;
  status = dm_halt_keep_error(&x->halt, status, &x->failure);
  if (x->failure && !failed && step && tiles > 1)
    dm_context(x->failure, "tile %lld of %lld", (long long)step->tile + 1, (long long)tiles);
  return status;
}

static bool is_io(const dm_step *step) {
  return (DM_LOADS | 1u << DM_STEP_STORE) & 1u << step->kind;
}

static dm_status test_piece(const execution *x, const dm_step *step, bool *done) {
  const dm_step_calls *calls = x->calls;
  const dm_matrix matrix = dm_step_matrix(step->kind);
  const dm_source *from = &calls->source[matrix];
  *done = true;
  if (from->ops->loaded)
    DM_TRY(from->ops->loaded(from->state, x->local, matrix, step->panel, done));
  if (!*done || !calls->arrived) return DM_OK;
  return calls->arrived(calls->context, x->local, matrix, step->panel);
}

/* In the order of the panels if peers read them. */
static dm_status test_load(execution *x, const dm_step *step, bool *done) {
  if (!dm_publish_is_next(&x->published, step)) return DM_OK;
  dm_rank_turn_to(x->local, step->tile);
  if (!x->failure) DM_TRY(endure(x, step, test_piece(x, step, done)));
  *done |= x->failure != DM_OK;
  if (*done) dm_publish_loaded(&x->published, step);
  return DM_OK;
}

static dm_status execute_load(execution *x, slot_state *state) {
  const dm_step *step = &state->step;
  const dm_matrix matrix = dm_step_matrix(step->kind);
  const dm_source *from = &x->calls->source[matrix];
  const bool brings = from->ops && step->brings;
  if (brings && !x->failure)
    DM_TRY(endure(x, step, from->ops->load(from->state, x->local, matrix, step->panel)));
  state->done = !brings || !x->behind;
  if (state->done) dm_publish_loaded(&x->published, step);
  return DM_OK;
}

static dm_status execute_check(execution *x, slot_state *state) {
  state->done = true;
  dm_rank_turn_to(x->local, state->step.tile);
  return x->calls->check
             ? x->calls->check(x->calls->context, x->local, state->step.panel, &state->done)
             : DM_OK;
}

static dm_status execute_store(execution *x, slot_state *state) {
  const dm_sink *sink = &x->calls->sink;
  const dm_step *step = &state->step;
  state->done = true;
  dm_rank_turn_to(x->local, step->tile);
  if (x->calls->storing) x->calls->storing(x->local->run);
  if (!sink->ops || !sink->ops->store || x->failure) return DM_OK;
  const dm_range rows = step->strip < 0
                            ? dm_rank_sums(x->local)
                            : dm_plan_strip(x->local->plan, x->local->coords.i, step->strip).rows;
  DM_TRY(endure(x, step, sink->ops->store(sink->state, x->local, rows, &state->done)));
  state->done |= x->failure != DM_OK;
  return DM_OK;
}

/* Sums a strip, or everything. */
static dm_status execute_reduce(const execution *x, slot_state *state) {
  const dm_plan *plan = x->local->plan;
  const int64_t number = state->step.strip;
  dm_rank_turn_to(x->local, state->step.tile);
  if (number < 0) return dm_rank_reduce(x->local, NULL, &state->done);
  const dm_strip strip = dm_plan_strip(plan, x->local->coords.i, number);
  const dm_sum_part part = {
      .owner = strip.owner, .rows = strip.rows, .last = number == dm_plan_strips(plan) - 1};
  return dm_rank_reduce(x->local, &part, &state->done);
}

static dm_status execute_post(execution *x, slot_state *state) {
  state->posted = true;
  if (!(DM_LOADS & 1u << state->step.kind)) x->begun = dm_max(x->begun, reach_of(x, &state->step));
  dm_rank_turn_to(x->local, state->step.tile);
  switch (state->step.kind) {
  case DM_STEP_LOAD_A:
  case DM_STEP_LOAD_B:
    return execute_load(x, state);
  case DM_STEP_CHECK:
    return execute_check(x, state);
  case DM_STEP_FETCH_A:
  case DM_STEP_FETCH_B:
    return dm_post_fetch(x->local, &state->step, dm_publish_filling(&x->published, &state->step),
                         &state->ticket);
  case DM_STEP_UPLOAD_A:
  case DM_STEP_UPLOAD_B:
    return dm_post_upload(x->local, &state->step, &state->event);
  case DM_STEP_GEMM:
    x->products_posted++;
    return dm_post_gemm(x->local, &state->step, &state->event);
  case DM_STEP_STRIP:
    x->products_posted++;
    x->strips_begun = true;
    return dm_post_strip(x->local, &state->step, &state->event);
  case DM_STEP_KEEP:
    state->done = true;
    return DM_OK;
  case DM_STEP_FINISH:
    x->finishing++;
    return dm_post_finish(x->local, &state->step, &state->event);
  case DM_STEP_REDUCE:
    return execute_reduce(x, state);
  case DM_STEP_STORE:
    return execute_store(x, state);
  case DM_STEP_KINDS:
    break;
  }
  return dm_fail(DM_E_BUG, "a step of unknown kind");
}

static dm_status test_upload(execution *x, slot_state *state) {
  if (!dm_publish_is_next(&x->published, &state->step)) return DM_OK;
  DM_TRY(dm_backend_test(x->local->backend, state->event, &state->done));
  if (state->done) dm_publish_uploaded(&x->published, &state->step);
  return DM_OK;
}

/* Polls a posted step. A product is polled only while it is the oldest: on the CPU polling
 * computes, and messages need polling between two pieces. */
static dm_status ask(execution *x, slot_state *state, bool *product_asked) {
  switch (state->step.kind) {
  case DM_STEP_LOAD_A:
  case DM_STEP_LOAD_B:
    return test_load(x, &state->step, &state->done);
  case DM_STEP_CHECK:
    return execute_check(x, state);
  case DM_STEP_STORE:
    return execute_store(x, state);
  case DM_STEP_REDUCE:
    return execute_reduce(x, state);
  case DM_STEP_FETCH_A:
  case DM_STEP_FETCH_B:
    return dm_transport_test(x->local->transport, state->ticket, &state->done);
  case DM_STEP_GEMM:
  case DM_STEP_STRIP:
  case DM_STEP_FINISH:
    if (*product_asked) return DM_OK;
    *product_asked = true;
    DM_TRY(dm_backend_test(x->local->backend, state->event, &state->done));
    if (!state->done) return DM_OK;
    if (state->step.kind == DM_STEP_FINISH)
      x->finishing--;
    else
      x->products_done++;
    return DM_OK;
  default:
    return test_upload(x, state);
  }
}

/* Without loads in this run, all pieces are already loaded. */
static void publish_loaded(const execution *x) {
  const bool gathers = x->kinds & (1u << DM_STEP_FETCH_A | 1u << DM_STEP_FETCH_B);
  if (x->local->coords.idle || x->kinds & DM_LOADS || !gathers) return;
  dm_transport_filled(x->local->transport, DM_A);
  dm_transport_filled(x->local->transport, DM_B);
}

static void refill(execution *x) {
  while (!x->exhausted && x->end - x->first < EXECUTE_WINDOW) {
    slot_state *state = state_of(x, x->end);
    memset(state, 0, sizeof *state);
    if (!dm_cursor_next(&x->cursor, &state->step)) {
      x->exhausted = true;
      break;
    }
    bool stopped = x->halt.state == DM_HALT_DECIDED && is_beyond(x, &state->step);
    state->posted = state->done = stopped || !(x->kinds & 1u << state->step.kind);
    x->end++;
  }
}

/* Reports the step that completes this rank's part of a tile, or of what it stores of it. */
static void reach_states(const execution *x, const dm_step *step) {
  const dm_plan *plan = x->local->plan;
  const bool sums = plan->pk > 1, strips = step->strip >= 0;
  const int64_t left = strips ? dm_plan_strips(plan) - step->strip : 1; /* including this one */
  const bool last = strips ? left == 1 : sums || step->panel == x->local->panels.end - 1;
  if (!x->local->states || x->failure) return;
  if (step->kind == DM_STEP_STORE && x->calls->sink.ops && left <= plan->pk)
    dm_tile_reach(x->local->states, step->tile, DM_TILE_STORED);
  if (sums ? step->kind == DM_STEP_REDUCE : dm_step_is_product(step))
    if (last) dm_tile_reach(x->local->states, step->tile, DM_TILE_COMPUTED);
}

/* Checks every step of the window once, in order; *moved if anything happened. Panels may arrive
 * in any order, but a product is posted only after all before it: k is accumulated in ascending
 * order. */
static dm_status sweep(execution *x, bool *moved) {
  bool product_asked = false, product_waits = false;
  *moved = false;
  for (int64_t i = x->first; i < x->end; i++) {
    slot_state *state = state_of(x, i);
    if (state->done) continue;
    if (!state->posted && is_beyond(x, &state->step)) {
      state->posted = state->done = x->halt.state == DM_HALT_DECIDED;
      product_waits = true;
      continue;
    }
    if (!state->posted) {
      const bool product = dm_step_is_product(&state->step);
      /* Products do not queue up if the run may be stopped: queued ones must finish first. */
      const bool full = x->halt.stop && x->products_posted - x->products_done >= QUEUE;
      if (!may_begin(x, &state->step) || is_undelivered(x, &state->step) ||
          (product && (product_waits || full))) {
        product_waits |= product;
        continue;
      }
      dm_trace_begin(&x->local->run->trace, &state->step);
      DM_TRY(execute_post(x, state));
      x->io += is_io(&state->step);
      *moved = true;
    } else {
      DM_TRY(ask(x, state, &product_asked));
      *moved |= state->done;
    }
    if (!state->done) continue;
    x->io -= is_io(&state->step);
    if (state->step.kind == DM_STEP_STORE)
      x->stored = dm_plan_todo_place(x->local->plan, state->step.tile) + 1;
    reach_states(x, &state->step);
    dm_trace_end(&x->local->run->trace, &state->step);
  }
  return DM_OK;
}

static bool multiplying(const execution *x) {
  return x->products_posted > x->products_done || x->finishing > 0;
}

/* The CPU computes while polled: a product under way counts as progress there. */
static void report_movement(const execution *x, bool moved) {
  dm_watch *watch = x->local->run->watch;
  bool computing = multiplying(x) && !x->local->backend->ops->device_memory;
  if (moved || computing) dm_watch_moved(watch);
  dm_watch_poll(watch);
}

/* Threads that read and write need the processor more than a polling loop. */
static dm_status execute_rest(const execution *x) {
  const struct timespec moment = {.tv_nsec = 50000};
  if (x->io == 0) return dm_transport_yield(x->local->transport);
  if (x->calls->rest) return x->calls->rest(x->calls->context);
  nanosleep(&moment, NULL);
  return DM_OK;
}

/* While the CPU multiplies, polling computes. A device needs no polling, but while panels arrive
 * the loop keeps polling, to start the next product at once. The caller's rest does not know of
 * products. */
static bool may_rest(const execution *x) {
  const bool strips = x->strips_begun && x->local->backend->ops->device_memory;
  return !multiplying(x) || (strips && x->io > 0 && !x->calls->rest);
}

/* In panels of all tiles; strips count the panels kept for them. */
static int64_t panels_done(const execution *x, int64_t total) {
  const dm_plan *plan = x->local->plan;
  const int64_t strips = dm_plan_strips(plan);
  if (strips == 0 || !(x->kinds & 1u << DM_STEP_STRIP)) return x->products_done;
  const int64_t before = total - plan->stretch;
  const int64_t here = x->kinds & 1u << DM_STEP_GEMM ? x->products_done : before + x->products_done;
  return here <= before ? here : before + plan->stretch * (here - before) / strips;
}

static dm_status execute_report_progress(execution *x, int64_t *reported) {
  const bool multiplies = x->kinds & (1u << DM_STEP_GEMM | 1u << DM_STEP_STRIP);
  if (!x->calls->progress || x->failure || x->products_done == *reported || !multiplies)
    return DM_OK;
  *reported = x->products_done;
  const int64_t tiles = dm_plan_todo(x->local->plan);
  const int64_t total = dm_range_size(x->local->panels) * tiles;
  return endure(x, NULL, x->calls->progress(x->calls->context, panels_done(x, total), total));
}

/* Runs until all steps are done and no step is awaited. */
static dm_status execute_run(execution *x) {
  int64_t reported = -1;
  for (;;) {
    refill(x);
    const bool finished = x->first == x->end;
    if (finished && dm_halt_leaves(&x->halt) && !x->delivers) return DM_OK;
    bool moved;
    DM_TRY(sweep(x, &moved));
    while (x->first < x->end && state_of(x, x->first)->done) x->first++;
    report_movement(x, moved);
    DM_TRY(dm_halt_poll(&x->halt, x->begun, finished));
    if (x->delivers) DM_TRY(execute_deliver(x));
    DM_TRY(execute_report_progress(x, &reported));
    if (!moved && may_rest(x)) DM_TRY(execute_rest(x));
  }
}

dm_status dm_execute(dm_rank_state *local, unsigned kinds, const dm_step_calls *calls) {
  execution x = {.local = local, .calls = calls, .kinds = kinds};
  for (int i = 0; i < 2; i++)
    x.behind |= calls->source[i].ops && (calls->source[i].ops->loaded || calls->arrived);
  x.behind &= (kinds & DM_LOADS) != 0;
  dm_publish_open(local, kinds & DM_LOADS && kinds & DM_PRODUCTS, &x.published);
  dm_cursor_start(&x.cursor, local->plan, local->run->rank);
  publish_loaded(&x);
  x.delivers = calls->delivers && dm_plan_todo(local->plan) > 0;
  dm_halt_start(&x.halt, calls->may_stop ? &local->run->stop : NULL,
                calls->halts ? calls->halts : local->run->world);
  const int64_t strips = kinds & 1u << DM_STEP_STRIP ? dm_plan_strips(local->plan) : 0;
  const int64_t whole =
      dm_range_size(dm_plan_layer(local->plan, 0)) * dm_plan_todo(local->plan) + strips;
  dm_status status = execute_run(&x);
  if (status) return dm_status_first(x.failure, status);
  dm_publish_close(&x.published);
  if (x.halt.stop) DM_TRY(dm_comm_agree(local->run->world, x.failure));
  return dm_halt_status(&x.halt, whole);
}
