#include "engine/rank_state.h"

#include <stdlib.h>

#include "backend/backend.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "engine/links.h"
#include "plan/partition.h"
#include "transport/transport.h"

/* ---- memory ---- */

_Static_assert((int)DM_BUFFER_READ_BYTES == (int)DM_READ_MEMORY, "what readers take is counted");
_Static_assert((int)DM_BUFFER_WIDENED_BYTES == (int)DM_CPU_SCRATCH,
               "what the CPU converts is counted");
_Static_assert((int)DM_BUFFER_SLAB_BYTES == (int)DM_SLAB,
               "what peers read is allocated in whole slabs");

static dm_status allocate_new(const dm_rank_memory *memory, const dm_buffer *buffer, void **new) {
  if (buffer->where == DM_PAGEABLE) return dm_buffer_alloc(buffer->bytes, new);
  return dm_backend_alloc(memory->backend, dm_where_space(buffer->where), buffer->bytes, new);
}

/* Under strict overcommit what is kept may leave no room. */
static dm_status rank_state_allocate(dm_rank_memory *memory, const dm_buffer *buffer, void **new) {
  if (memory->cached) *new = dm_cached_take(memory->cached, buffer->bytes);
  if (*new) return DM_OK;
  dm_status status = allocate_new(memory, buffer, new);
  if (!status || !memory->cached) return status;
  dm_status_free(status);
  dm_cached_drop(memory->cached);
  return allocate_new(memory, buffer, new);
}

dm_status dm_rank_memory_take(dm_rank_memory *memory, dm_buffer_kind kind, void **at) {
  const dm_buffer *buffer = &memory->list.of[kind];
  const dm_life life = dm_buffer_life(kind);
  if (buffer->where == DM_NOWHERE || buffer->where == DM_SHARED_MEMORY || life == DM_LIFE_COUNTED)
    return dm_fail(DM_E_BUG, "the plan has no buffer for the %s", dm_buffer_kinds[kind].name);
  if (buffer->bytes == INT64_MAX)
    return dm_fail(DM_E_FIT, "the size of the %s overflows 64 bits", dm_buffer_kinds[kind].name);
  if (!memory->at[kind]) DM_TRY(rank_state_allocate(memory, buffer, &memory->at[kind]));
  *at = memory->at[kind];
  return DM_OK;
}

static dm_status too_small(const dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes) {
  return dm_fail(DM_E_BUG, "the plan has %lld bytes for the %s, which takes %lld",
                 (long long)memory->list.of[kind].bytes, dm_buffer_kinds[kind].name,
                 (long long)bytes);
}

dm_status dm_rank_memory_take_bytes(dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes,
                                    void **at) {
  if (bytes > memory->list.of[kind].bytes) return too_small(memory, kind, bytes);
  return dm_rank_memory_take(memory, kind, at);
}

dm_status dm_rank_memory_count(dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes) {
  memory->counted[kind] += bytes;
  return memory->counted[kind] > memory->list.of[kind].bytes
             ? too_small(memory, kind, memory->counted[kind])
             : DM_OK;
}

/* Allocates all buffers of the rank that live from its opening to its end. */
static dm_status rank_state_open_memory(dm_rank_state *local) {
  dm_rank_memory *memory = &local->memory;
  *memory = (dm_rank_memory){.backend = local->backend,
                             .cached = local->plan->gpu ? NULL : &local->run->cached};
  dm_plan_buffers(local->plan, local->coords, &memory->list);
  for (int kind = 0; kind < DM_BUFFERS; kind++) {
    const dm_where where = memory->list.of[kind].where;
    void *taken;
    if (dm_buffer_life((dm_buffer_kind)kind) != DM_LIFE_RANK || where == DM_NOWHERE ||
        where == DM_SHARED_MEMORY) /* which the transport opens */
      continue;
    DM_TRY(dm_rank_memory_take(memory, (dm_buffer_kind)kind, &taken));
  }
  return DM_OK;
}

