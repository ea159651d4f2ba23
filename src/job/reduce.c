/* reduce: partial blocks of C become C, summed over the layers in ascending order of l, so that the
 * bits do not depend on who arrives first.  Each layer sums, and later writes, its own rows. */
#include <sched.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "job/task.h"

/* The block where messages can take it from: in host memory, rows packed. */
static dm_status host_block(dm_task *task, dm_view *block, void **memory) {
  *block = task->c;
  if (task->c.space == DM_HOST && dm_view_is_packed(task->c)) return DM_OK;
  int64_t bytes;
  DM_TRY(dm_bytes_of(task->c.rows, task->c.cols, dm_dtype_size(task->c.dtype), &bytes));
  DM_TRY(dm_backend_alloc(task->backend, DM_HOST, bytes, memory));
  *block = dm_view_row_major(*memory, task->c.dtype, task->c.rows, task->c.cols);
  dm_event copied;
  DM_TRY(dm_backend_copy(task->backend, *block, task->c, &copied));
  return dm_backend_wait(task->backend, copied);
}

/* A layer without panels has computed nothing: its partial block is zero, not what memory held. */
static bool computed(const dm_plan *plan, int l) {
  return dm_range_size(dm_plan_layer(plan, l)) > 0;
}

static dm_status exchange(dm_task *task, dm_view block, char *received, int64_t slice,
                          dm_messages *messages) {
  const dm_plan *plan = task->plan;
  const int me = task->place.l;
  for (int l = 0; l < plan->pk; l++)
    if (l != me && computed(plan, l))
      DM_TRY(dm_messages_receive(messages, task->layers, received + l * slice, slice, l, 0));
  for (int l = 0; l < plan->pk && computed(plan, me); l++) {
    dm_range rows = dm_plan_c_share(plan, task->place.i, l);
    dm_view part =
        dm_view_sub(block, rows.begin - task->rows.begin, 0, dm_range_size(rows), block.cols);
    int64_t bytes = part.rows * part.cols * dm_dtype_size(part.dtype);
    if (l != me) DM_TRY(dm_messages_send(messages, task->layers, part.base, bytes, l, 0));
  }
  return dm_messages_wait(messages);
}

static dm_status reduce(dm_task *task, dm_view block, dm_messages *messages) {
  const dm_plan *plan = task->plan;
  const int me = task->place.l;
  dm_range mine = dm_plan_c_share(plan, task->place.i, me);
  const int64_t rows = dm_range_size(mine), size = dm_dtype_size(block.dtype);
  int64_t slice, all;
  DM_TRY(dm_bytes_of(rows, block.cols, size, &slice));
  DM_TRY(dm_bytes_of(plan->pk, 1, slice, &all));
  void *received, *sum = task->c_sum.base;
  if (!sum) DM_TRY(dm_backend_alloc(task->backend, DM_HOST, slice, &sum));
  task->c_sum = dm_view_row_major(sum, block.dtype, rows, block.cols);
  DM_TRY(dm_buffer_alloc(all, &received));
  dm_status status = exchange(task, block, received, slice, messages);
  bool first = true;
  for (int l = 0; l < plan->pk && !status; l++) {
    if (!computed(plan, l)) continue;
    dm_view own = dm_view_sub(block, mine.begin - task->rows.begin, 0, rows, block.cols);
    void *partial = l == me ? own.base : (char *)received + l * slice;
    status = dm_backend_add(task->backend, task->c_sum, task->c_sum,
                            dm_view_row_major(partial, block.dtype, rows, block.cols),
                            first ? 0.0 : 1.0, 1.0);
    first = false;
    task->phases.received += l == me ? 0 : slice;
  }
  free(received);
  return status;
}

static dm_status reduce_on_device(dm_task *task) {
  for (bool done = false; !done; sched_yield()) {
    DM_TRY(dm_task_reduce_on_device(task, &done));
    dm_watch_poll(task->run->watch);
  }
  return DM_OK;
}

dm_status dm_task_reduce(dm_task *task) {
  if (dm_task_reduces_on_device(task)) return reduce_on_device(task);
  dm_view block;
  void *memory = NULL;
  dm_messages *messages = NULL;
  dm_status status = host_block(task, &block, &memory);
  if (!status) status = dm_messages_new(&messages);
  if (!status) status = reduce(task, block, messages);
  dm_messages_free(messages);
  dm_backend_release(task->backend, DM_HOST, memory);
  return status;
}
