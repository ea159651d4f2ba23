#include "engine/rank_state.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "engine/links.h"
#include "engine/reduce.h"
#include "plan/partition.h"

static int64_t padded(int64_t cols, dm_dtype dtype, dm_space space) {
  return space == DM_HOST ? cols : dm_device_stride(cols, dtype);
}

static const dm_factor *factor_of(const dm_rank_state *local, dm_matrix matrix) {
  return matrix == DM_A ? &local->a : &local->b;
}

/* Of the rank at MEMBER in the group that shares the panel. */
static dm_range rows_of(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int member) {
  return matrix == DM_A ? dm_plan_a_share(local->plan, local->tile, local->coords.i, member)
                        : dm_plan_b_share(local->plan, panel, member);
}

static int own_member(const dm_rank_state *local, dm_matrix matrix) {
  return matrix == DM_A ? local->coords.j : local->coords.i;
}

dm_range dm_rank_piece_rows(const dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  return rows_of(local, matrix, panel, own_member(local, matrix));
}

dm_range dm_rank_piece_cols(const dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  return matrix == DM_A ? dm_plan_panel(local->plan, panel) : local->cols;
}

/* Elements from one place to the next in the share of MEMBER: all pieces have places of the size
 * that the widest panel takes in the first tile, which is the largest. */
static int64_t piece_pitch(const dm_rank_state *local, dm_matrix matrix, dm_space space,
                           int member) {
  const dm_plan *plan = local->plan;
  int64_t rows = matrix == DM_A ? dm_range_size(dm_plan_a_share(plan, 0, local->coords.i, member))
                                : dm_plan_b_share_most(plan, member);
  int64_t width =
      matrix == DM_A ? dm_plan_width(plan) : dm_range_size(dm_plan_cols(plan, 0, local->coords.j));
  return rows * padded(width, plan->problem.work, space);
}

static bool fetches(const dm_rank_state *local, dm_matrix matrix) {
  return matrix == DM_A ? dm_plan_fetches_a(local->plan) : dm_plan_fetches_b(local->plan);
}

static bool shared(const dm_rank_state *local, dm_matrix matrix) {
  return matrix == DM_A ? local->plan->shared_a : local->plan->shared_b;
}

static bool in_place(const dm_rank_state *local, dm_matrix matrix) {
  return dm_plan_keeps(local->plan, matrix);
}

/* The first row of the whole panel that is MEMBER's. */
static int64_t first_row(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int member) {
  const int64_t origin =
      matrix == DM_A ? local->rows.begin : dm_plan_panel(local->plan, panel).begin;
  return rows_of(local, matrix, panel, member).begin - origin;
}

/* Of a piece in slot number SLOT of a ring, where the rows of the others leave room for it. */
static int64_t place_in_slot(const dm_rank_state *local, dm_matrix matrix, int64_t panel,
                             int64_t slot, dm_space space, int member) {
  const dm_factor *factor = factor_of(local, matrix);
  const int64_t cols =
      dm_range_size(matrix == DM_A ? dm_plan_panel(local->plan, panel) : local->cols);
  const dm_dtype work = local->plan->problem.work;
  return slot * (space == DM_HOST ? factor->host_slot : factor->device_slot) +
         first_row(local, matrix, panel, member) * padded(cols, work, space) * dm_dtype_size(work);
}

/* Where the piece of PEER stands in its share, in bytes. */
static int64_t place_in_share(const dm_rank_state *local, dm_matrix matrix, int64_t panel,
                              int peer) {
  const dm_space space = factor_of(local, matrix)->space;
  const int64_t q = panel - local->panels.begin;
  if (in_place(local, matrix)) return place_in_slot(local, matrix, panel, q, space, peer);
  const int64_t pitch = piece_pitch(local, matrix, space, peer);
  const int64_t place =
      dm_plan_place_of(local->plan, matrix, dm_range_size(local->panels), local->tile, q);
  return place * pitch * dm_dtype_size(local->plan->problem.work);
}

