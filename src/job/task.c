#include "job/task.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"

static int64_t padded(int64_t cols, dm_dtype dtype, dm_space space) {
  return space == DM_HOST ? cols : dm_round_up(cols, dm_max(1, 16 / dm_dtype_size(dtype)));
}

static const dm_factor *factor_of(const dm_task *task, dm_matrix matrix) {
  return matrix == DM_A ? &task->a : &task->b;
}

dm_range dm_task_piece_rows(const dm_task *task, dm_matrix matrix, int64_t panel) {
  if (matrix == DM_A) return dm_plan_a_share(task->plan, task->place.i, task->place.j);
  return dm_plan_b_share(task->plan, panel, task->place.i);
}

dm_range dm_task_piece_cols(const dm_task *task, dm_matrix matrix, int64_t panel) {
  return matrix == DM_A ? dm_plan_panel(task->plan, panel) : task->cols;
}

/* Elements from one panel's piece to the next: all panels but the last are kb wide, and the last is
 * no wider, so every piece begins at a multiple of the first one's size. */
static int64_t piece_pitch(const dm_task *task, dm_matrix matrix, dm_space space) {
  dm_dtype work = task->plan->problem.work;
  int64_t first = task->panels.begin;
  if (matrix == DM_A) {
    dm_range rows = dm_task_piece_rows(task, DM_A, first);
    int64_t width = dm_min(task->plan->kb, task->plan->problem.k);
    return dm_range_size(rows) * padded(width, work, space);
  }
  return dm_range_size(dm_plan_b_share(task->plan, first, task->place.i)) *
         padded(dm_range_size(task->cols), work, space);
}

dm_view dm_task_piece(const dm_task *task, dm_matrix matrix, int64_t panel) {
  const dm_factor *factor = factor_of(task, matrix);
  dm_dtype work = task->plan->problem.work;
  int64_t rows = dm_range_size(dm_task_piece_rows(task, matrix, panel));
  int64_t cols = dm_range_size(dm_task_piece_cols(task, matrix, panel));
  int64_t at = (panel - task->panels.begin) * piece_pitch(task, matrix, factor->space);
  return dm_view_strided((char *)factor->share + at * dm_dtype_size(work), work, factor->space,
                         rows, cols, padded(cols, work, factor->space));
}

dm_view dm_task_slot(const dm_task *task, dm_matrix matrix, int64_t panel, int slot,
                     dm_space space) {
  const dm_factor *factor = factor_of(task, matrix);
  dm_dtype work = task->plan->problem.work;
  int64_t depth = dm_range_size(dm_plan_panel(task->plan, panel));
  int64_t rows = matrix == DM_A ? dm_range_size(task->rows) : depth;
  int64_t cols = matrix == DM_A ? depth : dm_range_size(task->cols);
  char *ring = space == DM_HOST ? factor->host_ring : factor->device_ring;
  int64_t bytes = space == DM_HOST ? factor->host_slot : factor->device_slot;
  return dm_view_strided(ring + slot * bytes, work, space, rows, cols, padded(cols, work, space));
}

static dm_status ring_open(const dm_task *task, dm_matrix matrix, dm_space space, void **ring,
                           int64_t *slot) {
  int64_t width = dm_min(task->plan->kb, task->plan->problem.k);
  int64_t rows = matrix == DM_A ? dm_range_size(task->rows) : width;
  int64_t cols = matrix == DM_A ? width : dm_range_size(task->cols);
  dm_dtype work = task->plan->problem.work;
  DM_TRY(dm_bytes_of(rows, padded(cols, work, space), dm_dtype_size(work), slot));
  *slot = dm_round_up(*slot, 256);
  int64_t bytes;
  DM_TRY(dm_bytes_of(task->plan->slots, 1, *slot, &bytes));
  return dm_backend_alloc(task->backend, space, bytes, ring);
}

/* The last panel is counted by itself: it may give a rank a row more than a full one does. */
static dm_status share_bytes(const dm_task *task, dm_matrix matrix, int64_t *bytes) {
  int64_t full, panels = dm_range_size(task->panels);
  int64_t size = dm_dtype_size(task->plan->problem.work);
  *bytes = 0;
  if (panels == 0) return DM_OK;
  dm_view last = dm_task_piece(task, matrix, task->panels.end - 1);
  DM_TRY(dm_bytes_of(panels - 1, piece_pitch(task, matrix, last.space), size, &full));
  DM_TRY(dm_bytes_of(last.rows, last.row_stride, size, bytes));
  if (dm_add_overflows(full, *bytes, bytes))
    return dm_fail(DM_E_FIT, "a share of more bytes than 64 bits count");
  return DM_OK;
}

