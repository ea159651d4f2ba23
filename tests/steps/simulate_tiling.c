/* The static half of the proof: the parts of the matrices cover them. */
#include "plan/partition.h"
#include "plan/tiles.h"
#include "steps/simulate.h"

/* Consecutive ranges that must cover BEGIN to END without gaps. */
typedef struct cover {
  const char *what;
  int64_t begin, at, end;
  int64_t step; /* inner boundaries are multiples of it from BEGIN on */
} cover;

static void start_cover(cover *c, const char *what, dm_range range, int64_t step) {
  *c = (cover){what, range.begin, range.begin, range.end, step};
}

static dm_status add_range(cover *c, dm_range next) {
  if (next.begin != c->at || next.end < next.begin || next.end > c->end ||
      (next.end != c->end && (next.end - c->begin) % c->step))
    return dm_fail(DM_E_BUG, "tiling: %s [%lld, %lld) after %lld of %lld", c->what,
                   (long long)next.begin, (long long)next.end, (long long)c->at, (long long)c->end);
  c->at = next.end;
  return DM_OK;
}

static dm_status end_cover(const cover *c) {
  if (c->at == c->end) return DM_OK;
  return dm_fail(DM_E_BUG, "tiling: %s end at %lld of %lld", c->what, (long long)c->at,
                 (long long)c->end);
}

static dm_range whole(int64_t size) {
  return (dm_range){0, size};
}

static dm_status check_fields(const dm_plan *p) {
  if (p->pm < 1 || p->pn < 1 || p->pk < 1 || (int64_t)p->pm * p->pn > p->ranks ||
      (int64_t)p->pm * p->pn * p->pk > p->ranks)
    return dm_fail(DM_E_BUG, "tiling: grid %dx%dx%d on %d ranks", p->pm, p->pn, p->pk, p->ranks);
  if (p->qm < 1 || p->qn < 1 || p->qk < 1 || p->pm % p->qm || p->pn % p->qn || p->pk % p->qk)
    return dm_fail(DM_E_BUG, "tiling: boxes of %dx%dx%d in the grid %dx%dx%d", p->qm, p->qn, p->qk,
                   p->pm, p->pn, p->pk);
  if (p->kb < 1 || p->kb % DM_PANEL_STEP || p->slots < 1 || p->border < 0)
    return dm_fail(DM_E_BUG, "tiling: panels of %lld, %d slots, borders at %lld", (long long)p->kb,
                   p->slots, (long long)p->border);
  for (int i = 0; i < DM_RAMP; i++)
    if (p->ramp[i] < 0 || p->ramp[i] % DM_PANEL_STEP || p->ramp[i] > p->kb ||
        (p->ramp[i] > 0 && p->panels < (i + 2) * p->pk))
      return dm_fail(DM_E_BUG, "tiling: ramp-up panels of %lld of %lld in %d layers",
                     (long long)p->ramp[i], (long long)p->panels, p->pk);
  if (p->reproducible &&
      (p->pk != 1 || p->border < 1 || p->kb != DM_REPRODUCIBLE_PANEL || p->ramp[0]))
    return dm_fail(DM_E_BUG,
                   "tiling: %d layers, borders at %lld, panels of %lld are not reproducible", p->pk,
                   (long long)p->border, (long long)p->kb);
  if (p->tiles_m < 1 || p->tiles_n < 1 || p->tiles_m > p->problem.m || p->tiles_n > p->problem.n)
    return dm_fail(DM_E_BUG, "tiling: %lld x %lld tiles", (long long)p->tiles_m,
                   (long long)p->tiles_n);
  if (p->blocks < 1 || p->blocks > 2 || (p->blocks > 1 && p->pk > 1))
    return dm_fail(DM_E_BUG, "tiling: %d blocks of C in %d layers", p->blocks, p->pk);
  if (p->held_a < 0 || p->held_b < 0 || (dm_plan_streams(p) && p->reads < p->slots))
    return dm_fail(DM_E_BUG, "tiling: %lld panels of A and %lld of B are held, %d read",
                   (long long)p->held_a, (long long)p->held_b, p->reads);
  return DM_OK;
}

/* Strips cover the rows of every layer, and require a single tile. */
static dm_status check_strips(const dm_plan *p) {
  const bool none = p->strips == 0 && p->stretch == 0;
  const int64_t shortest = dm_range_size(dm_plan_layer(p, p->pk - 1));
  if (!none && (p->strips < 1 || p->stretch < 1 || p->stretch > shortest || dm_plan_tiles(p) > 1))
    return dm_fail(DM_E_BUG, "tiling: %lld panels in %d strips", (long long)p->stretch, p->strips);
  for (int i = 0; i < p->pm && !none; i++)
    for (int l = 0; l < p->pk; l++) {
      cover rows;
      const int64_t height = dm_range_size(dm_plan_c_share(p, 0, i, l));
      start_cover(&rows, "strips", whole(height), p->border > 0 ? p->border : 1);
      for (int64_t s = 0; s < p->strips; s++) { /* of a symmetric C, upwards */
        const int64_t turn = p->problem.symmetry == DM_NO_SYMMETRY ? s : p->strips - 1 - s;
        DM_TRY(add_range(&rows, dm_plan_strip(p, i, turn * p->pk + l).rows));
      }
      DM_TRY(end_cover(&rows));
    }
  return DM_OK;
}

