#include "engine/task.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "engine/links.h"
#include "engine/reduce.h"
#include "plan/partition.h"

static int64_t padded(int64_t cols, dm_dtype dtype, dm_space space) {
  return space == DM_HOST ? cols : dm_device_stride(cols, dtype);
}

static const dm_factor *factor_of(const dm_task *task, dm_matrix matrix) {
  return matrix == DM_A ? &task->a : &task->b;
}

/* Of the rank at MEMBER in the group that shares the panel. */
static dm_range rows_of(const dm_task *task, dm_matrix matrix, int64_t panel, int member) {
  return matrix == DM_A ? dm_plan_a_share(task->plan, task->tile, task->place.i, member)
                        : dm_plan_b_share(task->plan, panel, member);
}

static int own_member(const dm_task *task, dm_matrix matrix) {
  return matrix == DM_A ? task->place.j : task->place.i;
}

dm_range dm_task_piece_rows(const dm_task *task, dm_matrix matrix, int64_t panel) {
  return rows_of(task, matrix, panel, own_member(task, matrix));
}

dm_range dm_task_piece_cols(const dm_task *task, dm_matrix matrix, int64_t panel) {
  return matrix == DM_A ? dm_plan_panel(task->plan, panel) : task->cols;
}

/* Elements from one place to the next in the share of MEMBER: all pieces have places of the size
 * that the widest panel takes in the first tile, which is the largest. */
static int64_t piece_pitch(const dm_task *task, dm_matrix matrix, dm_space space, int member) {
  const dm_plan *plan = task->plan;
  int64_t rows = matrix == DM_A ? dm_range_size(dm_plan_a_share(plan, 0, task->place.i, member))
                                : dm_plan_b_share_most(plan, member);
  int64_t width =
      matrix == DM_A ? dm_plan_width(plan) : dm_range_size(dm_plan_cols(plan, 0, task->place.j));
  return rows * padded(width, plan->problem.work, space);
}

static bool fetches(const dm_task *task, dm_matrix matrix) {
  return matrix == DM_A ? dm_plan_fetches_a(task->plan) : dm_plan_fetches_b(task->plan);
}

static bool windowed(const dm_task *task, dm_matrix matrix) {
  return matrix == DM_A ? task->plan->window_a : task->plan->window_b;
}

static bool in_place(const dm_task *task, dm_matrix matrix) {
  return windowed(task, matrix) || (task->plan->in_place && fetches(task, matrix) &&
                                    !dm_plan_uploads_first(task->plan, matrix));
}

/* The first row of the whole panel that is MEMBER's. */
static int64_t first_row(const dm_task *task, dm_matrix matrix, int64_t panel, int member) {
  const int64_t origin = matrix == DM_A ? task->rows.begin : dm_plan_panel(task->plan, panel).begin;
  return rows_of(task, matrix, panel, member).begin - origin;
}

/* Of a piece in slot number SLOT of a ring, where the rows of the others leave room for it. */
static int64_t place_in_slot(const dm_task *task, dm_matrix matrix, int64_t panel, int64_t slot,
                             dm_space space, int member) {
  const dm_factor *factor = factor_of(task, matrix);
  const int64_t cols =
      dm_range_size(matrix == DM_A ? dm_plan_panel(task->plan, panel) : task->cols);
  const dm_dtype work = task->plan->problem.work;
  return slot * (space == DM_HOST ? factor->host_slot : factor->device_slot) +
         first_row(task, matrix, panel, member) * padded(cols, work, space) * dm_dtype_size(work);
}

/* Where the piece of PEER stands in its share, in bytes. */
static int64_t place_in_share(const dm_task *task, dm_matrix matrix, int64_t panel, int peer) {
  const dm_space space = factor_of(task, matrix)->space;
  const int64_t q = panel - task->panels.begin;
  if (in_place(task, matrix)) return place_in_slot(task, matrix, panel, q, space, peer);
  const int64_t pitch = piece_pitch(task, matrix, space, peer);
  const int64_t place =
      dm_plan_place_of(task->plan, matrix, dm_range_size(task->panels), task->tile, q);
  return place * pitch * dm_dtype_size(task->plan->problem.work);
}

int64_t dm_task_source(const dm_task *task, dm_matrix matrix, int64_t panel, int slot, int peer) {
  if (!dm_plan_uploads_first(task->plan, matrix)) return place_in_share(task, matrix, panel, peer);
  return place_in_slot(task, matrix, panel, slot, DM_DEVICE, peer);
}

