#include "engine/share_check.h"

#include "backend/backend.h"
#include "backend/verify_sums.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/crew.h"

/* ---- pieces ---- */

/* Passes this rank's piece from ROW on; if panels use slots on the device, as a copy in a slot: the
 * device sums as fast as the host copies, the host alone at a twentieth of that. */
static dm_status show_piece(const dm_rank_state *local, dm_matrix matrix, int64_t panel,
                            int64_t row, dm_view *piece) {
  const dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  if (dm_triangle_shares(local->plan, matrix)) {
    DM_TRY(show_piece(local, dm_other_matrix(matrix), panel, 0, piece));
    *piece = dm_view_transpose(*piece);
    return DM_OK;
  }
  *piece = dm_rank_piece_from(local, matrix, panel, row);
  if (!factor->route.uploaded) return DM_OK;
  const dm_view host = *piece;
  *piece =
      dm_view_strided(dm_rank_slot(local, matrix, DM_DEVICE_RING, panel, 0).base, host.dtype,
                      DM_DEVICE, host.rows, host.cols, dm_device_stride(host.cols, host.dtype));
  return dm_backend_copy_now(local->backend, *piece, host);
}

/* Of PANELS together. */
static void share_extent(const dm_rank_state *local, dm_matrix matrix, dm_range panels,
                         dm_range *rows, dm_range *cols) {
  const int64_t first = panels.begin, last = panels.end - 1;
  *rows = (dm_range){dm_rank_piece_rows(local, matrix, first).begin,
                     dm_rank_piece_rows(local, matrix, last).end};
  *cols = (dm_range){dm_rank_piece_cols(local, matrix, first).begin,
                     dm_rank_piece_cols(local, matrix, last).end};
}

/* Whole bands: a panel of a small matrix has no work for many cores. */
static dm_status pass_mapped(const dm_rank_state *local, dm_matrix matrix, dm_range panels,
                             dm_piece_taker *take, void *context) {
  const bool turned = dm_triangle_shares(local->plan, matrix);
  const dm_matrix held = turned ? dm_other_matrix(matrix) : matrix;
  dm_range rows, cols;
  share_extent(local, held, panels, &rows, &cols);
  while (rows.begin < rows.end) {
    const dm_view band = dm_rank_mapped(local, held, rows, cols);
    const dm_view piece = turned ? dm_view_transpose(band) : band;
    DM_TRY(take(context, local->backend, piece, panels.begin, turned ? cols.begin : rows.begin,
                turned ? rows.begin : cols.begin));
    DM_TRY(dm_run_beat(local->run));
    rows.begin += band.rows;
  }
  return DM_OK;
}

/* The piece of one panel; if it was copied to a slot, no sum is pending when it returns. */
static dm_status pass_panel(dm_rank_state *local, dm_matrix matrix, int64_t panel,
                            dm_piece_taker *take, void *context) {
  const dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  const dm_range rows = dm_rank_piece_rows(local, matrix, panel);
  const int64_t col = dm_rank_piece_cols(local, matrix, panel).begin;
  dm_view piece;
  for (int64_t row = rows.begin; row < rows.end; row += piece.rows) {
    DM_TRY(show_piece(local, matrix, panel, row - rows.begin, &piece));
    DM_TRY(take(context, local->backend, piece, panel, row, col));
    if (factor->route.uploaded) DM_TRY(dm_backend_settle(local->backend)); /* before the next */
  }
  return dm_run_beat(local->run);
}

/* The resident pieces of PANELS, not empty, that tile T is the first to need. */
static dm_status pass_tile(dm_rank_state *local, dm_matrix matrix, int64_t t, dm_range panels,
                           dm_piece_taker *take, void *context) {
  if (!dm_plan_is_first(local->plan, matrix, t)) return DM_OK;
  dm_rank_turn_to(local, t);
  if (dm_rank_is_mapped(local, matrix)) return pass_mapped(local, matrix, panels, take, context);
  for (int64_t p = panels.begin; p < panels.end; p++)
    DM_TRY(pass_panel(local, matrix, p, take, context));
  return DM_OK;
}