int64_t dm_rank_source(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot,
                       int peer) {
  if (!dm_plan_uploads_first(local->plan, matrix))
    return place_in_share(local, matrix, panel, peer);
  return place_in_slot(local, matrix, panel, slot, DM_DEVICE, peer);
}

dm_view dm_rank_piece(const dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  const dm_factor *factor = factor_of(local, matrix);
  dm_dtype work = local->plan->problem.work;
  int64_t rows = dm_range_size(dm_rank_piece_rows(local, matrix, panel));
  int64_t cols = dm_range_size(dm_rank_piece_cols(local, matrix, panel));
  char *ring = factor->space == DM_HOST ? factor->host_ring : factor->device_ring;
  char *share = in_place(local, matrix) ? ring : factor->share;
  int64_t at = place_in_share(local, matrix, panel, own_member(local, matrix));
  return dm_view_strided(share + at, work, factor->space, rows, cols,
                         padded(cols, work, factor->space));
}

dm_view dm_rank_slot(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot,
                     dm_space space) {
  const dm_factor *factor = factor_of(local, matrix);
  dm_dtype work = local->plan->problem.work;
  int64_t depth = dm_range_size(dm_plan_panel(local->plan, panel));
  int64_t rows = matrix == DM_A ? dm_range_size(local->rows) : depth;
  int64_t cols = matrix == DM_A ? depth : dm_range_size(local->cols);
  char *ring = space == DM_HOST ? factor->host_ring : factor->device_ring;
  int64_t bytes = space == DM_HOST ? factor->host_slot : factor->device_slot;
  if (in_place(local, matrix)) slot = (int)(panel - local->panels.begin);
  return dm_view_strided(ring + slot * bytes, work, space, rows, cols, padded(cols, work, space));
}

dm_view dm_rank_uploaded(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot) {
  const dm_view whole = dm_rank_slot(local, matrix, panel, slot, DM_DEVICE);
  if (!dm_plan_uploads_first(local->plan, matrix)) return whole;
  const int64_t rows = dm_range_size(dm_rank_piece_rows(local, matrix, panel));
  return dm_view_sub(whole, first_row(local, matrix, panel, own_member(local, matrix)), 0, rows,
                     whole.cols);
}

dm_view dm_rank_operand(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot) {
  const dm_factor *factor = factor_of(local, matrix);
  if (factor->device_ring) return dm_rank_slot(local, matrix, panel, slot, DM_DEVICE);
  if (factor->host_ring) return dm_rank_slot(local, matrix, panel, slot, DM_HOST);
  return dm_rank_piece(local, matrix, panel);
}

/* What peers read is a block of the driver's own, so that nothing else is shown to them. */
static dm_status whole_slabs(int64_t *bytes) {
  if (*bytes > INT64_MAX - DM_SLAB)
    return dm_fail(DM_E_FIT, "the size of a share overflows 64 bits");
  *bytes = dm_round_up(*bytes, DM_SLAB);
  return DM_OK;
}

static dm_status slot_bytes(const dm_rank_state *local, dm_matrix matrix, dm_space space,
                            int64_t *slot) {
  int64_t width = dm_plan_width(local->plan);
  int64_t rows = matrix == DM_A ? dm_range_size(local->rows) : width;
  int64_t cols = matrix == DM_A ? width : dm_range_size(local->cols);
  dm_dtype work = local->plan->problem.work;
  DM_TRY(dm_bytes_of(rows, padded(cols, work, space), dm_dtype_size(work), slot));
  *slot = dm_round_up(*slot, 256);
  return DM_OK;
}

/* Peers read this rank's pieces. */
static bool exposed(const dm_rank_state *local, dm_matrix matrix) {
  return local->plan->device_links && fetches(local, matrix);
}

