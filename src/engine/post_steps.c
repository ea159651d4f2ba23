#include "engine/post_steps.h"

#include "core/checked.h"
#include "plan/triangle.h"

/* The places of each peer's piece in the slot and in the peer's share, which have the same row
 * stride. */
static void pieces_of(const dm_rank_state *local, dm_matrix matrix, const dm_step *step,
                      dm_view slot) {
  const dm_plan *plan = local->plan;
  const dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  int64_t row_bytes = slot.row_stride * dm_dtype_size(slot.dtype);
  int64_t origin = matrix == DM_A ? local->rows.begin : dm_plan_panel(plan, step->panel).begin;
  for (int peer = 0; peer < dm_comm_size(factor->peers); peer++) {
    dm_range rows = matrix == DM_A ? dm_plan_a_share(plan, local->tile, local->coords.i, peer)
                                   : dm_plan_b_share(plan, step->panel, peer);
    factor->offset[peer] = (rows.begin - origin) * row_bytes;
    factor->bytes[peer] = dm_range_size(rows) * row_bytes;
    factor->source[peer] = dm_rank_source(local, matrix, step->panel, step->slot, peer);
  }
}

dm_status dm_post_fetch(dm_rank_state *local, const dm_step *step, uint64_t filling, int *ticket) {
  const dm_plan *plan = local->plan;
  dm_matrix matrix = dm_step_matrix(step->kind);
  const dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  const dm_route *route = &factor->route;
  dm_view slot = dm_rank_slot(local, matrix, route->gathered, step->panel, step->slot);
  const dm_view own = route->given == route->piece
                          ? dm_rank_piece(local, matrix, step->panel)
                          : dm_rank_uploaded(local, matrix, step->panel, step->slot);
  pieces_of(local, matrix, step, slot);
  dm_gather gather = {.group = factor->peers,
                      .own = own.base,
                      .slot = slot.base,
                      .offset = factor->offset,
                      .bytes = factor->bytes,
                      .source = factor->source,
                      .share = (int)matrix,
                      .filling = filling,
                      .tag = (int)((step->tile * plan->panels + step->panel) % 32768)};
  return dm_transport_post(local->transport, &gather, ticket);
}

dm_status dm_post_upload(dm_rank_state *local, const dm_step *step, dm_event *event) {
  dm_matrix matrix = dm_step_matrix(step->kind);
  const dm_route *route = matrix == DM_A ? &local->a.route : &local->b.route;
  dm_view src = route->gathered == DM_HOST_RING
                    ? dm_rank_slot(local, matrix, DM_HOST_RING, step->panel, step->slot)
                    : dm_rank_piece(local, matrix, step->panel);
  dm_view dst = dm_rank_uploaded(local, matrix, step->panel, step->slot);
  local->phases.uploaded += src.rows * src.cols * dm_dtype_size(src.dtype);
  return dm_backend_copy(local->backend, dst, src, event);
}

/* Exponents for SUMS, rows from ROW of op(A) and all columns of the block; layers' sums may be in
 * host memory even if products are not. */
static dm_exponents exponents_of(const dm_rank_state *local, dm_view sums, int64_t row) {
  const dm_scaling *scaling = &local->scaling;
  if (!scaling->rows) return (dm_exponents){0};
  const dm_exponents all =
      sums.space == DM_HOST ? (dm_exponents){scaling->rows, scaling->cols} : scaling->given;
  const int64_t parts = dm_compute_parts(&local->plan->problem.compute, local->c.dtype);
  return (dm_exponents){all.rows + row, all.cols + parts * local->cols.begin};
}

/* The first COLS columns, of which all are accumulated alike. */
static dm_view first_cols(dm_view view, int64_t cols) {
  return dm_view_sub(view, 0, 0, view.rows, cols);
}

/* Computes sums of products for the first COLS columns of C, rows of the block from FIRST, with all
 * accumulators of their elements or the first ones. */
static dm_status multiply_stripe(dm_rank_state *local, dm_view c, int64_t cols, int64_t first,
                                 dm_view a, dm_view b, bool accumulate, dm_event *event) {
  const dm_compute *row = &local->plan->problem.compute;
  b = first_cols(b, cols);
  if (row->finish == DM_NO_FINISH)
    return dm_backend_gemm(local->backend, first_cols(c, cols), a, b, accumulate, event);
  const dm_view sums = dm_compute_first(row, c);
  const int64_t parts = dm_compute_parts(row, c.dtype);
  return dm_backend_product(local->backend, first_cols(sums, parts * cols),
                            dm_compute_plane(row, sums.cols), a, b, accumulate,
                            exponents_of(local, c, local->rows.begin + first), event);
}

