/* Contents and readers of a rank's slots and shares, in every order that the dependencies permit.
 */
#include <stddef.h>

#include "steps/simulate_walk.h"

/* ---- order ---- */

static bool waits_for(const dm_step *step, int64_t index) {
  for (int i = 0; i < DM_STEP_AFTER; i++)
    if (step->after[i] == index) return true;
  return false;
}

bool dm_walk_is_ordered(dm_walk *w, int64_t x, int64_t y) {
  int64_t depth = 0, search = ++w->searches;
  if (waits_for(&w->steps[y], x)) return true;
  w->stack[depth++] = y;
  while (depth > 0) {
    int64_t at = w->stack[--depth];
    if (at == x) return true;
    for (int i = 0; i <= DM_STEP_AFTER; i++) {
      int64_t next = i < DM_STEP_AFTER ? w->steps[at].after[i] : w->previous[at];
      if (next < x || next < 0 || w->seen[next] == search) continue;
      w->seen[next] = search;
      w->stack[depth++] = next;
    }
  }
  return false;
}

dm_status dm_walk_order(dm_walk *w, const dm_step *step) {
  for (int i = 0; i < DM_STEP_AFTER; i++)
    if (step->after[i] < -1 || step->after[i] >= step->index)
      return dm_violated(w, step, "order: waits for step %lld", (long long)step->after[i]);
  return DM_OK;
}

/* ---- slots ---- */

static int64_t panel_of(const dm_walk *w, int64_t turn) {
  return w->layer.begin + turn % dm_range_size(w->layer);
}

int64_t dm_walk_slots(const dm_walk *w, int x, dm_holder holder) {
  return w->buffers.of[dm_buffer_of((dm_matrix)x, holder)].slots;
}

static dm_status slot_of(dm_walk *w, int x, dm_holder ring, const dm_step *step,
                         dm_element_place **found) {
  const int64_t at = dm_route_slot(&w->route[x], step->panel - w->layer.begin, step->slot);
  if (at >= dm_walk_slots(w, x, ring))
    return dm_violated(w, step, "slots: slot %lld of the %lld that the rank has", (long long)at,
                       (long long)dm_walk_slots(w, x, ring));
  *found = &w->ring[x][ring][at];
  return DM_OK;
}

dm_status dm_walk_write_slot(dm_walk *w, int x, dm_holder ring, const dm_step *step) {
  dm_element_place *s = NULL;
  DM_TRY(slot_of(w, x, ring, step, &s));
  if (s->writer >= 0) {
    if (s->reader < 0)
      return dm_violated(w, step, "slots: overwrites panel %lld, which nothing has read",
                         (long long)panel_of(w, s->turn));
    if (!dm_walk_is_ordered(w, s->reader, step->index))
      return dm_violated(w, step, "slots: may overwrite panel %lld while step %lld reads it",
                         (long long)panel_of(w, s->turn), (long long)s->reader);
  }
  *s = (dm_element_place){dm_walk_turn(w, step), step->index, -1};
  return DM_OK;
}

dm_status dm_walk_read_slot(dm_walk *w, int x, dm_holder ring, const dm_step *step) {
  dm_element_place *s = NULL;
  DM_TRY(slot_of(w, x, ring, step, &s));
  if (s->writer < 0 || s->turn != dm_walk_turn(w, step))
    return dm_violated(w, step, "slots: reads panel %lld from slot %d, which does not hold it",
                       (long long)step->panel, step->slot);
  if (!dm_walk_is_ordered(w, s->writer, step->index))
    return dm_violated(w, step, "slots: may read panel %lld before step %lld has written it",
                       (long long)step->panel, (long long)s->writer);
  s->reader = step->index;
  return DM_OK;
}

/* ---- shares ---- */

static int64_t place_of(const dm_walk *w, int x, const dm_step *step) {
  return dm_plan_place_of(w->plan, (dm_matrix)x, dm_range_size(w->layer), step->tile,
                          step->panel - w->layer.begin);
}

