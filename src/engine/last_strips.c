#include "engine/last_strips.h"

#include <time.h>

#include "core/checked.h"
#include "engine/reduce.h"
#include "plan/partition.h"

enum { AHEAD = 2 }; /* strips given to the backend: a device that waits is idle */

/* How far it is, in strips; of each of these one is under way at a time. */
typedef struct progress {
  dm_rank_state *local;
  const dm_step_calls *calls;
  int64_t strips, posted, computed, summed, stored;
  bool sums, stores;     /* the next one is under way */
  dm_event event[AHEAD]; /* of those that are computed, by strip % AHEAD */
  dm_halt halt;
  dm_status failure; /* of this rank's file: the others hear of it before it ends */
} progress;

static dm_strip strip_of(const progress *x, int64_t strip) {
  return dm_plan_strip(x->local->plan, x->local->coords.i, strip);
}

/* What the trace sees: steps of one kind that are under way together have different numbers. */
static dm_step step_of(const progress *x, dm_step_kind kind, int64_t strip) {
  enum { TOGETHER = DM_TRACE_WINDOW / 4 };
  const int which = kind == DM_STEP_GEMM ? 0 : kind == DM_STEP_REDUCE ? 1 : 2;
  const int64_t number = kind == DM_STEP_STORE ? strip / x->local->plan->pk : strip;
  return (dm_step){.index = which * TOGETHER + number % TOGETHER, .kind = kind, .panel = -1};
}

static void begin_step(const progress *x, dm_step_kind kind, int64_t strip) {
  const dm_step step = step_of(x, kind, strip);
  dm_trace_begin(&x->local->run->trace, &step);
}

static void end_step(const progress *x, dm_step_kind kind, int64_t strip) {
  const dm_step step = step_of(x, kind, strip);
  dm_trace_end(&x->local->run->trace, &step);
}

static dm_status post_products(progress *x) {
  const dm_rank_state *local = x->local;
  const dm_strip strip = strip_of(x, x->posted);
  const dm_range panels = local->panels;
  const int64_t height = dm_range_size(strip.rows);
  const dm_view c = dm_view_sub(local->c, strip.from, 0, height, local->c.cols);
  dm_event *event = &x->event[x->posted % AHEAD];
  *event = 0;
  for (int64_t p = panels.end - local->plan->stretch; p < panels.end; p++) {
    const dm_view a = dm_rank_operand(local, DM_A, p, 0);
    DM_TRY(dm_backend_gemm(local->backend, c, dm_view_sub(a, strip.from, 0, height, a.cols),
                           dm_rank_operand(local, DM_B, p, 0), p > panels.begin, event));
  }
  return DM_OK;
}

/* Whether the next strip may be begun; the layers begin the same ones. */
static bool goes_on(const progress *x) {
  const bool alone = x->local->plan->pk == 1;
  return x->posted < x->strips && x->posted < x->halt.limit && !(alone && x->failure);
}

static dm_status compute(progress *x) {
  bool done;
  for (; goes_on(x) && x->posted < x->computed + AHEAD; x->posted++) {
    begin_step(x, DM_STEP_GEMM, x->posted);
    DM_TRY(post_products(x));
  }
  if (x->computed == x->posted) return DM_OK;
  DM_TRY(dm_backend_test(x->local->backend, x->event[x->computed % AHEAD], &done));
  if (!done) return DM_OK;
  end_step(x, DM_STEP_GEMM, x->computed++);
  if (x->failure || !x->calls->progress) return DM_OK;
  const int64_t panels = dm_range_size(x->local->panels), stretch = x->local->plan->stretch;
  const int64_t there = panels - stretch + stretch * x->computed / x->strips;
  return dm_halt_endure(&x->halt, x->calls->progress(x->calls->context, there, panels),
                        &x->failure);
}

static dm_status sum(progress *x) {
  const dm_strip strip = strip_of(x, x->summed);
  const dm_sum_part part = {
      .owner = strip.owner, .rows = strip.rows, .last = x->summed == x->strips - 1};
  bool done = true;
  if (!x->sums) begin_step(x, DM_STEP_REDUCE, x->summed);
  x->sums = true;
  if (x->local->plan->pk > 1) DM_TRY(dm_rank_reduce(x->local, &part, &done));
  if (!done) return DM_OK;
  end_step(x, DM_STEP_REDUCE, x->summed++);
  x->sums = false;
  return DM_OK;
}

/* The strips of this rank's layer. */
static dm_status store(progress *x) {
  const dm_strip strip = strip_of(x, x->stored);
  if (strip.owner != x->local->coords.l || !x->calls->store || (x->failure && !x->stores)) {
    x->stored++;
    return DM_OK;
  }
  bool done = false;
  if (!x->stores) begin_step(x, DM_STEP_STORE, x->stored);
  x->stores = true;
  if (!x->failure)
    DM_TRY(dm_halt_endure(&x->halt, x->calls->store(x->calls->context, x->local, strip.rows, &done),
                          &x->failure));
  if (!done && !x->failure) return DM_OK;
  end_step(x, DM_STEP_STORE, x->stored++);
  x->stores = false;
  return DM_OK;
}

static bool is_finished(const progress *x) {
  return !goes_on(x) && x->computed == x->posted && x->summed == x->computed &&
         x->stored == x->summed &&
         (x->failure || x->computed == x->strips || x->halt.state == DM_HALT_DECIDED);
}

static dm_status move_on(progress *x) {
  if (x->computed < x->posted || goes_on(x)) {
    DM_TRY(compute(x));
    dm_watch_moved(x->local->run->watch);
  }
  if (x->summed < x->computed) DM_TRY(sum(x));
  return x->stored < x->summed ? store(x) : DM_OK;
}

dm_status dm_multiply_last_strips(dm_rank_state *local, const dm_step_calls *calls) {
  const struct timespec moment = {.tv_nsec = 50000};
  const dm_comm *world = local->run->world;
  const bool on_device = local->backend->ops->device_memory;
  progress x = {.local = local, .calls = calls};
  if (!local->coords.idle) x.strips = (int64_t)local->plan->strips * local->plan->pk;
  dm_halt_start(&x.halt, calls->may_stop ? &local->run->stop : NULL, world);
  for (;;) {
    const bool finished = is_finished(&x);
    if (finished && dm_halt_leaves(&x.halt)) break;
    DM_TRY(dm_halt_poll(&x.halt, x.posted, finished));
    if (!finished) DM_TRY(move_on(&x));
    if (x.posted == x.computed || on_device)
      nanosleep(&moment, NULL); /* the threads that write want the processor */
    dm_watch_poll(local->run->watch);
  }
  if (x.halt.stop) DM_TRY(dm_comm_agree(world, x.failure));
  return dm_halt_status(&x.halt, local->plan->strips * local->plan->pk);
}