dm_view dm_task_piece(const dm_task *task, dm_matrix matrix, int64_t panel) {
  const dm_factor *factor = factor_of(task, matrix);
  dm_dtype work = task->plan->problem.work;
  int64_t rows = dm_range_size(dm_task_piece_rows(task, matrix, panel));
  int64_t cols = dm_range_size(dm_task_piece_cols(task, matrix, panel));
  char *ring = factor->space == DM_HOST ? factor->host_ring : factor->device_ring;
  char *share = in_place(task, matrix) ? ring : factor->share;
  int64_t at = place_in_share(task, matrix, panel, own_member(task, matrix));
  return dm_view_strided(share + at, work, factor->space, rows, cols,
                         padded(cols, work, factor->space));
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
  if (in_place(task, matrix)) slot = (int)(panel - task->panels.begin);
  return dm_view_strided(ring + slot * bytes, work, space, rows, cols, padded(cols, work, space));
}

dm_view dm_task_uploaded(const dm_task *task, dm_matrix matrix, int64_t panel, int slot) {
  const dm_view whole = dm_task_slot(task, matrix, panel, slot, DM_DEVICE);
  if (!dm_plan_uploads_first(task->plan, matrix)) return whole;
  const int64_t rows = dm_range_size(dm_task_piece_rows(task, matrix, panel));
  return dm_view_sub(whole, first_row(task, matrix, panel, own_member(task, matrix)), 0, rows,
                     whole.cols);
}

dm_view dm_task_operand(const dm_task *task, dm_matrix matrix, int64_t panel, int slot) {
  const dm_factor *factor = factor_of(task, matrix);
  if (factor->device_ring) return dm_task_slot(task, matrix, panel, slot, DM_DEVICE);
  if (factor->host_ring) return dm_task_slot(task, matrix, panel, slot, DM_HOST);
  return dm_task_piece(task, matrix, panel);
}

/* What peers read is a block of the driver's own, so that nothing else is shown to them. */
static dm_status whole_slabs(int64_t *bytes) {
  if (*bytes > INT64_MAX - DM_SLAB)
    return dm_fail(DM_E_FIT, "a share of more bytes than 64 bits count");
  *bytes = dm_round_up(*bytes, DM_SLAB);
  return DM_OK;
}

static dm_status slot_bytes(const dm_task *task, dm_matrix matrix, dm_space space, int64_t *slot) {
  int64_t width = dm_plan_width(task->plan);
  int64_t rows = matrix == DM_A ? dm_range_size(task->rows) : width;
  int64_t cols = matrix == DM_A ? width : dm_range_size(task->cols);
  dm_dtype work = task->plan->problem.work;
  DM_TRY(dm_bytes_of(rows, padded(cols, work, space), dm_dtype_size(work), slot));
  *slot = dm_round_up(*slot, 256);
  return DM_OK;
}

/* Peers read this rank's pieces. */
static bool exposed(const dm_task *task, dm_matrix matrix) {
  return task->plan->device_links && fetches(task, matrix);
}

/* They find them in its slots, not in a share. */
static bool shows_slots(const dm_task *task, dm_matrix matrix) {
  return exposed(task, matrix) &&
         (in_place(task, matrix) || dm_plan_uploads_first(task->plan, matrix));
}

static int64_t device_slots(const dm_task *task, dm_matrix matrix) {
  return in_place(task, matrix) ? dm_range_size(task->panels) : task->plan->slots;
}

static dm_status ring_open(const dm_task *task, dm_matrix matrix, dm_space space, int64_t slots,
                           void **ring, int64_t *slot) {
  int64_t bytes;
  DM_TRY(slot_bytes(task, matrix, space, slot));
  DM_TRY(dm_bytes_of(slots, 1, *slot, &bytes));
  if (space == DM_DEVICE && shows_slots(task, matrix)) DM_TRY(whole_slabs(&bytes));
  return dm_backend_alloc(task->backend, space, bytes, ring);
}