dm_status dm_walk_place(const dm_walk *w, const dm_step *step) {
  for (int x = 0; x < 2; x++)
    if (!dm_triangle_shares(w->plan, (dm_matrix)x) &&
        place_of(w, x, step) >= dm_walk_slots(w, x, w->route[x].piece))
      return dm_violated(w, step, "slots: place %lld of %c", (long long)place_of(w, x, step),
                         "AB"[x]);
  return DM_OK;
}

static dm_spot *spot_of(dm_walk *w, int x, const dm_step *step) {
  return &w->share[x][place_of(w, x, step)];
}

static int64_t band_of(const dm_walk *w, int x, const dm_step *step) {
  dm_tile tile = dm_plan_tile(w->plan, step->tile);
  const int64_t down = w->plan->tiles_m / dm_plan_parts(w->plan);
  return x == DM_A ? tile.r : tile.r / down * w->plan->tiles_n + tile.c;
}

static bool holds(dm_walk *w, int x, const dm_step *step) {
  const dm_spot *p = spot_of(w, x, step);
  return p->filled && p->band == band_of(w, x, step) && p->panel == step->panel;
}

/* A piece is loaded after all reads of the previous one, or is left from an earlier tile. */
dm_status dm_walk_load(dm_walk *w, int x, const dm_step *step) {
  dm_spot *p = spot_of(w, x, step);
  w->load[x][dm_walk_turn(w, step)] = step->index;
  if (!step->brings) {
    const int64_t layer = dm_range_size(w->layer), q = step->panel - w->layer.begin;
    const int64_t left = dm_plan_left_by(w->plan, (dm_matrix)x, step->tile, q);
    if (left < 0 || !holds(w, x, step))
      return dm_violated(w, step, "slots: panel %lld is not there", (long long)step->panel);
    if (!dm_walk_is_ordered(w, w->load[x][dm_plan_todo_place(w->plan, left) * layer + q],
                            step->index))
      return dm_violated(w, step, "slots: panel %lld may not be there yet", (long long)step->panel);
    return DM_OK;
  }
  if (p->filled && p->reader < 0 && p->strip < 0)
    return dm_violated(w, step, "slots: overwrites panel %lld, which nothing has read",
                       (long long)p->panel);
  for (int64_t r = p->reader; r >= 0; r = w->next[x][r])
    if (!dm_walk_is_ordered(w, r, step->index))
      return dm_violated(w, step, "slots: may overwrite panel %lld while step %lld reads it",
                         (long long)p->panel, (long long)r);
  if (p->strip >= 0 && !dm_walk_is_ordered(w, p->strip, step->index))
    return dm_violated(w, step, "slots: may overwrite panel %lld while strips read it",
                       (long long)p->panel);
  *p = (dm_spot){band_of(w, x, step), step->panel, -1, -1, true};
  return DM_OK;
}

dm_status dm_walk_read_share(dm_walk *w, int x, const dm_step *step) {
  dm_spot *p = spot_of(w, x, step);
  if (!holds(w, x, step) || !dm_walk_is_ordered(w, w->load[x][dm_walk_turn(w, step)], step->index))
    return dm_violated(w, step, "slots: may read the share of %s before it is loaded",
                       x == DM_A ? "A" : "B");
  if (step->kind == DM_STEP_STRIP) {
    p->strip = step->index; /* products run in order: the last one represents all */
    return DM_OK;
  }
  w->next[x][step->index] = p->reader;
  p->reader = step->index;
  return DM_OK;
}

dm_status dm_walk_read_whole(dm_walk *w, int x, const dm_step *step) {
  const dm_plan *plan = w->plan;
  dm_coords at = dm_plan_coords(plan, w->rank);
  int64_t has = x == DM_A ? dm_range_size(dm_plan_a_share(plan, step->tile, at.i, at.j))
                          : dm_plan_b_share_rows(plan, at.i, at.l);
  int64_t whole =
      dm_range_size(x == DM_A ? dm_plan_rows(plan, step->tile, at.i) : dm_plan_layer_k(plan, at.l));
  if (has != whole)
    return dm_violated(w, step, "products: has %lld of %lld rows of %s", (long long)has,
                       (long long)whole, x == DM_A ? "A" : "B");
  return dm_walk_read_share(w, x, step);
}