/* Only what this product used is kept. */
static void rank_state_close_memory(dm_rank_memory *memory) {
  if (memory->cached) dm_cached_drop(memory->cached);
  for (int kind = 0; kind < DM_BUFFERS; kind++) {
    const dm_where where = memory->list.of[kind].where;
    if (memory->cached && memory->at[kind] && where != DM_SHARED_MEMORY)
      dm_cached_give(memory->cached, memory->at[kind], memory->list.of[kind].bytes);
    else if (where == DM_PAGEABLE)
      free(memory->at[kind]);
    else if (where != DM_SHARED_MEMORY)
      dm_backend_release(memory->backend, dm_where_space(where), memory->at[kind]);
    memory->at[kind] = NULL;
  }
}

/* ---- places of pieces and panels ---- */

static int64_t rank_state_padded(int64_t cols, dm_dtype dtype, dm_space space) {
  return space == DM_HOST ? cols : dm_device_stride(cols, dtype);
}

static const dm_factor *rank_state_factor_of(const dm_rank_state *local, dm_matrix matrix) {
  return matrix == DM_A ? &local->a : &local->b;
}

/* Rows of the panel that belong to MEMBER of the group that shares it; of B among those of all
 * entries of a batch. */
static dm_range rank_state_rows_of(const dm_rank_state *local, dm_matrix matrix, int64_t panel,
                                   int member) {
  if (matrix == DM_A) return dm_plan_a_share(local->plan, local->tile, local->coords.i, member);
  return dm_plan_b_piece(local->plan, local->tile, panel, member);
}

static int own_member(const dm_rank_state *local, dm_matrix matrix) {
  return matrix == DM_A ? local->coords.j : local->coords.i;
}

dm_range dm_rank_piece_rows(const dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  return rank_state_rows_of(local, matrix, panel, own_member(local, matrix));
}

dm_range dm_rank_piece_cols(const dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  return matrix == DM_A ? dm_plan_panel(local->plan, panel) : local->cols;
}

/* MEMBER's first row in the whole panel. */
static int64_t first_row(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int member) {
  const int64_t origin =
      matrix == DM_A ? local->rows.begin : dm_plan_b_panel(local->plan, local->tile, panel).begin;
  return rank_state_rows_of(local, matrix, panel, member).begin - origin;
}

static dm_space rank_state_space_of(const dm_rank_state *local, dm_matrix matrix,
                                    dm_holder holder) {
  return dm_where_space(local->memory.list.of[dm_buffer_of(matrix, holder)].where);
}

/* Offset of MEMBER's piece in SLOT of a ring, after the rows of the members before it. */
static int64_t offset_in_ring(const dm_rank_state *local, dm_matrix matrix, dm_holder ring,
                              int64_t panel, int64_t slot, int member) {
  const int64_t cols =
      dm_range_size(matrix == DM_A ? dm_plan_panel(local->plan, panel) : local->cols);
  const dm_dtype work = local->plan->problem.work;
  return slot * local->memory.list.of[dm_buffer_of(matrix, ring)].slot +
         first_row(local, matrix, panel, member) *
             rank_state_padded(cols, work, rank_state_space_of(local, matrix, ring)) *
             dm_dtype_size(work);
}

static int64_t offset_in_share(const dm_rank_state *local, dm_matrix matrix, int64_t panel,
                               int member) {
  const dm_coords *me = &local->coords;
  const dm_coords at = matrix == DM_A ? (dm_coords){.i = me->i, .j = member, .l = me->l}
                                      : (dm_coords){.i = member, .j = me->j, .l = me->l};
  const int64_t place = dm_plan_place_of(local->plan, matrix, dm_range_size(local->panels),
                                         local->tile, panel - local->panels.begin);
  return place * dm_plan_share_slot(local->plan, matrix, at);
}