/* They find them in its slots, not in a share. */
static bool shows_slots(const dm_rank_state *local, dm_matrix matrix) {
  return exposed(local, matrix) &&
         (in_place(local, matrix) || dm_plan_uploads_first(local->plan, matrix));
}

static int64_t device_slots(const dm_rank_state *local, dm_matrix matrix) {
  return in_place(local, matrix) ? dm_range_size(local->panels) : local->plan->slots;
}

static dm_status ring_open(const dm_rank_state *local, dm_matrix matrix, dm_space space,
                           int64_t slots, void **ring, int64_t *slot) {
  int64_t bytes;
  DM_TRY(slot_bytes(local, matrix, space, slot));
  DM_TRY(dm_bytes_of(slots, 1, *slot, &bytes));
  if (space == DM_DEVICE && shows_slots(local, matrix)) DM_TRY(whole_slabs(&bytes));
  return dm_backend_alloc(local->backend, space, bytes, ring);
}

/* The last panel is counted by itself: it may give a rank a row more than a full one does. */
static dm_status share_bytes(const dm_rank_state *local, dm_matrix matrix, int64_t *bytes) {
  int64_t full, panels = dm_range_size(local->panels);
  int64_t size = dm_dtype_size(local->plan->problem.work);
  *bytes = 0;
  if (panels == 0) return DM_OK;
  const int64_t places = dm_plan_places(local->plan, matrix, panels);
  if (places != panels || dm_plan_streams(local->plan)) {
    const dm_space space = factor_of(local, matrix)->space;
    return dm_bytes_of(places, piece_pitch(local, matrix, space, own_member(local, matrix)), size,
                       bytes);
  }
  dm_view last = dm_rank_piece(local, matrix, local->panels.end - 1);
  int64_t pitch = piece_pitch(local, matrix, last.space, own_member(local, matrix));
  DM_TRY(dm_bytes_of(panels - 1, pitch, size, &full));
  DM_TRY(dm_bytes_of(last.rows, last.row_stride, size, bytes));
  if (dm_add_overflows(full, *bytes, bytes))
    return dm_fail(DM_E_FIT, "the size of a share overflows 64 bits");
  return DM_OK;
}

static dm_status share_open(dm_rank_state *local, dm_matrix matrix, dm_factor *factor) {
  int64_t bytes;
  if (in_place(local, matrix)) return DM_OK;
  DM_TRY(share_bytes(local, matrix, &bytes));
  if (exposed(local, matrix) && !shows_slots(local, matrix)) DM_TRY(whole_slabs(&bytes));
  return dm_backend_alloc(local->backend, factor->space, bytes, &factor->share);
}

static dm_status rings_open(dm_rank_state *local, dm_matrix matrix, dm_factor *factor) {
  const dm_plan *plan = local->plan;
  bool uploads = matrix == DM_A ? dm_plan_uploads_a(plan) : dm_plan_uploads_b(plan);
  if (shared(local, matrix)) return slot_bytes(local, matrix, DM_HOST, &factor->host_slot);
  if (fetches(local, matrix) && !plan->device_links)
    DM_TRY(ring_open(local, matrix, DM_HOST, plan->slots, &factor->host_ring, &factor->host_slot));
  if (!uploads && !exposed(local, matrix)) return DM_OK;
  return ring_open(local, matrix, DM_DEVICE, device_slots(local, matrix), &factor->device_ring,
                   &factor->device_slot);
}

static dm_status factor_open(dm_rank_state *local, dm_matrix matrix) {
  dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  factor->space = dm_plan_residence(local->plan, matrix) == DM_IN_DEVICE ? DM_DEVICE : DM_HOST;
  factor->fillings = 1; /* in one go */
  factor->peers = matrix == DM_A ? local->grid_row : local->grid_column;
  DM_TRY(share_open(local, matrix, factor));
  DM_TRY(rings_open(local, matrix, factor));
  int64_t peers = dm_comm_size(factor->peers);
  DM_TRY(dm_buffer_zeroed(peers, sizeof(int64_t), (void **)&factor->offset));
  DM_TRY(dm_buffer_zeroed(peers, sizeof(int64_t), (void **)&factor->bytes));
  return dm_buffer_zeroed(peers, sizeof(int64_t), (void **)&factor->source);
}

