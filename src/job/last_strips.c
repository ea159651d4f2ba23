#include "job/last_strips.h"

#include <time.h>

#include "core/checked.h"

enum { AHEAD = 2 }; /* strips given to the backend: a device that waits for the host is idle */

/* How far it is, in strips; one is stored at a time. */
typedef struct progress {
  dm_task *task;
  const dm_task_calls *calls;
  int64_t strips, posted, computed, stored;
  bool stores;           /* the next one is under way */
  dm_event event[AHEAD]; /* of those that are computed, by strip % AHEAD */
  dm_halt halt;
  dm_status failure; /* of this rank's file: the others hear of it before it ends */
} progress;

static dm_range rows_of(const progress *x, int64_t strip) {
  return dm_plan_strip(x->task->plan, x->task->c.rows, strip);
}

/* What the trace sees. */
static dm_step step_of(dm_step_kind kind, int64_t strip) {
  return (dm_step){.index = 2 * strip + (kind == DM_STEP_STORE), .kind = kind, .panel = -1};
}

static void begin_step(const progress *x, dm_step_kind kind, int64_t strip) {
  const dm_step step = step_of(kind, strip);
  dm_trace_begin(&x->task->run->trace, &step);
}

static void end_step(const progress *x, dm_step_kind kind, int64_t strip) {
  const dm_step step = step_of(kind, strip);
  dm_trace_end(&x->task->run->trace, &step);
}

static dm_status post_products(progress *x) {
  const dm_task *task = x->task;
  const dm_range rows = rows_of(x, x->posted), panels = task->panels;
  const int64_t height = dm_range_size(rows);
  const dm_view c = dm_view_sub(task->c, rows.begin, 0, height, task->c.cols);
  for (int64_t p = panels.end - task->plan->stretch; p < panels.end; p++) {
    const dm_view a = dm_task_operand(task, DM_A, p, 0);
    DM_TRY(dm_backend_gemm(task->backend, c, dm_view_sub(a, rows.begin, 0, height, a.cols),
                           dm_task_operand(task, DM_B, p, 0), p > panels.begin,
                           &x->event[x->posted % AHEAD]));
  }
  return DM_OK;
}

/* As in dm_execute: whose file fails alone goes on until all end. */
static dm_status endure(progress *x, dm_status status) {
  if (!status || !x->halt.stop || status->agreed || status->code == DM_E_MPI) return status;
  x->failure = dm_status_first(x->failure, status);
  x->halt.failed = true;
  return DM_OK;
}

/* Whether the next strip may be begun. */
static bool goes_on(const progress *x) {
  return !x->failure && x->posted < x->strips && x->posted < x->halt.limit;
}

static dm_status compute(progress *x) {
  bool done;
  for (; goes_on(x) && x->posted < x->computed + AHEAD; x->posted++) {
    begin_step(x, DM_STEP_GEMM, x->posted);
    DM_TRY(post_products(x));
  }
  DM_TRY(dm_backend_test(x->task->backend, x->event[x->computed % AHEAD], &done));
  if (!done) return DM_OK;
  end_step(x, DM_STEP_GEMM, x->computed++);
  const int64_t panels = dm_range_size(x->task->panels), stretch = x->task->plan->stretch;
  const int64_t there = panels - stretch + stretch * x->computed / x->strips;
  return x->failure ? DM_OK : endure(x, x->calls->progress(x->calls->context, there, panels));
}

static dm_status store(progress *x) {
  bool done = false;
  if (!x->stores) begin_step(x, DM_STEP_STORE, x->stored);
  x->stores = true;
  DM_TRY(endure(x, x->calls->store(x->calls->context, x->task, rows_of(x, x->stored), &done)));
  if (!done || x->failure) return DM_OK;
  end_step(x, DM_STEP_STORE, x->stored++);
  x->stores = false;
  return DM_OK;
}

static bool is_finished(const progress *x) {
  const bool ends = x->failure || x->computed == x->strips || x->halt.state == DM_HALT_DECIDED;
  return ends && x->posted == x->computed && !goes_on(x) &&
         (x->failure || x->stored == x->computed);
}

static dm_status move_on(progress *x) {
  if (x->posted > x->computed || goes_on(x)) {
    DM_TRY(compute(x));
    dm_watch_moved(x->task->run->watch);
  }
  return !x->failure && x->stored < x->computed ? store(x) : DM_OK;
}

dm_status dm_multiply_last_strips(dm_task *task, const dm_task_calls *calls) {
  const struct timespec moment = {.tv_nsec = 50000};
  const dm_comm *world = task->run->world;
  const bool on_device = task->backend->ops->device_memory;
  progress x = {.task = task, .calls = calls, .strips = task->place.idle ? 0 : task->plan->strips};
  dm_halt_start(&x.halt, calls->may_stop ? &task->run->stop : NULL, world);
  for (;;) {
    const bool finished = is_finished(&x);
    if (finished && dm_halt_leaves(&x.halt)) break;
    DM_TRY(dm_halt_poll(&x.halt, x.posted, finished));
    if (!finished) DM_TRY(move_on(&x));
    if (x.posted == x.computed || on_device)
      nanosleep(&moment, NULL); /* the threads that write want the processor */
    dm_watch_poll(task->run->watch);
  }
  if (x.halt.stop) DM_TRY(dm_comm_agree(world, x.failure));
  return dm_halt_status(&x.halt, task->plan->strips);
}
