#include "product/memory_operands.h"

#include "core/copy.h"
#include "plan/partition.h"
#include "plan/tiles.h"

/* ---- pieces ---- */

/* Whether pieces are copied from the caller's GPU memory: this rank has the whole matrix there, in
 * rows of the type that is multiplied. */
static bool is_direct(const dm_memory_operands *o, const dm_rank_state *local, dm_matrix matrix) {
  const dm_distributed *m = o->matrix[matrix];
  return o->run->ranks == 1 && m->backend && m->local.col_stride == 1 &&
         m->local.dtype == local->plan->problem.work && !o->conjugate[matrix] &&
         dm_plan_brings(local->plan, matrix);
}

/* For dm_memory_source. */
static dm_view piece_of(void *context, const dm_rank_state *local, dm_matrix matrix,
                        int64_t panel) {
  const dm_memory_operands *o = context;
  if (!is_direct(o, local, matrix)) return dm_memory_piece(local, matrix, panel);
  const dm_range rows = dm_rank_piece_rows(local, matrix, panel);
  const dm_range cols = dm_rank_piece_cols(local, matrix, panel);
  return dm_view_sub(o->matrix[matrix]->local, rows.begin, cols.begin, dm_range_size(rows),
                     dm_range_size(cols));
}

void dm_memory_operands_open(const dm_run *run, const dm_distributed *const matrix[2],
                             const bool conjugate[2], dm_memory_operands *operands) {
  *operands = (dm_memory_operands){.run = run,
                                   .matrix = {matrix[DM_A], matrix[DM_B]},
                                   .conjugate = {conjugate[DM_A], conjugate[DM_B]}};
  operands->source = (dm_memory_source){.piece = piece_of, .context = operands};
}

/* ---- moves ---- */

static dm_status take_plain(void *context, dm_view into, dm_view arrived) {
  (void)context;
  dm_copy(into, arrived, false);
  return DM_OK;
}

static dm_status take_conjugate(void *context, dm_view into, dm_view arrived) {
  (void)context;
  dm_copy(into, arrived, true);
  return DM_OK;
}

/* This rank's places of a tile. */
typedef struct places {
  const dm_rank_state *local;
  dm_matrix matrix;
  dm_distribution of;
} places;

static dm_view place_at(void *context, int64_t row, int64_t col) {
  const places *p = context;
  const dm_axis_run *k = p->matrix == DM_A ? &p->of.cols.runs[col] : &p->of.rows.runs[row];
  return dm_memory_piece(p->local, p->matrix, k->local);
}

static dm_status move(const dm_memory_operands *o, const places *p, dm_extent extent) {
  dm_distributed part;
  dm_status status =
      dm_comm_agree(o->run->world, dm_distributed_part(o->matrix[p->matrix], extent, &part));
  if (!status) {
    const dm_end from = dm_distributed_end(&part);
    const dm_end to = {.of = &p->of, .at = place_at, .context = (void *)p};
    const dm_move move = {.dtype = part.local.dtype,
                          .from = &from,
                          .to = &to,
                          .taker = {o->conjugate[p->matrix] ? take_conjugate : take_plain, NULL}};
    status = dm_redistribute(o->run->world, &move);
  }
  dm_distributed_close(&part);
  return status;
}

static dm_status bring_tile(const dm_memory_operands *o, dm_rank_state *local, dm_matrix matrix,
                            int64_t tile) {
  const dm_plan *plan = local->plan;
  places p = {.local = local, .matrix = matrix};
  if (!dm_plan_is_first(plan, matrix, tile)) return DM_OK;
  if (!local->coords.idle) dm_rank_turn_to(local, tile);
  dm_status status =
      dm_comm_agree(o->run->world, dm_distribution_of_tile(plan, matrix, tile, &p.of));
  if (!status) status = move(o, &p, dm_tile_extent(plan, matrix, tile));
  dm_distribution_free(&p.of);
  return status;
}

dm_status dm_memory_operands_bring(dm_memory_operands *o, dm_rank_state *local) {
  const dm_plan *plan = local->plan;
  for (int x = 0; x < 2; x++) {
    const dm_matrix matrix = (dm_matrix)x;
    if (!o->matrix[matrix] || is_direct(o, local, matrix)) continue;
    DM_TRY(dm_comm_agree(o->run->world, dm_memory_pieces_take(local, matrix)));
    for (int64_t i = 0; i < dm_plan_todo(plan); i++)
      DM_TRY(bring_tile(o, local, matrix, dm_plan_todo_tile(plan, i)));
  }
  return DM_OK;
}
