#include "product/memory_result.h"

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "engine/alpha_beta.h"
#include "plan/partition.h"
#include "plan/tiles.h"

enum { IMAGE_BYTES = 4 << 20 };

/* ---- one end of a move: this rank's part of a tile ---- */

typedef struct tile_part {
  dm_view view;
  dm_distribution of;
} tile_part;

static dm_view part_at(void *context, int64_t row, int64_t col) {
  (void)row;
  (void)col;
  return ((const tile_part *)context)->view;
}

static dm_status part_open(const dm_run *run, dm_rank_state *local, int64_t tile, tile_part *p) {
  *p = (tile_part){0};
  if (!local->coords.idle) dm_rank_turn_to(local, tile);
  return dm_comm_agree(run->world, dm_distribution_of_tile(local->plan, DM_C, tile, &p->of));
}

static dm_end part_end(tile_part *p) {
  return (dm_end){.of = &p->of, .at = part_at, .context = p};
}

/* Does MOVE between EXTENT of MATRIX, or its transpose, and OTHER, or in the reverse direction. */
static dm_status move_extent(const dm_run *run, const dm_distributed *matrix, dm_extent extent,
                             bool turned, bool reverse, dm_end other, dm_move move) {
  dm_distributed there;
  dm_status status = dm_comm_agree(run->world, dm_distributed_part(matrix, extent, &there));
  if (turned) dm_distributed_transpose(&there);
  const dm_end end = dm_distributed_end(&there);
  move.from = reverse ? &other : &end;
  move.to = reverse ? &end : &other;
  if (!status) status = dm_redistribute(run->world, &move);
  dm_distributed_close(&there);
  return status;
}

/* Moves TILE of OLD, which is in memory, to P. */
static dm_status memory_result_bring(const dm_run *run, const dm_plan *plan,
                                     const dm_distributed *old, int64_t tile, tile_part *p) {
  return move_extent(run, old, dm_tile_extent(plan, DM_C, tile), false, false, part_end(p),
                     (dm_move){.dtype = old->local.dtype});
}

static dm_view packed(const dm_rank_state *local, dm_dtype type, char *memory) {
  dm_range rows;
  (void)dm_rank_result(local, &rows);
  return dm_view_row_major(memory, type, dm_range_size(rows), dm_range_size(local->cols));
}

/* ---- the sink ---- */

/* For dm_memory_sink; without one C stays where it was summed. */
static dm_view memory_result_sums_of(void *context, const dm_rank_state *local) {
  const dm_memory_result *r = context;
  dm_range rows;
  return r->sums ? packed(local, local->plan->problem.accumulator, r->sums)
                 : dm_rank_result(local, &rows);
}

/* If C itself is the old C, it is finished where it arrives; on its GPU always. */
static bool finishes_here(const dm_memory_result *r, const dm_problem *p) {
  return p->reads_c && !r->replaces && !r->on_gpu;
}

static int old_bytes(const dm_problem *p) {
  return (int)dm_dtype_size(dm_dtype_widest(p->work));
}

int dm_memory_result_bytes(const dm_memory_result *r, const dm_problem *p) {
  return finishes_here(r, p) ? old_bytes(p) + (int)dm_dtype_size(p->c) : 0;
}

static dm_status memory_result_open_memory(void *state, dm_rank_state *local) {
  dm_memory_result *r = state;
  const dm_problem *p = &local->plan->problem;
  dm_range rows;
  int64_t elements;
  char *memory;
  r->copies = (dm_memory_sink){.part = memory_result_sums_of, .context = r};
  r->sums = r->old_tile = r->finished = NULL;
  if (local->coords.idle) return DM_OK;
  dm_rank_turn_to(local, 0); /* the largest tile */
  (void)dm_rank_result(local, &rows);
  DM_TRY(dm_bytes_of(dm_range_size(rows), dm_range_size(local->cols), 1, &elements));
  if (local->plan->gpu && !r->on_gpu)
    DM_TRY(dm_rank_memory_take_bytes(&local->memory, DM_BUFFER_HOME_C,
                                     elements * dm_dtype_size(p->accumulator), (void **)&r->sums));
  if (!finishes_here(r, p)) return DM_OK;
  DM_TRY(dm_rank_memory_take_bytes(&local->memory, DM_BUFFER_FINISHED_HOME,
                                   elements * dm_memory_result_bytes(r, p), (void **)&memory));
  r->old_tile = memory; /* wider, so first */
  r->finished = memory + elements * old_bytes(p);
  return DM_OK;
}

