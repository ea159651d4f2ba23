#include "job/last_strips.h"

#include <time.h>

#include "core/checked.h"

/* How far it is, in strips; one is computed and one stored at a time. */
typedef struct progress {
  dm_task *task;
  const dm_task_calls *calls;
  int64_t strips, computed, stored;
  bool computes, stores; /* the next one of each is under way */
  dm_event event;        /* of the one that is computed */
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
  const dm_range rows = rows_of(x, x->computed), panels = task->panels;
  const int64_t height = dm_range_size(rows);
  const dm_view c = dm_view_sub(task->c, rows.begin, 0, height, task->c.cols);
  for (int64_t p = panels.end - task->plan->stretch; p < panels.end; p++) {
    const dm_view a = dm_task_operand(task, DM_A, p, 0);
    DM_TRY(dm_backend_gemm(task->backend, c, dm_view_sub(a, rows.begin, 0, height, a.cols),
                           dm_task_operand(task, DM_B, p, 0), p > panels.begin, &x->event));
  }
  return DM_OK;
}

static dm_status compute(progress *x) {
  bool done;
  if (!x->computes) {
    begin_step(x, DM_STEP_GEMM, x->computed);
    DM_TRY(post_products(x));
    x->computes = true;
  }
  DM_TRY(dm_backend_test(x->task->backend, x->event, &done));
  if (!done) return DM_OK;
  end_step(x, DM_STEP_GEMM, x->computed++);
  x->computes = false;
  const int64_t panels = dm_range_size(x->task->panels), stretch = x->task->plan->stretch;
  return x->calls->progress(x->calls->context, panels - stretch + stretch * x->computed / x->strips,
                            panels);
}

static dm_status store(progress *x) {
  bool done;
  if (!x->stores) begin_step(x, DM_STEP_STORE, x->stored);
  x->stores = true;
  DM_TRY(x->calls->store(x->calls->context, x->task, rows_of(x, x->stored), &done));
  if (!done) return DM_OK;
  end_step(x, DM_STEP_STORE, x->stored++);
  x->stores = false;
  return DM_OK;
}

dm_status dm_multiply_last_strips(dm_task *task, const dm_task_calls *calls) {
  const struct timespec moment = {.tv_nsec = 50000};
  progress x = {.task = task, .calls = calls, .strips = task->place.idle ? 0 : task->plan->strips};
  while (x.stored < x.strips) {
    if (x.computed < x.strips) {
      DM_TRY(compute(&x));
      dm_watch_moved(task->run->watch);
    } else {
      nanosleep(&moment, NULL); /* the threads that write want the processor */
    }
    if (x.stored < x.computed) DM_TRY(store(&x));
    dm_watch_poll(task->run->watch);
  }
  return DM_OK;
}
