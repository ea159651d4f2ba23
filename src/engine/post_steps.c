#include "engine/post_steps.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "plan/partition.h"

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
  const dm_view own = route->exposed == route->piece
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

/* Exponents for SUMS, rows from ROW of op(A) and columns from COL of op(B); layers' sums may be in
 * host memory even if products are not. */
static dm_exponents exponents_of(const dm_rank_state *local, dm_view sums, int64_t row,
                                 int64_t col) {
  const dm_scaling *scaling = &local->scaling;
  if (!scaling->rows) return (dm_exponents){0};
  const dm_exponents all =
      sums.space == DM_HOST ? (dm_exponents){scaling->rows, scaling->cols} : scaling->passed;
  const int64_t parts = dm_compute_parts(&local->plan->problem.compute, local->c.dtype);
  return (dm_exponents){all.rows + row, all.cols + parts * col};
}

static dm_view some_cols(dm_view view, int64_t col, int64_t cols) {
  return dm_view_sub(view, 0, col, view.rows, cols);
}

/* Products for C, rows of the block from FIRST. */
typedef struct post_steps_products {
  dm_rank_state *local;
  dm_view c, a, b;
  int64_t first;
  bool accumulate;
  dm_event *event;
} post_steps_products;

/* Computes sums of products for PART of C, with all accumulators of its elements or the first
 * ones. */
static dm_status post_steps_multiply_part(void *context, dm_extent part) {
  const post_steps_products *p = context;
  dm_rank_state *local = p->local;
  const dm_compute *row = &local->plan->problem.compute;
  const int64_t at = part.rows.begin - local->rows.begin - p->first;
  const int64_t rows = dm_range_size(part.rows), cols = dm_range_size(part.cols);
  const int64_t col = part.cols.begin - local->cols.begin;
  const dm_view a = dm_view_sub(p->a, at, 0, rows, p->a.cols), b = some_cols(p->b, col, cols);
  const dm_view c = dm_view_sub(p->c, at, 0, rows, p->c.cols);
  const bool square =
      dm_triangle_shares(local->plan, DM_A) || dm_triangle_shares(local->plan, DM_B);
  if (square && part.rows.begin == part.cols.begin && rows == cols)
    return dm_backend_syrk(local->backend, some_cols(c, col, cols), a, p->accumulate, p->event);
  if (row->finish == DM_NO_FINISH)
    return dm_backend_gemm(local->backend, some_cols(c, col, cols), a, b, p->accumulate, p->event);
  const dm_view sums = dm_compute_first(row, c);
  const int64_t parts = dm_compute_parts(row, c.dtype);
  return dm_backend_gemm_parts(local->backend, some_cols(sums, parts * col, parts * cols),
                               dm_compute_plane(row, sums.cols), a, b, p->accumulate,
                               exponents_of(local, c, part.rows.begin, part.cols.begin), p->event);
}

static bool is_square(const dm_rank_state *local) {
  const dm_coords *at = &local->coords;
  return dm_triangle_is_square(local->plan, local->tile, at->i, at->j);
}

/* Whether the products are a whole square on C's diagonal, of which the backend multiplies half. */
static bool is_halved(const post_steps_products *p) {
  const dm_plan *plan = p->local->plan;
  const bool same = dm_triangle_shares(plan, DM_A) || dm_triangle_shares(plan, DM_B);
  return same && is_square(p->local) && p->first == 0 && p->c.rows == p->local->c.rows &&
         p->c.rows == p->c.cols && plan->problem.compute.finish == DM_NO_FINISH &&
         dm_backend_halves(p->local->backend, p->a.dtype, p->c.rows);
}

/* The same for all elements of C that are needed. */
static dm_status post_steps_multiply(const post_steps_products *p) {
  const dm_rank_state *local = p->local;
  const int64_t row = local->rows.begin + p->first;
  if (is_halved(p)) return dm_backend_syrk(local->backend, p->c, p->a, p->accumulate, p->event);
  return dm_triangle_each(local->plan, local->tile, local->coords.i, local->coords.j,
                          (dm_range){row, row + p->c.rows}, post_steps_multiply_part, (void *)p);
}