/* The last panel is counted by itself: it may give a rank a row more than a full one does. */
static dm_status share_bytes(const dm_task *task, dm_matrix matrix, int64_t *bytes) {
  int64_t full, panels = dm_range_size(task->panels);
  int64_t size = dm_dtype_size(task->plan->problem.work);
  *bytes = 0;
  if (panels == 0) return DM_OK;
  const int64_t places = dm_plan_places(task->plan, matrix, panels);
  if (places != panels || dm_plan_streams(task->plan)) {
    const dm_space space = factor_of(task, matrix)->space;
    return dm_bytes_of(places, piece_pitch(task, matrix, space, own_member(task, matrix)), size,
                       bytes);
  }
  dm_view last = dm_task_piece(task, matrix, task->panels.end - 1);
  int64_t pitch = piece_pitch(task, matrix, last.space, own_member(task, matrix));
  DM_TRY(dm_bytes_of(panels - 1, pitch, size, &full));
  DM_TRY(dm_bytes_of(last.rows, last.row_stride, size, bytes));
  if (dm_add_overflows(full, *bytes, bytes))
    return dm_fail(DM_E_FIT, "a share of more bytes than 64 bits count");
  return DM_OK;
}

static dm_status share_open(dm_task *task, dm_matrix matrix, dm_factor *factor) {
  int64_t bytes;
  if (in_place(task, matrix)) return DM_OK;
  DM_TRY(share_bytes(task, matrix, &bytes));
  if (exposed(task, matrix) && !shows_slots(task, matrix)) DM_TRY(whole_slabs(&bytes));
  return dm_backend_alloc(task->backend, factor->space, bytes, &factor->share);
}

static dm_status rings_open(dm_task *task, dm_matrix matrix, dm_factor *factor) {
  const dm_plan *plan = task->plan;
  bool uploads = matrix == DM_A ? dm_plan_uploads_a(plan) : dm_plan_uploads_b(plan);
  if (windowed(task, matrix)) return slot_bytes(task, matrix, DM_HOST, &factor->host_slot);
  if (fetches(task, matrix) && !plan->device_links)
    DM_TRY(ring_open(task, matrix, DM_HOST, plan->slots, &factor->host_ring, &factor->host_slot));
  if (!uploads && !exposed(task, matrix)) return DM_OK;
  return ring_open(task, matrix, DM_DEVICE, device_slots(task, matrix), &factor->device_ring,
                   &factor->device_slot);
}

static dm_status factor_open(dm_task *task, dm_matrix matrix) {
  dm_factor *factor = matrix == DM_A ? &task->a : &task->b;
  factor->space = dm_plan_residence(task->plan, matrix) == DM_IN_DEVICE ? DM_DEVICE : DM_HOST;
  factor->fillings = 1; /* in one go */
  factor->peers = matrix == DM_A ? task->grid_row : task->grid_column;
  DM_TRY(share_open(task, matrix, factor));
  DM_TRY(rings_open(task, matrix, factor));
  int64_t peers = dm_comm_size(factor->peers);
  DM_TRY(dm_buffer_zeroed(peers, sizeof(int64_t), (void **)&factor->offset));
  DM_TRY(dm_buffer_zeroed(peers, sizeof(int64_t), (void **)&factor->bytes));
  return dm_buffer_zeroed(peers, sizeof(int64_t), (void **)&factor->source);
}

static dm_status block_open(dm_task *task) {
  const dm_plan *plan = task->plan;
  dm_dtype type = plan->problem.accumulator;
  dm_space space = plan->gpu ? DM_DEVICE : DM_HOST;
  int64_t rows = dm_range_size(task->rows), cols = dm_range_size(task->cols), bytes;
  int64_t stride = padded(cols, type, space);
  DM_TRY(dm_bytes_of(rows, stride, dm_dtype_size(type), &task->block));
  task->block = dm_round_up(task->block, 256);
  DM_TRY(dm_bytes_of(plan->blocks, 1, task->block, &bytes));
  if (dm_task_reduces_on_device(task)) bytes = dm_round_up(bytes, DM_SLAB);
  DM_TRY(dm_backend_alloc(task->backend, space, bytes, (void **)&task->blocks));
  task->c = dm_view_strided(task->blocks, type, space, rows, cols, stride);
  return dm_task_reduces_on_device(task) ? dm_task_open_pieces(task) : DM_OK;
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
  DM_TRY(dm_comm_split(world, idle ? -1 : at->l, at->i * plan->pn + at->j, &task->side));
  return dm_comm_split(world, stack, at->l, &task->layers);
}

static dm_status buffers_open(dm_task *task) {
  DM_TRY(factor_open(task, DM_A));
  DM_TRY(factor_open(task, DM_B));
  return block_open(task);
}

static dm_status expose(dm_task *task, dm_matrix matrix) {
  const dm_factor *factor = factor_of(task, matrix);
  if (task->place.idle || !exposed(task, matrix)) return DM_OK;
  int64_t bytes = device_slots(task, matrix) * factor->device_slot;
  if (!shows_slots(task, matrix)) DM_TRY(share_bytes(task, matrix, &bytes));
  return dm_transport_expose(task->transport, matrix, factor->peers,
                             shows_slots(task, matrix) ? factor->device_ring : factor->share,
                             bytes);
}