/* The stripe of the block that starts at row FIRST of it, of rows up to END. */
static dm_stripe stripe_of(const dm_rank_state *local, int64_t first, int64_t end) {
  const dm_range rows = {local->rows.begin + first, local->rows.begin + end};
  return dm_triangle_stripe(&local->plan->problem, rows, local->cols,
                            dm_triangle_step(dm_range_size(local->cols)));
}

/* The same for all elements of C that are needed. */
static dm_status multiply(dm_rank_state *local, dm_view c, int64_t first, dm_view a, dm_view b,
                          bool accumulate, dm_event *event) {
  for (int64_t at = 0, rows; at < c.rows; at += rows) {
    const dm_stripe stripe = stripe_of(local, first + at, first + c.rows);
    rows = dm_range_size(stripe.rows);
    if (stripe.cols == 0) continue;
    DM_TRY(multiply_stripe(local, dm_view_sub(c, at, 0, rows, c.cols), stripe.cols, first + at,
                           dm_view_sub(a, at, 0, rows, a.cols), b, accumulate, event));
  }
  return DM_OK;
}

static dm_status multiply_panel(dm_rank_state *local, dm_view c, int64_t first, int64_t panel,
                                int slot, dm_event *event) {
  const int64_t depth = dm_range_size(dm_plan_panel(local->plan, panel));
  *event = 0;
  for (int64_t row = 0; row < c.rows;) {
    dm_view a = dm_rank_operand_from(local, DM_A, panel, slot, first + row);
    const int64_t rows = dm_min(a.rows, c.rows - row);
    for (int64_t k = 0; k < depth;) {
      const dm_view b = dm_rank_operand_from(local, DM_B, panel, slot, k);
      const bool accumulate =
          panel > local->panels.begin || k > 0; /* not in the first product of a tile */
      DM_TRY(multiply(local, dm_view_sub(c, row, 0, rows, c.cols), first + row,
                      dm_view_sub(a, 0, k, rows, b.rows), b, accumulate, event));
      k += b.rows;
    }
    row += rows;
  }
  return DM_OK;
}

dm_status dm_post_gemm(dm_rank_state *local, const dm_step *step, dm_event *event) {
  return multiply_panel(local, local->c, 0, step->panel, step->slot, event);
}

dm_status dm_post_strip(dm_rank_state *local, const dm_step *step, dm_event *event) {
  const dm_strip strip = dm_plan_strip(local->plan, local->coords.i, step->strip);
  const dm_range panels = local->panels;
  const int64_t rows = dm_range_size(strip.rows);
  const dm_view c = dm_view_sub(local->c, strip.from, 0, rows, local->c.cols);
  *event = 0;
  for (int64_t p = panels.end - local->plan->stretch; p < panels.end; p++)
    DM_TRY(multiply_panel(local, c, strip.from, p, step->slot, event));
  return DM_OK;
}

/* The rows for which STEP computes sums: only a layer's own if their accumulators were added
 * before. The first one is row *FIRST of op(A). */
static dm_view unfinished(const dm_rank_state *local, const dm_step *step, int64_t *first) {
  const dm_plan *plan = local->plan;
  const dm_coords *at = &local->coords;
  const bool added = plan->pk > 1 && plan->problem.compute.finish == DM_FINISH_LAST;
  const dm_view all = added ? local->c_sum : local->c;
  *first = added ? dm_plan_c_share(plan, local->tile, at->i, at->l).begin : local->rows.begin;
  if (step->strip < 0) return all;
  const dm_strip strip = dm_plan_strip(plan, at->i, step->strip);
  const int64_t from = added ? strip.rows.begin : strip.from;
  *first += from;
  return dm_view_sub(all, from, 0, dm_range_size(strip.rows), all.cols);
}