/* The same with the verification; the grid has one rank. */
static dm_status multiply_run_verified(dm_rank_state *local, const dm_whole_product *run) {
  dm_run_products *all = local->runs;
  dm_problem problem = local->plan->problem;
  dm_verdict found;
  problem.batch = run->entries;
  problem.m = run->c.rows;
  DM_TRY(dm_freivalds_multiply_entries(&problem, all->seed, all->draw, local->layers,
                                       local->backend, run, NULL, &found));
  all->seed = (dm_check_seed){.stated = true, .value = found.seed};
  all->draw = 0;
  if (all->count++ == 0) {
    all->verdict = found;
    if (found.worst_row >= 0) all->verdict.worst_row += local->rows.begin;
  } else {
    dm_verdict_join(&all->verdict, &found, local->rows.begin);
  }
  return DM_OK;
}

/* The entries of a run, one by one. */
static dm_status multiply_run(dm_rank_state *local, int64_t panel, int slot, dm_event *event) {
  const dm_run_products *all = local->runs;
  const dm_whole_product run = {.c = local->c,
                                .a = dm_rank_operand_from(local, DM_A, panel, slot, 0),
                                .b = dm_rank_operand_from(local, DM_B, panel, slot, 0),
                                .entries = dm_plan_run_entries(local->plan, local->tile),
                                .alpha = {all->alpha[0], all->alpha[1]}};
  *event = 0;
  return all->verify ? multiply_run_verified(local, &run)
                     : dm_backend_multiply(local->backend, &run, NULL, event);
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
      DM_TRY(post_steps_multiply(&(post_steps_products){.local = local,
                                                        .c = dm_view_sub(c, row, 0, rows, c.cols),
                                                        .a = dm_view_sub(a, 0, k, rows, b.rows),
                                                        .b = b,
                                                        .first = first + row,
                                                        .accumulate = accumulate,
                                                        .event = event}));
      k += b.rows;
    }
    row += rows;
  }
  return DM_OK;
}

/* ---- the other half of a square on the diagonal ---- */

static dm_status post_steps_mirror(const dm_rank_state *local, dm_view square, dm_range rows,
                                   dm_event *event) {
  const bool conjugate = local->plan->problem.symmetry == DM_HERMITIAN;
  return dm_backend_mirror(local->backend, dm_view_sub(square, 0, 0, rows.end, rows.end),
                           rows.begin, conjugate, event);
}

/* ROWS of the block, whose products are posted, are mirrored: the sums or, if the layers add
 * accumulators, each of them. Sums that accumulators become are mirrored then. */
static dm_status mirror_products(const dm_rank_state *local, dm_range rows, dm_event *event) {
  const dm_compute *row = &local->plan->problem.compute;
  if (!is_square(local)) return DM_OK;
  if (row->finish == DM_NO_FINISH) return post_steps_mirror(local, local->c, rows, event);
  if (!dm_triangle_mirrors_accumulators(local->plan)) return DM_OK;
  dm_view sums = dm_compute_first(row, local->c);
  const int64_t plane = dm_compute_plane(row, sums.cols) * dm_dtype_size(sums.dtype);
  for (int x = 0; x < row->accumulators; x++) {
    DM_TRY(post_steps_mirror(local, sums, rows, event));
    sums.base = (char *)sums.base + plane;
  }
  return DM_OK;
}

dm_status dm_post_gemm(dm_rank_state *local, const dm_step *step, dm_event *event) {
  if (dm_plan_has_runs(local->plan)) return multiply_run(local, step->panel, step->slot, event);
  DM_TRY(multiply_panel(local, local->c, 0, step->panel, step->slot, event));
  if (step->panel < local->panels.end - 1) return DM_OK;
  return mirror_products(local, (dm_range){0, local->c.rows}, event);
}