static dm_status factor_open(dm_task *task, dm_matrix matrix) {
  const dm_plan *plan = task->plan;
  dm_factor *factor = matrix == DM_A ? &task->a : &task->b;
  bool fetches = matrix == DM_A ? dm_plan_fetches_a(plan) : dm_plan_fetches_b(plan);
  bool uploads = matrix == DM_A ? dm_plan_uploads_a(plan) : dm_plan_uploads_b(plan);
  dm_residence residence = matrix == DM_A ? plan->a : plan->b;
  factor->space = residence == DM_IN_DEVICE ? DM_DEVICE : DM_HOST;
  factor->peers = matrix == DM_A ? task->grid_row : task->grid_column;

  int64_t bytes;
  DM_TRY(share_bytes(task, matrix, &bytes));
  DM_TRY(dm_backend_alloc(task->backend, factor->space, bytes, &factor->share));
  if (fetches && !plan->device_links)
    DM_TRY(ring_open(task, matrix, DM_HOST, &factor->host_ring, &factor->host_slot));
  if (uploads || (fetches && plan->device_links))
    DM_TRY(ring_open(task, matrix, DM_DEVICE, &factor->device_ring, &factor->device_slot));
  int64_t peers = dm_comm_size(factor->peers);
  DM_TRY(dm_buffer_zeroed(peers, sizeof(int64_t), (void **)&factor->offset));
  return dm_buffer_zeroed(peers, sizeof(int64_t), (void **)&factor->bytes);
}

static dm_status block_open(dm_task *task) {
  const dm_plan *plan = task->plan;
  dm_dtype type = plan->problem.accumulator;
  dm_space space = plan->gpu ? DM_DEVICE : DM_HOST;
  int64_t rows = dm_range_size(task->rows), cols = dm_range_size(task->cols), bytes;
  int64_t stride = padded(cols, type, space);
  DM_TRY(dm_bytes_of(rows, stride, dm_dtype_size(type), &bytes));
  void *memory;
  DM_TRY(dm_backend_alloc(task->backend, space, bytes, &memory));
  task->c = dm_view_strided(memory, type, space, rows, cols, stride);
  return DM_OK;
}

/* Ranks of one grid row, column or stack of layers, in the order of their place in it. */
static dm_status groups_open(dm_task *task) {
  const dm_plan *plan = task->plan;
  const dm_comm *world = task->run->world;
  const dm_place *at = &task->place;
  const bool idle = at->idle;
  int row = idle ? -1 : at->l * plan->pm + at->i, column = idle ? -1 : at->l * plan->pn + at->j;
  int stack = idle ? -1 : at->i * plan->pn + at->j;
  DM_TRY(dm_comm_split(world, row, at->j, &task->grid_row));
  DM_TRY(dm_comm_split(world, column, at->i, &task->grid_column));
  return dm_comm_split(world, stack, at->l, &task->layers);
}

static dm_status buffers_open(dm_task *task) {
  DM_TRY(dm_transport_open(dm_transport_auto(dm_plan_used(task->plan)), &task->transport));
  DM_TRY(factor_open(task, DM_A));
  DM_TRY(factor_open(task, DM_B));
  return block_open(task);
}

dm_status dm_task_open(dm_run *run, const dm_plan *plan, dm_backend *backend, dm_task *task) {
  *task = (dm_task){
      .run = run, .plan = plan, .place = dm_plan_place(plan, run->rank), .backend = backend};
  DM_TRY(groups_open(task));
  dm_status status = DM_OK;
  if (!task->place.idle) {
    task->rows = dm_plan_rows(plan, task->place.i);
    task->cols = dm_plan_cols(plan, task->place.j);
    task->panels = dm_plan_layer(plan, task->place.l);
    status = buffers_open(task);
  }
  return dm_comm_agree(run->world, status);
}

static void factor_close(dm_task *task, dm_factor *factor) {
  dm_backend_release(task->backend, factor->space, factor->share);
  dm_backend_release(task->backend, DM_HOST, factor->host_ring);
  dm_backend_release(task->backend, DM_DEVICE, factor->device_ring);
  free(factor->offset);
  free(factor->bytes);
}

void dm_task_close(dm_task *task) {
  dm_transport_close(task->transport);
  factor_close(task, &task->a);
  factor_close(task, &task->b);
  dm_backend_release(task->backend, task->c.space, task->c.base);
  dm_backend_release(task->backend, DM_HOST, task->c_sum.base);
  dm_comm_free(task->grid_row);
  dm_comm_free(task->grid_column);
  dm_comm_free(task->layers);
}