/* Offset of MEMBER's piece in HOLDER; a holder of pieces has a slot for each panel. */
static int64_t rank_state_offset_of(const dm_rank_state *local, dm_matrix matrix, dm_holder holder,
                                    int64_t panel, int64_t slot, int member) {
  if (holder == DM_SHARE) return offset_in_share(local, matrix, panel, member);
  const int64_t q = panel - local->panels.begin;
  return offset_in_ring(local, matrix, holder, panel,
                        dm_route_slot(&rank_state_factor_of(local, matrix)->route, q, slot),
                        member);
}

int64_t dm_rank_source(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot,
                       int peer) {
  const dm_route *route = &rank_state_factor_of(local, matrix)->route;
  return rank_state_offset_of(local, matrix, route->exposed, panel, slot, peer);
}

dm_view dm_rank_piece(const dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  if (dm_triangle_shares(local->plan, matrix))
    return dm_view_transpose(dm_rank_piece(local, dm_other_matrix(matrix), panel));
  const dm_holder holder = rank_state_factor_of(local, matrix)->route.piece;
  const dm_space space = rank_state_space_of(local, matrix, holder);
  const dm_dtype work = local->plan->problem.work;
  const dm_range of_rows = dm_rank_piece_rows(local, matrix, panel);
  const dm_range of_cols = dm_rank_piece_cols(local, matrix, panel);
  const int64_t rows = dm_range_size(of_rows), cols = dm_range_size(of_cols);
  const int64_t at =
      rank_state_offset_of(local, matrix, holder, panel, 0, own_member(local, matrix));
  char *memory = local->memory.at[dm_buffer_of(matrix, holder)];
  return dm_view_strided(memory + at, work, space, rows, cols,
                         rank_state_padded(cols, work, space));
}

/* The band of MATRIX that has row ROW of it. */
static const dm_read_band *rank_state_band_of(const dm_rank_state *local, dm_matrix matrix,
                                              int64_t row) {
  const dm_read_band *bands = local->mapped[matrix];
  int64_t low = 0, high = local->bands[matrix] - 1;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (bands[middle].row > row)
      high = middle - 1;
    else
      low = middle;
  }
  return &bands[low];
}

dm_view dm_rank_mapped(const dm_rank_state *local, dm_matrix matrix, dm_range rows, dm_range cols) {
  const dm_read_band *band = rank_state_band_of(local, matrix, rows.begin);
  const int64_t end = dm_min(rows.end, band->row + band->view.rows);
  return dm_view_sub(band->view, rows.begin - band->row, cols.begin, end - rows.begin,
                     dm_range_size(cols));
}

bool dm_rank_is_mapped(const dm_rank_state *local, dm_matrix matrix) {
  return local->mapped[dm_triangle_shares(local->plan, matrix) ? dm_other_matrix(matrix) : matrix];
}

dm_view dm_rank_piece_from(const dm_rank_state *local, dm_matrix matrix, int64_t panel,
                           int64_t row) {
  if (!local->mapped[matrix]) {
    const dm_view all = dm_rank_piece(local, matrix, panel);
    return dm_view_sub(all, row, 0, all.rows - row, all.cols);
  }
  dm_range rows = dm_rank_piece_rows(local, matrix, panel);
  rows.begin += row;
  return dm_rank_mapped(local, matrix, rows, dm_rank_piece_cols(local, matrix, panel));
}

dm_view dm_rank_slot(const dm_rank_state *local, dm_matrix matrix, dm_holder ring, int64_t panel,
                     int slot) {
  const dm_space space = rank_state_space_of(local, matrix, ring);
  const dm_dtype work = local->plan->problem.work;
  const int64_t depth = dm_range_size(dm_plan_panel(local->plan, panel));
  const int64_t rows = matrix == DM_A ? dm_range_size(local->rows) : depth;
  const int64_t cols = matrix == DM_A ? depth : dm_range_size(local->cols);
  const int64_t at =
      dm_route_slot(&rank_state_factor_of(local, matrix)->route, panel - local->panels.begin, slot);
  return dm_view_strided(dm_rank_memory_slot(&local->memory, dm_buffer_of(matrix, ring), at), work,
                         space, rows, cols, rank_state_padded(cols, work, space));
}