dm_status dm_post_strip(dm_rank_state *local, const dm_step *step, dm_event *event) {
  const dm_strip strip = dm_plan_strip(local->plan, local->coords.i, step->strip);
  const dm_range panels = local->panels;
  const int64_t rows = dm_range_size(strip.rows);
  const dm_view c = dm_view_sub(local->c, strip.from, 0, rows, local->c.cols);
  *event = 0;
  for (int64_t p = panels.end - local->plan->stretch; p < panels.end; p++)
    DM_TRY(multiply_panel(local, c, strip.from, p, step->slot, event));
  return mirror_products(local, (dm_range){strip.from, strip.from + rows}, event);
}

/* The rows for which STEP computes sums: only a layer's own if their accumulators were added
 * before. The first one is row *FIRST of op(A). */
static dm_view post_steps_unfinished(const dm_rank_state *local, const dm_step *step,
                                     int64_t *first) {
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

/* Rows that become sums together: a square's have columns up to the last of them. */
enum { FINISHED = 2048 };

/* Computes the sums of ROWS from their accumulators SUMS, those of all columns up to COLS. */
static dm_status post_steps_finish_rows(const dm_rank_state *local, dm_view sums, int64_t row,
                                        int64_t cols, dm_event *event) {
  const dm_compute *mode = &local->plan->problem.compute;
  const dm_view first = dm_compute_first(mode, sums);
  const int64_t parts = dm_compute_parts(mode, sums.dtype);
  return dm_backend_finish(local->backend, some_cols(sums, 0, cols),
                           some_cols(first, 0, parts * cols), dm_compute_plane(mode, first.cols),
                           exponents_of(local, sums, row, local->cols.begin), event);
}

dm_status dm_post_finish(dm_rank_state *local, const dm_step *step, dm_event *event) {
  const dm_plan *plan = local->plan;
  const dm_coords *at = &local->coords;
  int64_t first;
  const dm_view sums = post_steps_unfinished(local, step, &first);
  const bool half = is_square(local) && !dm_triangle_mirrors_accumulators(plan);
  const dm_range part = dm_triangle_part(plan, local->tile, at->i, at->j).rows;
  *event = 0;
  if (dm_range_size(local->panels) == 0 && plan->problem.compute.finish == DM_FINISH_FIRST)
    return DM_OK;
  const int64_t begin = dm_max(first, part.begin), end = dm_min(first + sums.rows, part.end);
  for (int64_t row = begin, next; row < end; row = next) {
    next = half ? dm_min(row + FINISHED, end) : end;
    DM_TRY(post_steps_finish_rows(local, dm_view_sub(sums, row - first, 0, next - row, sums.cols),
                                  row, half ? next - local->rows.begin : sums.cols, event));
  }
  return half && begin < end ? post_steps_mirror(local, sums, (dm_range){0, sums.rows}, event)
                             : DM_OK;
}

/* ---- telling peers what is there ---- */

static bool is_upload(const dm_step *step) {
  return step->kind == DM_STEP_UPLOAD_A || step->kind == DM_STEP_UPLOAD_B;
}

static dm_factor *post_steps_factor_of(const dm_published *s, dm_matrix matrix) {
  return matrix == DM_A ? &s->local->a : &s->local->b;
}

/* Whether peers read pieces from the slots that they are uploaded to. */
static bool gives_slots(const dm_published *s, dm_matrix matrix) {
  const dm_route *route = &post_steps_factor_of(s, matrix)->route;
  return route->exposed != route->piece;
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
    post_steps_factor_of(s, (dm_matrix)x)->fillings += (uint64_t)shown;
  }
}

uint64_t dm_publish_filling(const dm_published *s, const dm_step *step) {
  if (!s->in_parts && !in_slots(s, step)) return 1;
  return post_steps_factor_of(s, dm_step_matrix(step->kind))->fillings +
         (uint64_t)turn_of(s, step) + 1;
}