static dm_status memory_result_store(void *state, dm_rank_state *local, dm_range rows, bool *done) {
  dm_memory_result *r = state;
  *done = true;
  return r->sums ? dm_sink_memory.store(&r->copies, local, rows, done) : DM_OK;
}

static dm_status memory_result_deliver(void *state, dm_rank_state *local, int64_t tile) {
  return dm_memory_result_deliver(state, local, tile);
}

const dm_sink_ops dm_sink_result = {.open = memory_result_open_memory,
                                    .store = memory_result_store,
                                    .deliver = memory_result_deliver};

/* ---- delivering ---- */

typedef struct memory_result_finishing {
  const dm_memory_result *result;
  bool reads_c, conjugates;
} memory_result_finishing;

static dm_status memory_result_take_sums(void *context, dm_view into, dm_view sums) {
  const memory_result_finishing *f = context;
  DM_TRY(dm_apply_alpha_beta(into, sums, f->reads_c ? &into : NULL, f->result->alpha,
                             f->result->beta));
  if (f->conjugates) dm_conjugate(into);
  return DM_OK;
}

static dm_status take_finished(void *context, dm_view into, dm_view arrived) {
  dm_copy(into, arrived, ((const memory_result_finishing *)context)->conjugates);
  return DM_OK;
}

/* EXTENT of C in SUMS, rows ROWS and columns COLS. */
static dm_view memory_result_cut(dm_view sums, dm_range rows, dm_range cols, dm_extent extent) {
  const dm_range down = dm_range_common(rows, extent.rows);
  const dm_range across = dm_range_common(cols, extent.cols);
  return dm_view_sub(sums, down.begin - rows.begin, across.begin - cols.begin, dm_range_size(down),
                     dm_range_size(across));
}

/* The mirror image of PART, at (ROW, COL) of C, through host memory if a GPU has it. */
static dm_status add_image(dm_freivalds *check, dm_rank_state *local, dm_view part, int64_t row,
                           int64_t col) {
  const int64_t line = part.cols * dm_dtype_size(part.dtype);
  const int64_t most = dm_max(1, IMAGE_BYTES / line);
  DM_FREED void *memory = NULL;
  if (part.space == DM_HOST) return dm_freivalds_add_image(check, part, row, col);
  DM_TRY(dm_buffer_alloc(dm_min(most, part.rows) * line, &memory));
  for (int64_t at = 0; at < part.rows; at += most) {
    const int64_t count = dm_min(most, part.rows - at);
    const dm_view there = dm_view_sub(part, at, 0, count, part.cols);
    const dm_view here = dm_view_row_major(memory, part.dtype, count, part.cols);
    DM_TRY(dm_backend_copy_now(local->backend, here, there));
    DM_TRY(dm_freivalds_add_image(check, here, row + at, col));
  }
  return DM_OK;
}

/* Adds what this rank computed of SUMS, its ROWS of the tile, and the mirror image. */
static dm_status add_with_image(dm_freivalds *check, dm_rank_state *local, dm_view sums,
                                dm_range rows) {
  const dm_coords *at = &local->coords;
  const dm_extent of_rank = dm_triangle_part(local->plan, local->tile, at->i, at->j);
  const dm_view part = memory_result_cut(sums, rows, local->cols, of_rank);
  const int64_t row = dm_range_common(rows, of_rank.rows).begin, col = of_rank.cols.begin;
  if (dm_view_is_empty(part)) return DM_OK;
  DM_TRY(dm_freivalds_add_c(check, local->backend, part, row, col));
  return add_image(check, local, part, row, col);
}

static dm_status add_to_check(const dm_memory_result *r, dm_rank_state *local) {
  dm_range rows;
  if (!r->check || local->coords.idle) return DM_OK;
  (void)dm_rank_result(local, &rows);
  if (dm_triangle_has_image(local->plan, local->tile, local->coords.i, local->coords.j))
    return add_with_image(r->check, local, memory_result_sums_of((void *)r, local), rows);
  return dm_freivalds_add_c(r->check, local->backend, memory_result_sums_of((void *)r, local),
                            rows.begin, local->cols.begin);
}