dm_status dm_each_piece(dm_rank_state *local, dm_matrix matrix, dm_piece_taker *take,
                        void *context) {
  if (local->coords.idle || dm_range_size(local->panels) == 0) return DM_OK;
  for (int64_t i = 0; i < dm_plan_todo(local->plan); i++)
    DM_TRY(
        pass_tile(local, matrix, dm_plan_todo_tile(local->plan, i), local->panels, take, context));
  return DM_OK;
}

/* ---- the sums of the verification ---- */

dm_status dm_check_new(const dm_run *run, const dm_plan *plan, const double alpha[2],
                       const double beta[2], dm_freivalds **check) {
  const int64_t room = dm_check_room(dm_problem_b_rows(&plan->problem), dm_plan_width(plan));
  DM_TRY(dm_comm_agree(run->world,
                       dm_freivalds_new(&plan->problem, alpha, beta, plan->gpu, room, check)));
  if (plan->gpu) dm_freivalds_join_groups(*check);
  return DM_OK;
}

typedef struct share_checking {
  dm_rank_state *local;
  dm_freivalds *check;
  dm_share_sums *sums; /* or NULL */
  dm_matrix matrix;
  dm_freivalds_part *take;
} share_checking;

static dm_status share_scan_piece(void *context, dm_backend *backend, dm_view piece, int64_t panel,
                                  int64_t row, int64_t col) {
  const share_checking *c = context;
  if (c->sums && dm_share_sums_scanned(c->sums, c->local, panel)) return DM_OK;
  return dm_freivalds_scan_b(c->check, backend, piece, row, col);
}

static dm_status share_add_piece(void *context, dm_backend *backend, dm_view piece, int64_t panel,
                                 int64_t row, int64_t col) {
  const share_checking *c = context;
  bool shown = false;
  if (c->sums)
    DM_TRY(dm_share_sums_show(c->sums, c->local, c->matrix, panel, c->take, c->check, &shown));
  return shown ? DM_OK : c->take(c->check, backend, piece, row, col);
}

enum { BAND_ROWS = 128 }; /* that a thread claims at a time */

/* Many bands of op(A), which may be small: threads share its rows. */
typedef struct share_bands {
  const share_checking *checking;
  dm_range rows, cols;
} share_bands;

static dm_status share_add_rows(void *context, int64_t turn) {
  const share_bands *b = context;
  int64_t row = b->rows.begin + turn * BAND_ROWS;
  const int64_t end = dm_min(row + BAND_ROWS, b->rows.end);
  while (row < end) {
    const dm_view part = dm_rank_mapped(b->checking->local, DM_A, (dm_range){row, end}, b->cols);
    DM_TRY(dm_freivalds_add_a(b->checking->check, NULL, part, row, b->cols.begin));
    row += part.rows;
  }
  return DM_OK;
}

/* Adds PANELS of op(A), which is multiplied in the page cache. */
static dm_status add_bands(const share_checking *c, int64_t t, dm_range panels) {
  dm_rank_state *local = c->local;
  if (!dm_plan_is_first(local->plan, DM_A, t)) return DM_OK;
  dm_rank_turn_to(local, t);
  share_bands all = {.checking = c};
  share_extent(local, DM_A, panels, &all.rows, &all.cols);
  DM_TRY(dm_fork_each(dm_ceil_div(dm_range_size(all.rows), BAND_ROWS), 0, share_add_rows, &all));
  return dm_run_beat(local->run);
}

/* Tiles of this run, by their places (plan/tiles.h), and panels, that are added together. */
typedef struct lot {
  dm_range places, panels;
} lot;

