/* The static half of the proof: what the parts of the matrices cover. */
#include "plan/simulate.h"

/* A run of ranges that must follow one another without gaps from BEGIN to END. */
typedef struct cover {
  const char *what;
  int64_t at, end;
  int64_t step; /* inner borders are multiples of it */
} cover;

static void start_cover(cover *c, const char *what, dm_range range, int64_t step) {
  *c = (cover){what, range.begin, range.end, step};
}

static dm_status add_range(cover *c, dm_range next) {
  if (next.begin != c->at || next.end < next.begin || next.end > c->end ||
      (next.end != c->end && next.end % c->step))
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
  if (p->kb < 1 || p->kb % DM_PANEL_STEP || p->slots < 1 || p->tile < 0)
    return dm_fail(DM_E_BUG, "tiling: panels of %lld, %d slots, tiles of %lld", (long long)p->kb,
                   p->slots, (long long)p->tile);
  if (p->reproducible && (p->pk != 1 || p->tile < 1 || p->kb != DM_REPRODUCIBLE_PANEL))
    return dm_fail(DM_E_BUG,
                   "tiling: %d layers, tiles of %lld, panels of %lld are not reproducible", p->pk,
                   (long long)p->tile, (long long)p->kb);
  return DM_OK;
}

static dm_status check_places(const dm_plan *p) {
  for (int rank = 0; rank < p->ranks; rank++) {
    dm_place at = dm_plan_place(p, rank);
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

static dm_status check_blocks(const dm_plan *p) {
  cover c;
  const int64_t step = p->tile > 0 ? p->tile : 1;
  start_cover(&c, "rows of C", whole(p->problem.m), step);
  for (int i = 0; i < p->pm; i++) DM_TRY(add_range(&c, dm_plan_rows(p, i)));
  DM_TRY(end_cover(&c));
  start_cover(&c, "columns of C", whole(p->problem.n), step);
  for (int j = 0; j < p->pn; j++) DM_TRY(add_range(&c, dm_plan_cols(p, j)));
  return end_cover(&c);
}

static dm_status check_panels(const dm_plan *p) {
  cover c, k;
  start_cover(&k, "panels", whole(p->problem.k), DM_PANEL_STEP);
  start_cover(&c, "layers", whole(p->panels), 1);
  for (int l = 0; l < p->pk; l++) {
    dm_range layer = dm_plan_layer(p, l);
    DM_TRY(add_range(&c, layer));
    for (int64_t panel = layer.begin; panel < layer.end; panel++)
      DM_TRY(add_range(&k, dm_plan_panel(p, panel)));
    if (dm_range_size(layer) > 0 && dm_plan_layer_k(p, l).end != k.at)
      return dm_fail(DM_E_BUG, "tiling: layer %d ends at %lld of k", l, (long long)k.at);
  }
  DM_TRY(end_cover(&c));
  return end_cover(&k);
}

static dm_status check_shares(const dm_plan *p) {
  cover c;
  for (int i = 0; i < p->pm; i++) {
    start_cover(&c, "shares of A", dm_plan_rows(p, i), 1);
    for (int j = 0; j < p->pn; j++) DM_TRY(add_range(&c, dm_plan_a_share(p, i, j)));
    DM_TRY(end_cover(&c));
    start_cover(&c, "shares of C", dm_plan_rows(p, i), 1);
    for (int l = 0; l < p->pk; l++) DM_TRY(add_range(&c, dm_plan_c_share(p, i, l)));
    DM_TRY(end_cover(&c));
  }
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
  DM_TRY(check_blocks(plan));
  DM_TRY(check_panels(plan));
  return check_shares(plan);
}