dm_status dm_memory_result_check(const dm_memory_result *r, dm_rank_state *local) {
  if (!local->coords.idle) dm_rank_turn_to(local, 0);
  return add_to_check(r, local);
}

/* P's sums become elements of C. */
static dm_status finish_here(dm_memory_result *r, dm_rank_state *local, int64_t tile,
                             tile_part *p) {
  const dm_problem *problem = &local->plan->problem;
  const dm_view sums = p->view;
  dm_view old = {0};
  dm_status status = DM_OK;
  dm_range rows;
  if (!local->coords.idle)
    old = p->view = packed(local, dm_dtype_widest(problem->work), r->old_tile);
  if (r->old) {
    DM_TRY(memory_result_bring(r->run, local->plan, r->old, tile, p));
  } else if (!local->coords.idle && !dm_view_is_empty(old)) {
    (void)dm_rank_result(local, &rows);
    status = dm_reader_read(r->old_file, rows.begin, local->cols.begin, &old, 1, false);
  }
  if (!local->coords.idle) p->view = packed(local, problem->c, r->finished);
  if (!status && !dm_view_is_empty(sums))
    status = dm_apply_alpha_beta(p->view, sums, &old, r->alpha, r->beta);
  return dm_comm_agree(r->run->world, status);
}

/* Moves P, which is EXTENT of C, to the caller's memory: with TURNED, P's transpose. */
static dm_status give_extent(dm_memory_result *r, const dm_problem *problem, dm_extent extent,
                             bool turned, bool finished, tile_part *p) {
  memory_result_finishing f = {r, problem->reads_c, turned && problem->symmetry == DM_HERMITIAN};
  if (turned) extent = (dm_extent){extent.cols, extent.rows};
  return move_extent(r->run, r->matrix, extent, turned, true, part_end(p),
                     (dm_move){.dtype = finished ? problem->c : problem->accumulator,
                               .taker = {finished ? take_finished : memory_result_take_sums, &f},
                               .reads = !finished && problem->reads_c});
}

/* The same for EXTENT of the tile that covers TILE and is in P. */
static dm_status give_part(dm_memory_result *r, const dm_rank_state *local, const tile_part *p,
                           dm_extent tile, dm_extent extent, bool turned, bool finished) {
  tile_part sub = {.view = p->view};
  dm_range rows;
  const dm_extent within = {
      {extent.rows.begin - tile.rows.begin, extent.rows.end - tile.rows.begin},
      {extent.cols.begin - tile.cols.begin, extent.cols.end - tile.cols.begin}};
  if (dm_range_size(extent.rows) == 0 || dm_range_size(extent.cols) == 0) return DM_OK;
  dm_status status = dm_comm_agree(r->run->world, dm_distribution_part(&p->of, within, &sub.of));
  if (!local->coords.idle) {
    (void)dm_rank_result(local, &rows);
    sub.view = memory_result_cut(p->view, rows, local->cols, extent);
  }
  if (!status) status = give_extent(r, &local->plan->problem, extent, turned, finished, &sub);
  dm_distribution_free(&sub.of);
  return status;
}

/* A symmetric C: what each rank of the grid computed, and its mirror image. */
static dm_status give_mirrored(dm_memory_result *r, const dm_rank_state *local, int64_t tile,
                               bool finished, const tile_part *p) {
  const dm_plan *plan = local->plan;
  const dm_extent all = dm_tile_extent(plan, DM_C, tile);
  for (int i = 0; i < plan->pm; i++)
    for (int j = 0; j < plan->pn; j++) {
      const dm_extent of_rank = dm_triangle_part(plan, tile, i, j);
      DM_TRY(give_part(r, local, p, all, of_rank, false, finished));
      if (dm_triangle_has_image(plan, tile, i, j))
        DM_TRY(give_part(r, local, p, all, of_rank, true, finished));
    }
  return DM_OK;
}

/* Moves P to the caller's memory. */
static dm_status memory_result_give(dm_memory_result *r, dm_rank_state *local, int64_t tile,
                                    bool finished, tile_part *p) {
  const dm_problem *problem = &local->plan->problem;
  if (dm_triangle_has_images(local->plan)) return give_mirrored(r, local, tile, finished, p);
  return give_extent(r, problem, dm_tile_extent(local->plan, DM_C, tile), false, finished, p);
}