static dm_status add_lot(share_checking *c, dm_matrix matrix, lot of) {
  dm_rank_state *local = c->local;
  c->matrix = matrix;
  c->take = matrix == DM_A ? dm_freivalds_add_a : dm_freivalds_add_b;
  if (local->coords.idle || dm_range_size(of.panels) == 0) return DM_OK;
  for (int64_t i = of.places.begin; i < of.places.end; i++) {
    const int64_t t = dm_plan_todo_tile(local->plan, i);
    DM_TRY(matrix == DM_A && local->bands[DM_A] > 1
               ? add_bands(c, t, of.panels)
               : pass_tile(local, matrix, t, of.panels, share_add_piece, c));
  }
  return DM_OK;
}

/* Of B; of A nothing is wanted before the verdict. */
static dm_status operand_arrived(const share_checking *c, const dm_comm *ranks, dm_status status) {
  if (!status) status = dm_backend_settle(c->local->backend);
  return dm_comm_agree(ranks, status);
}

/* Collective in RANKS, which have all pieces of the window. */
static dm_status check_window(share_checking *c, const dm_comm *ranks, lot of) {
  DM_TRY(operand_arrived(c, ranks, add_lot(c, DM_B, of)));
  DM_TRY(dm_freivalds_project(c->check, ranks));
  return dm_comm_agree(ranks, add_lot(c, DM_A, of));
}

/* The tiles from PLACE on that are of the same entry. */
static dm_range tiles_of_entry(const dm_plan *plan, int64_t place) {
  const int64_t part = dm_plan_part_of(plan, dm_plan_todo_tile(plan, place));
  int64_t end = place + 1;
  while (end < dm_plan_todo(plan) && dm_plan_part_of(plan, dm_plan_todo_tile(plan, end)) == part)
    end++;
  return (dm_range){place, end};
}

/* As many panels from FIRST on as have room in a window, and their rows of op(B). */
static dm_range panels_of_window(const share_checking *c, int64_t tile, int64_t first,
                                 dm_range *rows) {
  const dm_rank_state *local = c->local;
  int64_t end = first + 1;
  *rows = dm_plan_b_panel(local->plan, tile, first);
  for (; end < local->panels.end; end++) {
    const int64_t next = dm_plan_b_panel(local->plan, tile, end).end;
    if (next - rows->begin > dm_freivalds_room(c->check)) break;
    rows->end = next;
  }
  return (dm_range){first, end};
}

/* This layer's panels, entry by entry and window by window; layers do not wait for each other. */
static dm_status check_layer(share_checking *c) {
  const dm_rank_state *local = c->local;
  dm_range places, panels, rows;
  if (local->coords.idle) return DM_OK;
  for (int64_t i = 0; i < dm_plan_todo(local->plan); i = places.end) {
    places = tiles_of_entry(local->plan, i);
    for (int64_t p = local->panels.begin; p < local->panels.end; p = panels.end) {
      panels = panels_of_window(c, dm_plan_todo_tile(local->plan, i), p, &rows);
      dm_freivalds_turn_to(c->check, rows);
      DM_TRY(check_window(c, local->side, (lot){places, panels}));
    }
  }
  return DM_OK;
}

dm_status dm_check_operands(dm_rank_state *local, dm_freivalds *check, dm_share_sums *sums) {
  double start = dm_now();
  const dm_comm *world = local->run->world;
  share_checking c = {.local = local, .check = check, .sums = sums};
  DM_TRY(operand_arrived(&c, world, dm_each_piece(local, DM_B, share_scan_piece, &c)));
  DM_TRY(dm_freivalds_weigh(check, world));
  if (dm_freivalds_holds_all(check))
    DM_TRY(check_window(&c, world, (lot){{0, dm_plan_todo(local->plan)}, local->panels}));
  else
    DM_TRY(dm_comm_agree(world, check_layer(&c)));
  local->phases.check += dm_now() - start;
  return DM_OK;
}