dm_view dm_rank_uploaded(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot) {
  const dm_view whole = dm_rank_slot(local, matrix, DM_DEVICE_RING, panel, slot);
  const dm_route *route = &rank_state_factor_of(local, matrix)->route;
  if (route->exposed == route->piece) return whole;
  const int64_t rows = dm_range_size(dm_rank_piece_rows(local, matrix, panel));
  return dm_view_sub(whole, first_row(local, matrix, panel, own_member(local, matrix)), 0, rows,
                     whole.cols);
}

/* All of the panel as products read it. */
static dm_view rank_state_operand_of(const dm_rank_state *local, dm_matrix matrix, int64_t panel,
                                     int slot) {
  if (dm_triangle_shares(local->plan, matrix))
    return dm_view_transpose(rank_state_operand_of(local, dm_other_matrix(matrix), panel, slot));
  if (local->mapped[matrix]) return dm_rank_piece_from(local, matrix, panel, 0);
  const dm_holder holder = rank_state_factor_of(local, matrix)->route.operand;
  if (holder == DM_SHARE) return dm_rank_piece(local, matrix, panel);
  return dm_rank_slot(local, matrix, holder, panel, slot);
}

dm_view dm_rank_operand_from(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot,
                             int64_t row) {
  if (local->mapped[matrix]) return dm_rank_piece_from(local, matrix, panel, row);
  const dm_view all = rank_state_operand_of(local, matrix, panel, slot);
  return dm_view_sub(all, row, 0, all.rows - row, all.cols);
}

static dm_status factor_open(dm_rank_state *local, dm_matrix matrix) {
  dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  factor->route = dm_plan_route(local->plan, matrix);
  factor->fillings = 1; /* filled all at once */
  factor->peers = matrix == DM_A ? local->grid_row : local->grid_column;
  int64_t peers = dm_comm_size(factor->peers);
  DM_TRY(dm_buffer_zeroed(peers, sizeof(int64_t), (void **)&factor->offset));
  DM_TRY(dm_buffer_zeroed(peers, sizeof(int64_t), (void **)&factor->bytes));
  return dm_buffer_zeroed(peers, sizeof(int64_t), (void **)&factor->source);
}

static void block_open(dm_rank_state *local) {
  const dm_compute *row = &local->plan->problem.compute;
  const dm_dtype type = local->plan->problem.accumulator;
  const dm_space space = dm_where_space(local->memory.list.of[DM_BUFFER_BLOCKS].where);
  const int64_t rows = dm_range_size(local->rows), cols = dm_range_size(local->cols);
  local->c = dm_view_strided(local->memory.at[DM_BUFFER_BLOCKS], type, space, rows, cols,
                             rank_state_padded(dm_compute_width(row, type, cols), type, space));
}

/* Groups: the ranks of one grid row, column or stack of layers, in the order of their
 * coordinates. */
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

static dm_status rank_state_buffers_open(dm_rank_state *local) {
  DM_TRY(rank_state_open_memory(local));
  DM_TRY(factor_open(local, DM_A));
  DM_TRY(factor_open(local, DM_B));
  dm_rank_turn_to(local, 0);
  block_open(local);
  return DM_OK;
}

static dm_status expose_buffer(dm_rank_state *local, int share, const dm_comm *group,
                               dm_buffer_kind kind) {
  return dm_transport_expose(local->transport, share, group, local->memory.at[kind],
                             local->memory.list.of[kind].bytes);
}

static dm_status rank_state_expose(dm_rank_state *local, dm_matrix matrix) {
  const dm_factor *factor = rank_state_factor_of(local, matrix);
  if (local->coords.idle || !factor->route.linked) return DM_OK;
  return expose_buffer(local, matrix, factor->peers, dm_buffer_of(matrix, factor->route.exposed));
}

