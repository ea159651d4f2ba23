#include "engine/reduce.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"

bool dm_sum_has(const dm_plan *plan, int l) {
  return dm_range_size(dm_plan_layer(plan, l)) > 0;
}

static dm_range share_of(const dm_task *task, int l) {
  return dm_plan_c_share(task->plan, task->tile, task->place.i, l);
}

dm_range dm_sum_rows(const dm_task *task, const dm_sum_part *part, int l) {
  const dm_range share = share_of(task, l);
  if (part->owner < 0) return share;
  if (part->owner != l) return (dm_range){share.begin, share.begin};
  return (dm_range){share.begin + part->rows.begin, share.begin + part->rows.end};
}

/* A sum whose messages are under way. */
typedef struct dm_reduction {
  dm_view block; /* rows COVERED of it */
  dm_range covered;
  void *memory; /* of the block, where it is a copy */
  char *received;
  int64_t slice; /* bytes of this rank's rows of one layer */
  dm_messages *messages;
} dm_reduction;

/* The rows that somebody sums, where messages can take them from: in host memory, packed. */
static dm_status host_block(dm_task *task, const dm_sum_part *part, dm_reduction *r) {
  r->covered = part->owner < 0 ? task->rows : dm_sum_rows(task, part, part->owner);
  const int64_t rows = dm_range_size(r->covered);
  const dm_view block =
      dm_view_sub(task->c, r->covered.begin - task->rows.begin, 0, rows, task->c.cols);
  r->block = block;
  if (block.space == DM_HOST && dm_view_is_packed(task->c)) return DM_OK;
  int64_t bytes;
  DM_TRY(dm_bytes_of(rows, block.cols, dm_dtype_size(block.dtype), &bytes));
  DM_TRY(dm_backend_alloc(task->backend, DM_HOST, bytes, &r->memory));
  r->block = dm_view_row_major(r->memory, block.dtype, rows, block.cols);
  dm_event copied;
  DM_TRY(dm_backend_copy(task->backend, r->block, block, &copied));
  return dm_backend_wait(task->backend, copied);
}

static dm_view rows_of_block(const dm_reduction *r, dm_range rows) {
  return dm_view_sub(r->block, rows.begin - r->covered.begin, 0, dm_range_size(rows),
                     r->block.cols);
}

static dm_status exchange(const dm_task *task, const dm_sum_part *part, dm_reduction *r) {
  const dm_plan *plan = task->plan;
  const int me = task->place.l;
  for (int l = 0; l < plan->pk && r->slice > 0; l++)
    if (l != me && dm_sum_has(plan, l))
      DM_TRY(dm_messages_receive(r->messages, task->layers, r->received + l * r->slice, r->slice, l,
                                 0));
  for (int l = 0; l < plan->pk && dm_sum_has(plan, me); l++) {
    const dm_range rows = dm_sum_rows(task, part, l);
    if (l == me || dm_range_size(rows) == 0) continue;
    const dm_view given = rows_of_block(r, rows);
    const int64_t bytes = given.rows * given.cols * dm_dtype_size(given.dtype);
    if (bytes > 0) DM_TRY(dm_messages_send(r->messages, task->layers, given.base, bytes, l, 0));
  }
  return DM_OK;
}

static dm_status add_up(dm_task *task, const dm_sum_part *part, const dm_reduction *r) {
  const dm_plan *plan = task->plan;
  const int me = task->place.l;
  const dm_range mine = dm_sum_rows(task, part, me);
  const int64_t rows = dm_range_size(mine), cols = r->block.cols;
  if (rows == 0) return DM_OK;
  const dm_view own = rows_of_block(r, mine);
  const dm_view sum =
      dm_view_sub(task->c_sum, mine.begin - share_of(task, me).begin, 0, rows, cols);
  bool first = true;
  for (int l = 0; l < plan->pk; l++) {
    if (!dm_sum_has(plan, l)) continue;
    void *partial = l == me ? own.base : r->received + l * r->slice;
    DM_TRY(dm_backend_add(task->backend, sum, sum,
                          dm_view_row_major(partial, own.dtype, rows, cols), first ? 0.0 : 1.0,
                          1.0));
    first = false;
    task->phases.received += l == me ? 0 : r->slice;
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
static dm_status sum_open(dm_task *task) {
  const int64_t rows = dm_range_size(share_of(task, task->place.l)), cols = task->c.cols;
  void *sum = task->c_sum.base;
  int64_t bytes;
  DM_TRY(dm_bytes_of(rows, cols, dm_dtype_size(task->c.dtype), &bytes));
  if (!sum) DM_TRY(dm_backend_alloc(task->backend, DM_HOST, bytes, &sum));
  task->c_sum = dm_view_row_major(sum, task->c.dtype, rows, cols);
  return DM_OK;
}

static dm_status start(dm_task *task, const dm_sum_part *part, dm_reduction *r) {
  const int64_t rows = dm_range_size(dm_sum_rows(task, part, task->place.l));
  int64_t all;
  DM_TRY(sum_open(task));
  DM_TRY(host_block(task, part, r));
  DM_TRY(dm_bytes_of(rows, r->block.cols, dm_dtype_size(r->block.dtype), &r->slice));
  DM_TRY(dm_bytes_of(task->plan->pk, 1, r->slice, &all));
  DM_TRY(dm_buffer_alloc(all, (void **)&r->received));
  DM_TRY(dm_messages_new(&r->messages));
  return exchange(task, part, r);
}

dm_status dm_task_reduce(dm_task *task, const dm_sum_part *part, bool *done) {
  const dm_sum_part whole = {.owner = -1, .last = true};
  *done = true;
  if (!part) part = &whole;
  if (dm_task_reduces_on_device(task)) return dm_task_reduce_on_device(task, part, done);
  if (!task->reduction) {
    void *memory;
    DM_TRY(dm_buffer_zeroed(1, sizeof(dm_reduction), &memory));
    task->reduction = memory;
    DM_TRY(start(task, part, task->reduction));
  }
  DM_TRY(dm_messages_test(task->reduction->messages, done));
  if (!*done) return DM_OK;
  dm_status status = add_up(task, part, task->reduction);
  reduction_free(task);
  return status;
}