static dm_status deliver_part(dm_memory_result *r, dm_rank_state *local, int64_t tile,
                              tile_part *p) {
  const bool finishes = finishes_here(r, &local->plan->problem);
  if (!local->coords.idle) p->view = memory_result_sums_of(r, local);
  if (dm_plan_tiles(local->plan) > 1) DM_TRY(dm_comm_agree(r->run->world, add_to_check(r, local)));
  if (finishes) DM_TRY(finish_here(r, local, tile, p));
  return memory_result_give(r, local, tile, finishes, p);
}

/* ---- a C that this rank's GPU has ---- */

static dm_view part_of_c(const dm_distributed *matrix, dm_extent part) {
  return dm_view_sub(matrix->local, part.rows.begin, part.cols.begin, dm_range_size(part.rows),
                     dm_range_size(part.cols));
}

/* The mirror image of PART of C becomes that. */
static dm_status post_image(const dm_memory_result *r, const dm_rank_state *local, dm_extent part,
                            dm_event *done) {
  dm_view from = part_of_c(r->matrix, part);
  dm_view to = part_of_c(r->matrix, (dm_extent){part.cols, part.rows});
  if (from.col_stride != 1) {
    from = dm_view_transpose(from);
    to = dm_view_transpose(to);
  }
  return dm_backend_transpose(local->backend, to, from,
                              local->plan->problem.symmetry == DM_HERMITIAN, done);
}

/* The rank's sums of TILE become elements of C, by one pass over them. */
static dm_status finish_on_gpu(const dm_memory_result *r, dm_rank_state *local, int64_t tile) {
  const dm_problem *p = &local->plan->problem;
  dm_range rows;
  dm_event done;
  dm_rank_turn_to(local, tile);
  if (dm_plan_tiles(local->plan) > 1) DM_TRY(add_to_check(r, local));
  const dm_extent part = dm_triangle_part(local->plan, tile, local->coords.i, local->coords.j);
  const dm_view sums = dm_rank_result(local, &rows);
  const dm_view c = part_of_c(r->matrix, part);
  const dm_view old = p->reads_c ? part_of_c(r->replaces ? r->matrix : r->old, part) : c;
  DM_TRY(dm_backend_epilogue(local->backend, c, memory_result_cut(sums, rows, local->cols, part),
                             p->reads_c ? &old : NULL, r->alpha, r->beta, &done));
  DM_TRY(dm_backend_wait(local->backend, done));
  if (!dm_triangle_has_image(local->plan, tile, local->coords.i, local->coords.j)) return DM_OK;
  DM_TRY(post_image(r, local, part, &done));
  return dm_backend_wait(local->backend, done);
}

dm_status dm_memory_result_deliver(dm_memory_result *r, dm_rank_state *local, int64_t tile) {
  tile_part p;
  if (r->on_gpu) return finish_on_gpu(r, local, tile);
  dm_status status = part_open(r->run, local, tile, &p);
  if (!status) status = deliver_part(r, local, tile, &p);
  dm_distribution_free(&p.of);
  return status;
}

/* ---- the old C of a C in a file ---- */

/* Bytes of this rank's part of the largest tile. */
static int64_t tile_bytes(const dm_rank_state *local) {
  const dm_plan *plan = local->plan;
  const dm_coords *at = &local->coords;
  const dm_range rows =
      plan->pk > 1 ? dm_plan_c_share(plan, 0, at->i, at->l) : dm_plan_rows(plan, 0, at->i);
  const int64_t elements = dm_range_size(rows) * dm_range_size(dm_plan_cols(plan, 0, at->j));
  return dm_round_up(elements * old_bytes(&plan->problem), DM_TILE_STEP);
}

dm_view dm_old_of_tile(const dm_rank_state *local, char *memory) {
  return packed(local, dm_dtype_widest(local->plan->problem.work),
                memory + local->tile * tile_bytes(local));
}

dm_status dm_old_bring(const dm_run *run, dm_distributed *old, dm_rank_state *local,
                       char **memory) {
  const dm_plan *plan = local->plan;
  void *taken = NULL;
  dm_status status = DM_OK;
  if (!local->coords.idle) status = dm_rank_memory_take(&local->memory, DM_BUFFER_HOME_OLD, &taken);
  DM_TRY(dm_comm_agree(run->world, status));
  *memory = taken;
  for (int64_t i = 0; i < dm_plan_todo(plan); i++) {
    const int64_t tile = dm_plan_todo_tile(plan, i);
    tile_part p;
    status = part_open(run, local, tile, &p);
    if (!local->coords.idle) p.view = dm_old_of_tile(local, taken);
    if (!status) status = memory_result_bring(run, plan, old, tile, &p);
    dm_distribution_free(&p.of);
    DM_TRY(status);
  }
  return DM_OK;
}