dm_status dm_post_finish(dm_rank_state *local, const dm_step *step, dm_event *event) {
  const dm_compute *row = &local->plan->problem.compute;
  int64_t first;
  const dm_view sums = unfinished(local, step, &first);
  *event = 0;
  if (dm_range_size(local->panels) == 0 && row->finish == DM_FINISH_FIRST) return DM_OK;
  const dm_range all = {first, first + sums.rows};
  const int64_t parts = dm_compute_parts(row, sums.dtype);
  const int64_t plane = dm_compute_plane(row, dm_compute_first(row, sums).cols);
  for (dm_stripe s = {.rows.end = first}; s.rows.end < all.end;) {
    s = dm_triangle_stripe(&local->plan->problem, (dm_range){s.rows.end, all.end}, local->cols,
                           dm_triangle_step(dm_range_size(local->cols)));
    if (s.cols == 0) continue;
    const dm_view part =
        dm_view_sub(sums, s.rows.begin - first, 0, dm_range_size(s.rows), sums.cols);
    DM_TRY(dm_backend_finish(local->backend, first_cols(part, s.cols),
                             first_cols(dm_compute_first(row, part), parts * s.cols), plane,
                             exponents_of(local, part, s.rows.begin), event));
  }
  return DM_OK;
}

/* ---- telling peers what is there ---- */

static bool is_upload(const dm_step *step) {
  return step->kind == DM_STEP_UPLOAD_A || step->kind == DM_STEP_UPLOAD_B;
}

static dm_factor *factor_of(const dm_published *s, dm_matrix matrix) {
  return matrix == DM_A ? &s->local->a : &s->local->b;
}

/* Whether peers read pieces from the slots that they are uploaded to. */
static bool gives_slots(const dm_published *s, dm_matrix matrix) {
  const dm_route *route = &factor_of(s, matrix)->route;
  return route->given != route->piece;
}

static bool in_slots(const dm_published *s, const dm_step *step) {
  return gives_slots(s, dm_step_matrix(step->kind));
}

static int64_t turn_of(const dm_published *s, const dm_step *step) {
  return dm_step_turn(s->local->plan, step, s->local->panels);
}

void dm_publish_open(dm_rank_state *local, bool brings, dm_published *published) {
  *published = (dm_published){.local = local};
  published->in_parts = brings && dm_plan_tiles(local->plan) == 1 && !dm_plan_streams(local->plan);
}

void dm_publish_close(dm_published *s) {
  for (int x = 0; x < 2; x++) {
    const bool slots = gives_slots(s, (dm_matrix)x);
    const int64_t shown = slots ? s->shown[x] : s->in_parts ? s->loaded[x] : 0;
    factor_of(s, (dm_matrix)x)->fillings += (uint64_t)shown;
  }
}

uint64_t dm_publish_filling(const dm_published *s, const dm_step *step) {
  if (!s->in_parts && !in_slots(s, step)) return 1;
  return factor_of(s, dm_step_matrix(step->kind))->fillings + (uint64_t)turn_of(s, step) + 1;
}

/* Pieces of this run or, in its first turns, all pieces of the previous run. */
bool dm_publish_may_begin(const dm_published *s, const dm_step *step) {
  if (!is_upload(step) || !in_slots(s, step)) return true;
  const dm_matrix matrix = dm_step_matrix(step->kind);
  const uint64_t before = factor_of(s, matrix)->fillings, slots = (uint64_t)s->local->plan->slots;
  const uint64_t next = dm_publish_filling(s, step);
  const uint64_t times = next > before + slots ? next - slots : before;
  return times <= 1 || dm_transport_drained(s->local->transport, (int)matrix, times);
}

bool dm_publish_is_next(const dm_published *s, const dm_step *step) {
  const dm_matrix matrix = dm_step_matrix(step->kind);
  if (is_upload(step)) return !in_slots(s, step) || turn_of(s, step) <= s->shown[matrix];
  return !s->in_parts || turn_of(s, step) <= s->loaded[matrix];
}

/* If nothing is multiplied meanwhile, a share is published when complete. */
void dm_publish_loaded(dm_published *s, const dm_step *step) {
  const dm_matrix matrix = dm_step_matrix(step->kind);
  const int64_t loaded = ++s->loaded[matrix];
  if (in_slots(s, step)) return;
  if (s->in_parts)
    dm_transport_refilled(s->local->transport, (int)matrix,
                          factor_of(s, matrix)->fillings + (uint64_t)loaded);
  else if (step->panel == s->local->panels.end - 1)
    dm_transport_filled(s->local->transport, (int)matrix);
}

void dm_publish_uploaded(dm_published *s, const dm_step *step) {
  const dm_matrix matrix = dm_step_matrix(step->kind);
  if (!in_slots(s, step)) return;
  s->shown[matrix]++;
  dm_transport_refilled(s->local->transport, (int)matrix, dm_publish_filling(s, step));
}