static dm_status rank_state_shared_open(dm_rank_state *local, dm_matrix matrix) {
  const dm_factor *factor = rank_state_factor_of(local, matrix);
  if (local->coords.idle || factor->route.piece != DM_SHARED_SLOTS) return DM_OK;
  const dm_buffer_kind kind = dm_buffer_of(matrix, DM_SHARED_SLOTS);
  return dm_transport_slots_open(local->transport, matrix, factor->peers,
                                 local->memory.list.of[kind].bytes, &local->memory.at[kind]);
}

bool dm_rank_reduces_on_device(const dm_rank_state *local) {
  return local->plan->device_links && local->plan->pk > 1;
}

static dm_status expose_block(dm_rank_state *local) {
  if (local->coords.idle || !dm_rank_reduces_on_device(local)) return DM_OK;
  return expose_buffer(local, DM_BLOCK_SHARE, local->layers, DM_BUFFER_BLOCKS);
}

/* After all memory was allocated: a rank that waits for a peer's handle must not wait for one that
 * has failed. */
static dm_status transport_open(dm_rank_state *local, const dm_transport_ops *ops) {
  const dm_comm *world = local->run->world;
  if (!ops) ops = dm_transport_find("host");
  DM_TRY(dm_links_open(local->run, local->backend, ops, &local->transport));
  if (local->plan->device_links != ops->device_memory && dm_plan_used(local->plan) > 1)
    return dm_fail(DM_E_BUG, "transport %s cannot move what the plan requires", ops->name);
  DM_TRY(dm_comm_agree(world, rank_state_shared_open(local, DM_A)));
  DM_TRY(dm_comm_agree(world, rank_state_shared_open(local, DM_B)));
  DM_TRY(dm_comm_agree(world, rank_state_expose(local, DM_A)));
  DM_TRY(dm_comm_agree(world, rank_state_expose(local, DM_B)));
  return dm_comm_agree(world, expose_block(local));
}

/* All tiles use the first one's block, which is the largest. In host memory rows are packed. */
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
  local->c.base =
      dm_rank_memory_slot(&local->memory, DM_BUFFER_BLOCKS, place % local->plan->blocks);
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

/* Strips multiply the last panels of each layer; there is nothing before its first one. */
static dm_status check_strips(const dm_plan *plan) {
  const int64_t shortest = dm_range_size(dm_plan_layer(plan, plan->pk - 1));
  if (plan->strips == 0 || plan->stretch <= shortest) return DM_OK;
  return dm_fail(DM_E_BUG, "strips of %lld panels do not fit a layer of %lld",
                 (long long)plan->stretch, (long long)shortest);
}

dm_status dm_rank_open(dm_run *run, const dm_plan *plan, dm_backend *backend,
                       const dm_transport_ops *transport, dm_rank_state *local) {
  *local = (dm_rank_state){
      .run = run, .plan = plan, .coords = dm_plan_coords(plan, run->rank), .backend = backend};
  DM_TRY(groups_open(local));
  dm_status status = check_strips(plan);
  if (!status && !local->coords.idle) {
    local->panels = dm_plan_layer(plan, local->coords.l);
    status = rank_state_buffers_open(local);
  }
  DM_TRY(dm_comm_agree(run->world, status));
  return transport_open(local, transport);
}

static void factor_close(dm_factor *factor) {
  free(factor->offset);
  free(factor->bytes);
  free(factor->source);
}

void dm_scaling_close(dm_scaling *s, dm_backend *backend) {
  free(s->rows);
  dm_backend_release(backend, DM_DEVICE, s->on_device);
  *s = (dm_scaling){0};
}

void dm_rank_close(dm_rank_state *local) {
  dm_transport_close(local->transport); /* first: afterwards no peer reads a share */
  factor_close(&local->a);
  factor_close(&local->b);
  dm_scaling_close(&local->scaling, local->backend);
  rank_state_close_memory(&local->memory);
  dm_comm_free(local->grid_row);
  dm_comm_free(local->grid_column);
  dm_comm_free(local->layers);
  dm_comm_free(local->side);
}
