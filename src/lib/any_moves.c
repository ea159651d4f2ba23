#include "core/checked.h"
#include "core/copy.h"
#include "engine/finish.h"
#include "lib/any_product.h"
#include "plan/partition.h"
#include "plan/tiles.h"

/* One end of a move: this rank's part of a tile. */
typedef struct local_end {
  dm_any_product *product;
  int matrix;            /* DM_A, DM_B, DM_RESULT */
  dm_view view;          /* for DM_RESULT */
  dm_distribution where; /* in the plan */
} local_end;

static dm_view at(void *context, int64_t row, int64_t col) {
  const local_end *h = context;
  if (h->matrix == DM_RESULT) return h->view;
  const dm_axis_run *k = h->matrix == DM_A ? &h->where.cols.runs[col] : &h->where.rows.runs[row];
  return dm_any_piece(h->product, &h->product->product.local, (dm_matrix)h->matrix, k->local);
}

static dm_status end_open(dm_any_product *p, int matrix, int64_t tile, local_end *h) {
  *h = (local_end){.product = p, .matrix = matrix};
  if (!p->product.local.coords.idle) dm_rank_turn_to(&p->product.local, tile);
  return dm_comm_agree(p->run->world,
                       dm_distribution_of_tile(&p->setup.plan, matrix, tile, &h->where));
}

static dm_end end_of(local_end *h) {
  return (dm_end){.of = &h->where, .at = at, .context = h};
}

dm_status dm_any_bring(dm_any_product *p, dm_matrix matrix, int64_t tile) {
  local_end h;
  if (dm_any_is_direct(p, matrix) || !dm_plan_is_first(&p->setup.plan, matrix, tile)) return DM_OK;
  dm_status status = end_open(p, matrix, tile, &h);
  const dm_end to = end_of(&h);
  if (!status)
    status = dm_given_bring(&p->given[matrix], p->run, dm_tile_extent(&p->setup.plan, matrix, tile),
                            &to);
  dm_distribution_free(&h.where);
  return status;
}

/* ---- C ---- */

static dm_status take_plain(void *context, dm_view into, dm_view arrived) {
  (void)context;
  dm_copy(into, arrived, false);
  return DM_OK;
}

static dm_status take_sums(void *context, dm_view into, dm_view sums) {
  const dm_any_product *p = context;
  return dm_finish(into, sums, p->problem.reads_c ? &into : NULL, p->job.equation.alpha,
                   p->job.equation.beta);
}

/* Moves H's view to the caller's memory. */
static dm_status give_back(dm_any_product *p, local_end *h, dm_extent extent, bool is_finished) {
  const dm_end from = end_of(h);
  dm_distributed part;
  dm_status status =
      dm_comm_agree(p->run->world, dm_distributed_part(&p->result.memory, extent, &part));
  if (!status) {
    const dm_end to = dm_distributed_end(&part);
    const dm_move move = {.dtype = is_finished ? p->problem.c : p->problem.accumulator,
                          .from = &from,
                          .to = &to,
                          .taker = {is_finished ? take_plain : take_sums, p},
                          .looks = !is_finished && p->problem.reads_c};
    status = dm_redistribute(p->run->world, &move);
  }
  dm_distributed_close(&part);
  return status;
}

static dm_view like(dm_view sums, dm_dtype type, char *memory) {
  return dm_view_row_major(memory, type, sums.rows, sums.cols);
}

/* Finishes H's view: its sums become elements of C. */
static dm_status finish_here(dm_any_product *p, local_end *h, dm_extent extent) {
  const dm_equation *e = &p->job.equation;
  const dm_view sums = h->view;
  dm_view old = {0};
  if (p->problem.reads_c) {
    const dm_end to = end_of(h);
    old = h->view = like(sums, dm_dtype_widest(p->problem.work), p->old);
    DM_TRY(dm_given_bring(&p->given[DM_OLD], p->run, extent, &to));
  }
  h->view = p->finished ? like(sums, p->problem.c, p->finished) : sums;
  return dm_comm_agree(
      p->run->world,
      p->finished && !dm_view_is_empty(sums)
          ? dm_finish(h->view, sums, p->problem.reads_c ? &old : NULL, e->alpha, e->beta)
          : DM_OK);
}

static dm_status deliver(dm_any_product *p, local_end *h, dm_extent extent) {
  const dm_rank_state *local = &p->product.local;
  const bool finishes = dm_any_finishes_here(p);
  dm_range rows;
  h->view = dm_any_sums(p, local);
  if (finishes) DM_TRY(finish_here(p, h, extent));
  if (!p->result.in_file) return give_back(p, h, extent, finishes);
  (void)dm_rank_result(local, &rows);
  return dm_comm_agree(p->run->world, local->coords.idle
                                          ? DM_OK
                                          : dm_result_write(&p->result, p->run, rows.begin,
                                                            local->cols.begin, h->view));
}

dm_status dm_any_deliver(dm_any_product *p, int64_t tile) {
  local_end h;
  dm_status status = end_open(p, DM_RESULT, tile, &h);
  if (!status) status = deliver(p, &h, dm_tile_extent(&p->setup.plan, DM_RESULT, tile));
  dm_distribution_free(&h.where);
  return status;
}