static dm_status check_places(const dm_plan *p) {
  for (int rank = 0; rank < p->ranks; rank++) {
    dm_coords at = dm_plan_coords(p, rank);
    if (at.idle != (rank >= dm_plan_used(p)))
      return dm_fail(DM_E_BUG, "tiling: rank %d of %d is idle or not", rank, p->ranks);
    if (at.idle) continue;
    bool inside =
        at.i >= 0 && at.i < p->pm && at.j >= 0 && at.j < p->pn && at.l >= 0 && at.l < p->pk;
    if (!inside || dm_plan_rank(p, at.i, at.j, at.l) != rank)
      return dm_fail(DM_E_BUG, "tiling: rank %d at (%d, %d, %d) of the grid", rank, at.i, at.j,
                     at.l);
  }
  return DM_OK;
}

/* Runs of entries cover all of them, and meet their rows of op(B). */
static dm_status check_runs(const dm_plan *p) {
  const int64_t height = dm_problem_entry_rows(&p->problem);
  cover rows;
  if (p->panels != 1 || p->tiles_n != 1 || dm_plan_used(p) != 1 || p->border > 0 || p->gpu)
    return dm_fail(DM_E_BUG, "tiling: %lld runs of entries", (long long)p->tiles_m);
  start_cover(&rows, "runs", whole(p->problem.m), height);
  for (int64_t t = 0; t < p->tiles_m; t++) {
    const dm_tile tile = dm_plan_tile(p, t);
    const dm_range b = dm_plan_b_panel(p, t, 0);
    const int64_t entries = dm_range_size(tile.rows) / height, k = p->problem.k;
    DM_TRY(add_range(&rows, tile.rows));
    if (entries < 1 || entries != dm_plan_run_entries(p, t) || tile.r != t || tile.c != 0 ||
        tile.cols.begin != 0 || tile.cols.end != p->problem.n ||
        b.begin != tile.rows.begin / height * k || dm_range_size(b) != entries * k ||
        dm_range_size(b) > dm_plan_b_share_most(p, 0))
      return dm_fail(DM_E_BUG, "tiling: run %lld", (long long)t);
  }
  return end_cover(&rows);
}

/* Tiles follow each other in a snake; each row of tiles covers its rows from end to end. Each entry
 * of a batch is cut alike. */
static dm_status check_tiles(const dm_plan *p) {
  cover rows, cols;
  const int64_t step = p->border > 0 ? p->border : 1, entries = dm_problem_entries(&p->problem);
  const int64_t height = p->problem.m / entries, down = p->tiles_m / entries;
  dm_tile before = {0};
  if (dm_plan_has_runs(p)) return check_runs(p);
  if (height * entries != p->problem.m || down * entries != p->tiles_m)
    return dm_fail(DM_E_BUG, "tiling: %lld entries in %lld rows, %lld tiles", (long long)entries,
                   (long long)p->problem.m, (long long)p->tiles_m);
  start_cover(&rows, "tiles, down,", whole(height), step);
  start_cover(&cols, "tiles, across,", whole(p->problem.n), step);
  for (int64_t r = 0; r < down; r++) DM_TRY(add_range(&rows, dm_split(height, down, r, step)));
  for (int64_t c = 0; c < p->tiles_n; c++)
    DM_TRY(add_range(&cols, dm_split(p->problem.n, p->tiles_n, c, step)));
  DM_TRY(end_cover(&rows));
  DM_TRY(end_cover(&cols));
  for (int64_t t = 0; t < dm_plan_tiles(p); t++) {
    dm_tile tile = dm_plan_tile(p, t);
    const int64_t entry = t / (down * p->tiles_n);
    const bool first = t % (down * p->tiles_n) == 0;
    if (first) before = (dm_tile){.r = entry * down};
    int64_t moved = (tile.r > before.r ? tile.r - before.r : before.r - tile.r) +
                    (tile.c > before.c ? tile.c - before.c : before.c - tile.c);
    dm_range r = dm_split(height, down, tile.r - entry * down, step),
             c = dm_split(p->problem.n, p->tiles_n, tile.c, step);
    if (moved != !first || tile.r / down != entry || tile.c >= p->tiles_n ||
        tile.rows.begin != entry * height + r.begin || tile.rows.end != entry * height + r.end ||
        dm_plan_b_origin(p, t) != entry * p->problem.k || tile.cols.begin != c.begin ||
        tile.cols.end != c.end)
      return dm_fail(DM_E_BUG, "tiling: tile %lld at (%lld, %lld)", (long long)t, (long long)tile.r,
                     (long long)tile.c);
    before = tile;
  }
  return DM_OK;
}