static dm_status block_open(dm_rank_state *local) {
  const dm_plan *plan = local->plan;
  dm_dtype type = plan->problem.accumulator;
  dm_space space = plan->gpu ? DM_DEVICE : DM_HOST;
  int64_t rows = dm_range_size(local->rows), cols = dm_range_size(local->cols), bytes;
  int64_t stride = padded(dm_compute_width(&plan->problem.compute, type, cols), type, space);
  DM_TRY(dm_bytes_of(rows, stride, dm_dtype_size(type), &local->block));
  local->block = dm_round_up(local->block, 256);
  DM_TRY(dm_bytes_of(plan->blocks, 1, local->block, &bytes));
  if (dm_rank_reduces_on_device(local)) bytes = dm_round_up(bytes, DM_SLAB);
  DM_TRY(dm_backend_alloc(local->backend, space, bytes, (void **)&local->blocks));
  local->c = dm_view_strided(local->blocks, type, space, rows, cols, stride);
  return dm_rank_reduces_on_device(local) ? dm_rank_open_pieces(local) : DM_OK;
}

/* Ranks of one grid row, column or stack of layers, in the order of their place in it. */
static dm_status groups_open(dm_rank_state *local) {
  const dm_plan *plan = local->plan;
  const dm_comm *world = local->run->world;
  const dm_coords *at = &local->coords;
  const bool idle = at->idle;
  int row = idle ? -1 : at->l * plan->pm + at->i, column = idle ? -1 : at->l * plan->pn + at->j;
  int stack = idle ? -1 : at->i * plan->pn + at->j;
  DM_TRY(dm_comm_split(world, row, at->j, &local->grid_row));
  DM_TRY(dm_comm_split(world, column, at->i, &local->grid_column));
  DM_TRY(dm_comm_split(world, idle ? -1 : at->l, at->i * plan->pn + at->j, &local->side));
  return dm_comm_split(world, stack, at->l, &local->layers);
}

static dm_status buffers_open(dm_rank_state *local) {
  DM_TRY(factor_open(local, DM_A));
  DM_TRY(factor_open(local, DM_B));
  return block_open(local);
}

static dm_status expose(dm_rank_state *local, dm_matrix matrix) {
  const dm_factor *factor = factor_of(local, matrix);
  if (local->coords.idle || !exposed(local, matrix)) return DM_OK;
  int64_t bytes = device_slots(local, matrix) * factor->device_slot;
  if (!shows_slots(local, matrix)) DM_TRY(share_bytes(local, matrix, &bytes));
  return dm_transport_expose(local->transport, matrix, factor->peers,
                             shows_slots(local, matrix) ? factor->device_ring : factor->share,
                             bytes);
}

static dm_status shared_open(dm_rank_state *local, dm_matrix matrix) {
  dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  int64_t bytes;
  if (local->coords.idle || !shared(local, matrix)) return DM_OK;
  DM_TRY(dm_bytes_of(dm_range_size(local->panels), 1, factor->host_slot, &bytes));
  return dm_transport_slots_open(local->transport, matrix, factor->peers, bytes,
                                 &factor->host_ring);
}

static dm_status expose_block(dm_rank_state *local) {
  const dm_view *c = &local->c;
  if (local->coords.idle || !dm_rank_reduces_on_device(local)) return DM_OK;
  const int64_t bytes = c->rows * c->row_stride * dm_dtype_size(c->dtype);
  return dm_transport_expose(local->transport, DM_BLOCK_SHARE, local->layers, c->base, bytes);
}

/* After all memory was taken: a rank that waits for a peer's handle must not wait for one that has
 * failed. */