/* Pieces of this run or, in its first turns, all pieces of the previous run. */
bool dm_publish_may_begin(const dm_published *s, const dm_step *step) {
  if (!is_upload(step) || !in_slots(s, step)) return true;
  const dm_matrix matrix = dm_step_matrix(step->kind);
  const uint64_t before = post_steps_factor_of(s, matrix)->fillings,
                 slots = (uint64_t)s->local->plan->slots;
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
                          post_steps_factor_of(s, matrix)->fillings + (uint64_t)loaded);
  else if (step->panel == s->local->panels.end - 1)
    dm_transport_filled(s->local->transport, (int)matrix);
}

void dm_publish_uploaded(dm_published *s, const dm_step *step) {
  const dm_matrix matrix = dm_step_matrix(step->kind);
  if (!in_slots(s, step)) return;
  s->shown[matrix]++;
  dm_transport_refilled(s->local->transport, (int)matrix, dm_publish_filling(s, step));
}

/* ---- sums over the layers ---- */

/* A layer without panels has computed nothing: its partial block counts as zero, whatever memory
 * held. */
static bool has_sums(const dm_plan *plan, int l) {
  return dm_range_size(dm_plan_layer(plan, l)) > 0;
}

static dm_range post_steps_share_of(const dm_rank_state *local, int l) {
  return dm_plan_c_share(local->plan, local->tile, local->coords.i, l);
}

/* Rows of this rank's block of C that layer L sums in PART. */
static dm_range post_steps_sum_rows(const dm_rank_state *local, const dm_sum_part *part, int l) {
  const dm_range share = post_steps_share_of(local, l);
  if (part->owner < 0) return share;
  if (part->owner != l) return (dm_range){share.begin, share.begin};
  return (dm_range){share.begin + part->rows.begin, share.begin + part->rows.end};
}

/* The part of SUMS, rows of a block or of c_sum, that gets added: the sums, or all their
 * accumulators. */
static dm_view added_of(const dm_rank_state *local, dm_view sums) {
  const dm_compute *row = &local->plan->problem.compute;
  return row->finish == DM_FINISH_LAST ? dm_compute_all(row, sums) : sums;
}

/* SUM = ONE + MORE, rows as in added_of; accumulators are added as their row defines. */
static dm_status add_layers(const dm_rank_state *local, dm_view sum, dm_view one, dm_view more) {
  const dm_compute *row = &local->plan->problem.compute;
  if (row->finish != DM_FINISH_LAST)
    return dm_backend_add(local->backend, sum, one, more, 1.0, 1.0);
  const int64_t cols = dm_compute_first(row, local->c).cols;
  if (one.base != sum.base) dm_copy(sum, one, false);
  return dm_backend_join(local->backend, dm_view_sub(sum, 0, 0, sum.rows, cols),
                         dm_view_sub(more, 0, 0, more.rows, cols), dm_compute_plane(row, cols));
}

/* Every rank gathers its rows of the other layers' blocks, which their GPUs expose, or which are
 * sent from host memory, and adds them in ascending order of l. Its own are gathered only on a GPU.
 *
 * No layer waits for all others: each publishes its complete block, takes from those published, and
 * is done when its peers have read their parts of it. */

static dm_range own_rows(const dm_rank_state *local) {
  return post_steps_share_of(local, local->coords.l);
}

/* The rows of this rank's block that peers take in PART, as they are exchanged: on a GPU the whole
 * block, in host memory packed. */
