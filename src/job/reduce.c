/* reduce: partial blocks of C become C, summed over the layers in ascending order of l, so that the
 * bits do not depend on who arrives first.  Each layer sums, and later writes, its own rows. */
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

/* A sum whose messages are under way. */
typedef struct dm_reduction {
  dm_view block;
  void *memory; /* of the block, where it is a copy */
  char *received;
  int64_t slice; /* bytes of this rank's rows of one layer */
  dm_messages *messages;
} dm_reduction;

static dm_range own_rows(const dm_task *task) {
  return dm_plan_c_share(task->plan, task->tile, task->place.i, task->place.l);
}

static dm_status exchange(const dm_task *task, dm_reduction *r) {
  const dm_plan *plan = task->plan;
  const int me = task->place.l;
  for (int l = 0; l < plan->pk; l++)
    if (l != me && computed(plan, l))
      DM_TRY(dm_messages_receive(r->messages, task->layers, r->received + l * r->slice, r->slice, l,
                                 0));
  for (int l = 0; l < plan->pk && computed(plan, me); l++) {
    dm_range rows = dm_plan_c_share(plan, task->tile, task->place.i, l);
    dm_view part =
        dm_view_sub(r->block, rows.begin - task->rows.begin, 0, dm_range_size(rows), r->block.cols);
    int64_t bytes = part.rows * part.cols * dm_dtype_size(part.dtype);
    if (l != me) DM_TRY(dm_messages_send(r->messages, task->layers, part.base, bytes, l, 0));
  }
  return DM_OK;
}

static dm_status add_up(dm_task *task, const dm_reduction *r) {
  const dm_plan *plan = task->plan;
  const dm_range mine = own_rows(task);
  const int64_t rows = dm_range_size(mine);
  bool first = true;
  for (int l = 0; l < plan->pk; l++) {
    if (!computed(plan, l)) continue;
    dm_view own = dm_view_sub(r->block, mine.begin - task->rows.begin, 0, rows, r->block.cols);
    void *partial = l == task->place.l ? own.base : r->received + l * r->slice;
    DM_TRY(dm_backend_add(task->backend, task->c_sum, task->c_sum,
                          dm_view_row_major(partial, r->block.dtype, rows, r->block.cols),
                          first ? 0.0 : 1.0, 1.0));
    first = false;
    task->phases.received += l == task->place.l ? 0 : r->slice;
  }
  return DM_OK;
}

static void reduction_free(dm_task *task) {
  dm_reduction *r = task->reduction;
  dm_messages_free(r->messages);
  dm_backend_release(task->backend, DM_HOST, r->memory);
  free(r->received);
  free(r);
  task->reduction = NULL;
}

/* The first tile's sum is the largest: its memory does for all. */
static dm_status start(dm_task *task, dm_reduction *r) {
  const dm_range mine = own_rows(task);
  int64_t all;
  DM_TRY(host_block(task, &r->block, &r->memory));
  const int64_t rows = dm_range_size(mine), cols = r->block.cols;
  DM_TRY(dm_bytes_of(rows, cols, dm_dtype_size(r->block.dtype), &r->slice));
  DM_TRY(dm_bytes_of(task->plan->pk, 1, r->slice, &all));
  void *sum = task->c_sum.base;
  if (!sum) DM_TRY(dm_backend_alloc(task->backend, DM_HOST, r->slice, &sum));
  task->c_sum = dm_view_row_major(sum, r->block.dtype, rows, cols);
  DM_TRY(dm_buffer_alloc(all, (void **)&r->received));
  DM_TRY(dm_messages_new(&r->messages));
  return exchange(task, r);
}

dm_status dm_task_reduce(dm_task *task, bool *done) {
  *done = true;
  if (dm_task_reduces_on_device(task)) return dm_task_reduce_on_device(task, done);
  if (!task->reduction) {
    void *memory;
    DM_TRY(dm_buffer_zeroed(1, sizeof(dm_reduction), &memory));
    task->reduction = memory;
    DM_TRY(start(task, task->reduction));
  }
  DM_TRY(dm_messages_test(task->reduction->messages, done));
  if (!*done) return DM_OK;
  dm_status status = add_up(task, task->reduction);
  reduction_free(task);
  return status;
}