/* Tiles to compute are in the order of all tiles. */
static dm_status check_todo(const dm_plan *p) {
  for (int64_t place = 0, before = -1; place < dm_plan_todo(p); place++) {
    const int64_t t = dm_plan_todo_tile(p, place);
    if (t <= before || t >= dm_plan_tiles(p) || dm_plan_todo_place(p, t) != place)
      return dm_fail(DM_E_BUG, "tiling: tile %lld after %lld of those to be computed", (long long)t,
                     (long long)before);
    before = t;
  }
  return DM_OK;
}

/* Allocations for tile 0 must suffice for all. */
static dm_status is_no_larger(dm_range now, dm_range first, const char *what, int64_t t) {
  if (dm_range_size(now) <= dm_range_size(first)) return DM_OK;
  return dm_fail(DM_E_BUG, "tiling: %s of tile %lld are more than those of tile 0", what,
                 (long long)t);
}

static dm_status check_blocks_of(const dm_plan *p, int64_t t) {
  cover c;
  const int64_t step = p->border > 0 ? p->border : 1;
  const dm_tile tile = dm_plan_tile(p, t);
  start_cover(&c, "rows of C", tile.rows, step);
  for (int i = 0; i < p->pm; i++) {
    DM_TRY(add_range(&c, dm_plan_rows(p, t, i)));
    DM_TRY(is_no_larger(dm_plan_rows(p, t, i), dm_plan_rows(p, 0, i), "rows", t));
  }
  DM_TRY(end_cover(&c));
  start_cover(&c, "columns of C", tile.cols, step);
  for (int j = 0; j < p->pn; j++) {
    DM_TRY(add_range(&c, dm_plan_cols(p, t, j)));
    DM_TRY(is_no_larger(dm_plan_cols(p, t, j), dm_plan_cols(p, 0, j), "columns", t));
  }
  return end_cover(&c);
}

static dm_status check_panels(const dm_plan *p) {
  cover c, k;
  start_cover(&k, "panels", whole(p->problem.k), DM_PANEL_STEP);
  start_cover(&c, "layers", whole(p->panels), 1);
  for (int l = 0; l < p->pk; l++) {
    dm_range layer = dm_plan_layer(p, l);
    DM_TRY(add_range(&c, layer));
    for (int64_t panel = layer.begin; panel < layer.end; panel++) {
      DM_TRY(add_range(&k, dm_plan_panel(p, panel)));
      if (dm_range_size(dm_plan_panel(p, panel)) == 0)
        return dm_fail(DM_E_BUG, "tiling: panels from %lld on are empty", (long long)panel);
    }
    if (dm_range_size(layer) > 0 && dm_plan_layer_k(p, l).end != k.at)
      return dm_fail(DM_E_BUG, "tiling: layer %d ends at %lld of k", l, (long long)k.at);
  }
  DM_TRY(end_cover(&c));
  return end_cover(&k);
}

static dm_status check_shares_of_tile(const dm_plan *p, int64_t t) {
  cover c;
  for (int i = 0; i < p->pm; i++) {
    start_cover(&c, "shares of A", dm_plan_rows(p, t, i), 1);
    for (int j = 0; j < p->pn; j++) {
      DM_TRY(add_range(&c, dm_plan_a_share(p, t, i, j)));
      DM_TRY(is_no_larger(dm_plan_a_share(p, t, i, j), dm_plan_a_share(p, 0, i, j), "rows", t));
    }
    DM_TRY(end_cover(&c));
    start_cover(&c, "shares of C", dm_plan_rows(p, t, i), 1);
    for (int l = 0; l < p->pk; l++) DM_TRY(add_range(&c, dm_plan_c_share(p, t, i, l)));
    DM_TRY(end_cover(&c));
  }
  return DM_OK;
}

static dm_status check_shares_of_b(const dm_plan *p) {
  cover c;
  for (int64_t panel = 0; panel < p->panels; panel++) {
    start_cover(&c, "shares of B", dm_plan_panel(p, panel), 1);
    for (int i = 0; i < p->pm; i++) DM_TRY(add_range(&c, dm_plan_b_share(p, panel, i)));
    DM_TRY(end_cover(&c));
  }
  return DM_OK;
}

dm_status dm_simulate_tiling(const dm_plan *plan) {
  DM_TRY(check_fields(plan));
  DM_TRY(check_places(plan));
  DM_TRY(check_strips(plan));
  DM_TRY(check_tiles(plan));
  DM_TRY(check_todo(plan));
  for (int64_t t = 0; t < dm_plan_tiles(plan); t++) {
    DM_TRY(check_blocks_of(plan, t));
    DM_TRY(check_shares_of_tile(plan, t));
  }
  DM_TRY(check_panels(plan));
  return check_shares_of_b(plan);
}