static dm_status block_of(dm_rank_state *local, const dm_sum_part *part, dm_view *block,
                          dm_range *covered) {
  const bool whole = part->owner < 0 || dm_rank_reduces_on_device(local);
  void *copy;
  *covered = whole ? local->rows : post_steps_sum_rows(local, part, part->owner);
  *block = local->c;
  if (dm_rank_reduces_on_device(local)) return DM_OK;
  const int64_t rows = dm_range_size(*covered);
  const dm_view in_place = added_of(
      local, dm_view_sub(local->c, covered->begin - local->rows.begin, 0, rows, local->c.cols));
  *block = in_place;
  if (in_place.space == DM_HOST && dm_view_is_packed(in_place)) return DM_OK;
  DM_TRY(dm_rank_memory_take(&local->memory, DM_BUFFER_BLOCK_COPY, &copy));
  *block = dm_view_row_major(copy, in_place.dtype, rows, in_place.cols);
  return dm_backend_copy_now(local->backend, *block, in_place);
}

/* The number of layer L's piece among those gathered. */
static int post_steps_number_of(const dm_rank_state *local, int l) {
  return l - (!dm_rank_reduces_on_device(local) && l > local->coords.l);
}

/* Where this rank gathers its rows of layer L's block: as wide as these are exchanged, so that they
 * are one run. */
static dm_view post_steps_piece_of(const dm_rank_state *local, int l) {
  const int64_t at = post_steps_number_of(local, l);
  const int64_t rows = dm_range_size(own_rows(local)), size = dm_dtype_size(local->c.dtype);
  const dm_view c = local->c;
  if (dm_rank_reduces_on_device(local))
    return dm_view_strided((char *)local->memory.at[DM_BUFFER_PIECES] +
                               at * rows * c.row_stride * size,
                           c.dtype, DM_DEVICE, rows, c.cols, c.row_stride);
  const int64_t width = dm_compute_added(&local->plan->problem.compute, c.dtype, c.cols);
  return dm_view_strided((char *)local->memory.at[DM_BUFFER_RECEIVED] + at * rows * width * size,
                         c.dtype, DM_HOST, rows, c.cols, width);
}

/* Sums have their own place in host memory; on a GPU they take that of the first piece. */
static dm_status post_steps_open_sum(dm_rank_state *local) {
  const bool on_device = dm_rank_reduces_on_device(local);
  void *pieces, *sum;
  DM_TRY(dm_rank_memory_take(&local->memory, on_device ? DM_BUFFER_PIECES : DM_BUFFER_RECEIVED,
                             &pieces));
  local->c_sum = post_steps_piece_of(local, 0);
  if (on_device) return DM_OK;
  DM_TRY(dm_rank_memory_take(&local->memory, DM_BUFFER_SUM, &sum));
  local->c_sum.base = sum;
  return DM_OK;
}

/* For each layer: the place of its piece in this rank's pieces and in its block, and the place in
 * this rank's block of the piece that it takes. */
typedef struct post_steps_places {
  int64_t *offset, *bytes, *source, *sent, *sent_bytes;
} post_steps_places;

static void find_places(const dm_rank_state *local, const dm_sum_part *part, dm_range covered,
                        post_steps_places *p) {
  const dm_range share = own_rows(local), mine = post_steps_sum_rows(local, part, local->coords.l);
  const int64_t row_bytes = local->c_sum.row_stride * dm_dtype_size(local->c.dtype);
  const int64_t slice = dm_range_size(share) * row_bytes;
  for (int l = 0; l < local->plan->pk; l++) {
    const dm_range theirs = post_steps_sum_rows(local, part, l);
    const bool gathered = l != local->coords.l || dm_rank_reduces_on_device(local);
    p->offset[l] = post_steps_number_of(local, l) * slice + (mine.begin - share.begin) * row_bytes;
    p->bytes[l] = gathered && has_sums(local->plan, l) ? dm_range_size(mine) * row_bytes : 0;
    p->source[l] = dm_range_size(mine) > 0 ? (mine.begin - covered.begin) * row_bytes : 0;
    p->sent[l] = dm_range_size(theirs) > 0 ? (theirs.begin - covered.begin) * row_bytes : 0;
    p->sent_bytes[l] =
        has_sums(local->plan, local->coords.l) ? dm_range_size(theirs) * row_bytes : 0;
  }
}