/* ---- pieces of A and B ---- */

/* Whether pieces are copied from the caller's GPU memory. */
static bool memory_result_is_direct(const dm_memory_operands *o, const dm_rank_state *local,
                                    dm_matrix matrix) {
  return o->on_gpu[matrix] && dm_plan_residence(local->plan, matrix) == DM_IN_DEVICE;
}

/* For dm_memory_source. */
static dm_view memory_result_piece_of(void *context, const dm_rank_state *local, dm_matrix matrix,
                                      int64_t panel) {
  const dm_memory_operands *o = context;
  if (!memory_result_is_direct(o, local, matrix)) return dm_memory_piece(local, matrix, panel);
  const dm_range rows = dm_rank_piece_rows(local, matrix, panel);
  const dm_range cols = dm_rank_piece_cols(local, matrix, panel);
  return dm_view_sub(o->matrix[matrix]->local, rows.begin, cols.begin, dm_range_size(rows),
                     dm_range_size(cols));
}

void dm_memory_operands_open(const dm_run *run, const dm_distributed *const matrix[2],
                             const bool conjugate[2], const bool on_gpu[2],
                             dm_memory_operands *operands) {
  *operands = (dm_memory_operands){.run = run,
                                   .matrix = {matrix[DM_A], matrix[DM_B]},
                                   .conjugate = {conjugate[DM_A], conjugate[DM_B]},
                                   .on_gpu = {on_gpu[DM_A], on_gpu[DM_B]}};
  operands->source = (dm_memory_source){.piece = memory_result_piece_of,
                                        .context = operands,
                                        .conjugate = {conjugate[DM_A], conjugate[DM_B]}};
}

/* ---- moves of A and B ---- */

static dm_status take_conjugate(void *context, dm_view into, dm_view arrived) {
  (void)context;
  dm_copy(into, arrived, true);
  return DM_OK;
}

/* This rank's places of a tile. */
typedef struct memory_result_places {
  const dm_rank_state *local;
  dm_matrix matrix;
  dm_distribution of;
} memory_result_places;

static dm_view place_at(void *context, int64_t row, int64_t col) {
  const memory_result_places *p = context;
  const dm_axis_run *k = p->matrix == DM_A ? &p->of.cols.runs[col] : &p->of.rows.runs[row];
  return dm_memory_piece(p->local, p->matrix, k->local);
}

static dm_status bring_tile(const dm_memory_operands *o, dm_rank_state *local, dm_matrix matrix,
                            int64_t tile) {
  const dm_plan *plan = local->plan;
  memory_result_places p = {.local = local, .matrix = matrix};
  if (!dm_plan_is_first(plan, matrix, tile)) return DM_OK;
  if (!local->coords.idle) dm_rank_turn_to(local, tile);
  dm_status status =
      dm_comm_agree(o->run->world, dm_distribution_of_tile(plan, matrix, tile, &p.of));
  const dm_end to = {.of = &p.of, .at = place_at, .context = &p};
  const dm_distributed *from = o->matrix[matrix];
  if (!status)
    status = move_extent(o->run, from, dm_tile_extent(plan, matrix, tile), false, false, to,
                         (dm_move){.dtype = from->local.dtype,
                                   .taker = {o->conjugate[matrix] ? take_conjugate : NULL, NULL}});
  dm_distribution_free(&p.of);
  return status;
}

dm_status dm_memory_operands_bring(dm_memory_operands *o, dm_rank_state *local) {
  const dm_plan *plan = local->plan;
  for (int x = 0; x < 2; x++) {
    const dm_matrix matrix = (dm_matrix)x;
    if (!o->matrix[matrix] || memory_result_is_direct(o, local, matrix)) continue;
    DM_TRY(dm_comm_agree(o->run->world, dm_memory_pieces_take(local, matrix)));
    for (int64_t i = 0; i < dm_plan_todo(plan); i++)
      DM_TRY(bring_tile(o, local, matrix, dm_plan_todo_tile(plan, i)));
  }
  return DM_OK;
}