static dm_status window_open(dm_task *task, dm_matrix matrix) {
  dm_factor *factor = matrix == DM_A ? &task->a : &task->b;
  int64_t bytes;
  if (task->place.idle || !windowed(task, matrix)) return DM_OK;
  DM_TRY(dm_bytes_of(dm_range_size(task->panels), 1, factor->host_slot, &bytes));
  return dm_transport_window_open(task->transport, matrix, factor->peers, bytes,
                                  &factor->host_ring);
}

static dm_status expose_block(dm_task *task) {
  const dm_view *c = &task->c;
  if (task->place.idle || !dm_task_reduces_on_device(task)) return DM_OK;
  const int64_t bytes = c->rows * c->row_stride * dm_dtype_size(c->dtype);
  return dm_transport_expose(task->transport, DM_BLOCK_SHARE, task->layers, c->base, bytes);
}

/* After all memory was had: who waits for a peer's handle must not wait for one that has failed. */
static dm_status transport_open(dm_task *task, const dm_transport_ops *ops) {
  const dm_comm *world = task->run->world;
  if (!ops) ops = dm_transport_find("host");
  DM_TRY(dm_links_open(task->run, task->backend, ops, &task->transport));
  if (task->plan->device_links != ops->device_memory && dm_plan_used(task->plan) > 1)
    return dm_fail(DM_E_BUG, "transport %s does not move what the plan wants moved", ops->name);
  DM_TRY(dm_comm_agree(world, window_open(task, DM_A)));
  DM_TRY(dm_comm_agree(world, window_open(task, DM_B)));
  DM_TRY(dm_comm_agree(world, expose(task, DM_A)));
  DM_TRY(dm_comm_agree(world, expose(task, DM_B)));
  return dm_comm_agree(world, expose_block(task));
}

/* No tile's block is larger than the first one's: all use its memory.  In host memory rows are
 * packed. */
void dm_task_turn_to(dm_task *task, int64_t tile) {
  task->tile = tile;
  task->rows = dm_plan_rows(task->plan, tile, task->place.i);
  task->cols = dm_plan_cols(task->plan, tile, task->place.j);
  task->c.rows = dm_range_size(task->rows);
  task->c.cols = dm_range_size(task->cols);
  if (task->c.space == DM_HOST) task->c.row_stride = task->c.cols;
  task->c.base = task->blocks + (tile - task->plan->done) % task->plan->blocks * task->block;
}

dm_range dm_task_sums(const dm_task *task) {
  return (dm_range){0, task->plan->pk > 1 ? task->c_sum.rows : task->c.rows};
}

dm_status dm_task_open(dm_run *run, const dm_plan *plan, dm_backend *backend,
                       const dm_transport_ops *transport, dm_task *task) {
  *task = (dm_task){
      .run = run, .plan = plan, .place = dm_plan_place(plan, run->rank), .backend = backend};
  DM_TRY(groups_open(task));
  dm_status status = DM_OK;
  if (!task->place.idle) {
    task->panels = dm_plan_layer(plan, task->place.l);
    dm_task_turn_to(task, 0);
    status = buffers_open(task);
  }
  DM_TRY(dm_comm_agree(run->world, status));
  return transport_open(task, transport);
}

static void factor_close(dm_task *task, dm_matrix matrix, dm_factor *factor) {
  dm_backend_release(task->backend, factor->space, factor->share);
  if (!windowed(task, matrix)) dm_backend_release(task->backend, DM_HOST, factor->host_ring);
  dm_backend_release(task->backend, DM_DEVICE, factor->device_ring);
  free(factor->offset);
  free(factor->bytes);
  free(factor->source);
}

void dm_task_close(dm_task *task) {
  dm_transport_close(task->transport); /* first: then no peer reads a share any more */
  factor_close(task, DM_A, &task->a);
  factor_close(task, DM_B, &task->b);
  dm_backend_release(task->backend, task->c.space, task->blocks);
  if (!task->c_pieces) dm_backend_release(task->backend, DM_HOST, task->c_sum.base);
  dm_backend_release(task->backend, DM_DEVICE, task->c_pieces);
  dm_comm_free(task->grid_row);
  dm_comm_free(task->grid_column);
  dm_comm_free(task->layers);
  dm_comm_free(task->side);
}