/* Publishes the block, complete for this sum, and requests the peers' pieces. */
static dm_status post_steps_post(dm_rank_state *local, const dm_sum_part *part) {
  dm_summing *sum = &local->summing;
  DM_FREED int64_t *memory = NULL;
  DM_TRY(dm_buffer_table(5 * (int64_t)local->plan->pk, &memory));
  DM_TRY(post_steps_open_sum(local));
  DM_TRY(block_of(local, part, &sum->block, &sum->covered));
  const int layers = local->plan->pk;
  post_steps_places p = {memory, memory + layers, memory + 2 * layers, memory + 3 * layers,
                         memory + 4 * layers};
  find_places(local, part, sum->covered, &p);
  dm_transport_refilled(local->transport, DM_BLOCK_SHARE, ++sum->turn);
  const dm_gather gather = {.group = local->layers,
                            .own = (char *)sum->block.base + p.source[local->coords.l],
                            .slot = post_steps_piece_of(local, 0).base,
                            .offset = p.offset,
                            .bytes = p.bytes,
                            .source = p.source,
                            .share = DM_BLOCK_SHARE,
                            .sent = p.sent,
                            .sent_bytes = p.sent_bytes,
                            .filling = sum->turn,
                            .tag = (int)(sum->turn % 32768)};
  sum->stage = DM_SUM_PULLS;
  return dm_transport_post(local->transport, &gather, &sum->ticket);
}

/* The rows MINE of layer L's block. */
static dm_view post_steps_layer_of(const dm_rank_state *local, dm_range mine, int l) {
  const dm_summing *sum = &local->summing;
  const int64_t rows = dm_range_size(mine);
  if (l == local->coords.l && !dm_rank_reduces_on_device(local))
    return dm_view_sub(sum->block, mine.begin - sum->covered.begin, 0, rows, sum->block.cols);
  const dm_view piece = added_of(local, post_steps_piece_of(local, l));
  return dm_view_sub(piece, mine.begin - own_rows(local).begin, 0, rows, piece.cols);
}

/* The first layer always has panels. */
static dm_status post_steps_add_up(dm_rank_state *local, const dm_sum_part *part) {
  const dm_range mine = post_steps_sum_rows(local, part, local->coords.l);
  const int64_t rows = dm_range_size(mine);
  if (rows == 0) return DM_OK;
  const dm_view all = added_of(local, local->c_sum);
  const dm_view sum = dm_view_sub(all, mine.begin - own_rows(local).begin, 0, rows, all.cols);
  dm_view one = post_steps_layer_of(local, mine, 0);
  for (int l = 1; l < local->plan->pk; l++) {
    if (!has_sums(local->plan, l)) continue;
    DM_TRY(add_layers(local, sum, one, post_steps_layer_of(local, mine, l)));
    one = sum;
  }
  if (one.base != sum.base) dm_copy(sum, one, false);
  return DM_OK;
}

dm_status dm_rank_reduce(dm_rank_state *local, const dm_sum_part *part, bool *done) {
  const dm_sum_part whole = {.owner = -1, .last = true};
  dm_summing *sum = &local->summing;
  bool arrived = false;
  *done = false;
  if (!part) part = &whole;
  if (sum->stage == DM_SUM_RESTS) DM_TRY(post_steps_post(local, part));
  if (sum->stage == DM_SUM_PULLS) {
    DM_TRY(dm_transport_test(local->transport, sum->ticket, &arrived));
    if (!arrived) return DM_OK;
    DM_TRY(post_steps_add_up(local, part));
    sum->stage = DM_SUM_DRAINS;
  }
  *done = !part->last || dm_transport_drained(local->transport, DM_BLOCK_SHARE, sum->turn);
  if (*done) sum->stage = DM_SUM_RESTS;
  return DM_OK;
}