static dm_status transport_open(dm_rank_state *local, const dm_transport_ops *ops) {
  const dm_comm *world = local->run->world;
  if (!ops) ops = dm_transport_find("host");
  DM_TRY(dm_links_open(local->run, local->backend, ops, &local->transport));
  if (local->plan->device_links != ops->device_memory && dm_plan_used(local->plan) > 1)
    return dm_fail(DM_E_BUG, "transport %s does not move what the plan wants moved", ops->name);
  DM_TRY(dm_comm_agree(world, shared_open(local, DM_A)));
  DM_TRY(dm_comm_agree(world, shared_open(local, DM_B)));
  DM_TRY(dm_comm_agree(world, expose(local, DM_A)));
  DM_TRY(dm_comm_agree(world, expose(local, DM_B)));
  return dm_comm_agree(world, expose_block(local));
}

/* No tile's block is larger than the first one's: all use its memory.  In host memory rows are
 * packed. */
void dm_rank_turn_to(dm_rank_state *local, int64_t tile) {
  local->tile = tile;
  local->rows = dm_plan_rows(local->plan, tile, local->coords.i);
  local->cols = dm_plan_cols(local->plan, tile, local->coords.j);
  local->c.rows = dm_range_size(local->rows);
  local->c.cols = dm_range_size(local->cols);
  if (local->c.space == DM_HOST)
    local->c.row_stride =
        dm_compute_width(&local->plan->problem.compute, local->c.dtype, local->c.cols);
  const int64_t place = dm_max(0, dm_plan_todo_place(local->plan, tile));
  local->c.base = local->blocks + place % local->plan->blocks * local->block;
}

dm_view dm_rank_result(const dm_rank_state *local, dm_range *rows) {
  const dm_coords *at = &local->coords;
  const bool summed = local->plan->pk > 1;
  *rows = (dm_range){0, 0};
  if (at->idle) return (dm_view){0};
  *rows = summed ? dm_plan_c_share(local->plan, local->tile, at->i, at->l) : local->rows;
  return summed ? local->c_sum : local->c;
}

dm_range dm_rank_sums(const dm_rank_state *local) {
  return (dm_range){0, local->plan->pk > 1 ? local->c_sum.rows : local->c.rows};
}

dm_status dm_rank_open(dm_run *run, const dm_plan *plan, dm_backend *backend,
                       const dm_transport_ops *transport, dm_rank_state *local) {
  *local = (dm_rank_state){
      .run = run, .plan = plan, .coords = dm_plan_coords(plan, run->rank), .backend = backend};
  DM_TRY(groups_open(local));
  dm_status status = DM_OK;
  if (!local->coords.idle) {
    local->panels = dm_plan_layer(plan, local->coords.l);
    dm_rank_turn_to(local, 0);
    status = buffers_open(local);
  }
  DM_TRY(dm_comm_agree(run->world, status));
  return transport_open(local, transport);
}

static void factor_close(dm_rank_state *local, dm_matrix matrix, dm_factor *factor) {
  dm_backend_release(local->backend, factor->space, factor->share);
  if (!shared(local, matrix)) dm_backend_release(local->backend, DM_HOST, factor->host_ring);
  dm_backend_release(local->backend, DM_DEVICE, factor->device_ring);
  free(factor->offset);
  free(factor->bytes);
  free(factor->source);
}

void dm_rank_close(dm_rank_state *local) {
  dm_transport_close(local->transport); /* first: then no peer reads a share any more */
  factor_close(local, DM_A, &local->a);
  factor_close(local, DM_B, &local->b);
  dm_backend_release(local->backend, local->c.space, local->blocks);
  if (!local->c_pieces) dm_backend_release(local->backend, DM_HOST, local->c_sum.base);
  dm_backend_release(local->backend, DM_DEVICE, local->c_pieces);
  dm_comm_free(local->grid_row);
  dm_comm_free(local->grid_column);
  dm_comm_free(local->layers);
  dm_comm_free(local->side);
}
