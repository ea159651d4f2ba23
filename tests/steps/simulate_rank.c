/* One rank's list: products in order, slots used safely, sums and stores once, after the products.
 */
#include <stdlib.h>

#include "core/buffer.h"
#include "steps/simulate_walk.h"

/* ---- steps ---- */

/* Position of the step's tile among those to compute. */
static int64_t place_of(const dm_walk *w, const dm_step *step) {
  return dm_plan_todo_place(w->plan, step->tile);
}

/* Peers' pieces go to the slot to which this rank uploaded its own, or to an unused one. */
static dm_status check_fetch(dm_walk *w, int x, const dm_step *step) {
  const dm_route *route = &w->route[x];
  if (!route->fetched) return dm_violated(w, step, "matching: nobody to fetch from");
  DM_TRY(route->exposed == route->piece ? dm_walk_read_share(w, x, step)
                                        : dm_walk_read_slot(w, x, route->exposed, step));
  return dm_walk_write_slot(w, x, route->gathered, step);
}

static dm_status check_upload(dm_walk *w, int x, const dm_step *step) {
  const dm_route *route = &w->route[x];
  if (!route->uploaded) return dm_violated(w, step, "slots: there is nothing to upload");
  if (route->exposed != route->piece)
    DM_TRY(dm_walk_read_share(w, x, step));
  else
    DM_TRY(route->fetched ? dm_walk_read_slot(w, x, route->gathered, step)
                          : dm_walk_read_whole(w, x, step));
  return dm_walk_write_slot(w, x, DM_DEVICE_RING, step);
}

/* What is read as both is read once. */
static dm_status read_factors(dm_walk *w, const dm_step *step) {
  for (int x = 0; x < 2; x++)
    if (!dm_triangle_shares(w->plan, (dm_matrix)x))
      DM_TRY(w->route[x].operand == DM_SHARE ? dm_walk_read_whole(w, x, step)
                                             : dm_walk_read_slot(w, x, w->route[x].operand, step));
  return DM_OK;
}

static int64_t panel_of(const dm_walk *w, int64_t turn) {
  return w->layer.begin + turn % dm_range_size(w->layer);
}

/* Panels that strips multiply: the last ones. */
static bool is_kept(const dm_walk *w, const dm_step *step) {
  return w->plan->strips > 0 && step->panel >= w->layer.end - w->plan->stretch;
}

static dm_status check_gemm(dm_walk *w, const dm_step *step) {
  const int64_t turn = dm_walk_turn(w, step), layer = dm_range_size(w->layer);
  const int64_t before = place_of(w, step) - w->plan->blocks; /* used the same block */
  if (turn != w->turns)
    return dm_violated(w, step, "products: multiplies panel %lld of tile %lld where %lld is next",
                       (long long)step->panel, (long long)step->tile,
                       (long long)panel_of(w, w->turns));
  if (turn % layer == 0 && before >= 0 &&
      (w->stored.count <= before || !dm_walk_is_ordered(w, w->stores[before % 2], step->index)))
    return dm_violated(w, step, "products: may overwrite the block before it is stored");
  if (is_kept(w, step))
    return dm_violated(w, step, "products: panel %lld is left to the strips",
                       (long long)step->panel);
  w->previous[step->index] = w->gemm;
  DM_TRY(read_factors(w, step));
  w->gemm = step->index;
  w->turns++;
  return DM_OK;
}

/* ---- strips ---- */

static dm_status check_keep(dm_walk *w, const dm_step *step) {
  if (!is_kept(w, step) || dm_walk_turn(w, step) != w->turns + w->kept++)
    return dm_violated(w, step, "products: keeps panel %lld out of turn", (long long)step->panel);
  return DM_OK;
}

/* In order, each with all the kept panels, after all other panels. */
static dm_status check_strip(dm_walk *w, const dm_step *step) {
  if (step->strip != w->strips || step->strip >= dm_plan_strips(w->plan))
    return dm_violated(w, step, "products: strip %lld where %lld is next", (long long)step->strip,
                       (long long)w->strips);
  if (w->turns + w->kept != dm_range_size(w->layer))
    return dm_violated(w, step, "products: panels are missing");
  w->previous[step->index] = w->gemm;
  dm_step one = *step;
  for (one.panel = w->layer.end - w->plan->stretch; one.panel < w->layer.end; one.panel++)
    DM_TRY(read_factors(w, &one));
  w->gemm = w->product[w->strips++] = step->index;
  return DM_OK;
}

/* The steps that must precede STEP at the end of a tile or strip, besides its products; NULL: none.
 */
static const dm_ends *needed_by(const dm_walk *w, const dm_step *step) {
  const dm_finish_place place = w->plan->problem.compute.finish;
  const dm_ends *reduced = w->plan->pk > 1 ? &w->reduced : NULL;
  if (step->kind == DM_STEP_REDUCE) return place == DM_FINISH_FIRST ? &w->finished : NULL;
  if (step->kind == DM_STEP_FINISH) return place == DM_FINISH_LAST ? reduced : NULL;
  return place == DM_FINISH_LAST || (place == DM_FINISH_FIRST && !reduced) ? &w->finished : reduced;
}

static bool by_owner_alone(const dm_walk *w, const dm_step *step) {
  return step->kind == DM_STEP_STORE ||
         (step->kind == DM_STEP_FINISH && w->plan->problem.compute.finish == DM_FINISH_LAST);
}

/* FINISH, REDUCE or STORE of a strip: for all strips in order; steps of owners only for every pk-th
 * strip. */
static dm_status check_strip_end(dm_walk *w, dm_ends *ends, const dm_step *step) {
  const dm_coords at = dm_plan_coords(w->plan, w->rank);
  const int64_t x = step->strip, pk = w->plan->pk;
  const bool alone = by_owner_alone(w, step);
  const int64_t next = alone ? at.l + ends->count * pk : ends->count;
  const dm_ends *needed = needed_by(w, step);
  const bool stores = step->kind == DM_STEP_STORE;
  if (x != next || x >= dm_plan_strips(w->plan) || (!stores && x >= w->strips) ||
      (alone && dm_plan_strip(w->plan, at.i, x).owner != at.l))
    return dm_violated(w, step, "products: %s strip %lld where %lld is next",
                       stores ? "stores" : "sums", (long long)x, (long long)next);
  const int64_t before = needed ? needed->of[x] : x < w->strips ? w->product[x] : -1;
  if (before < 0 || !dm_walk_is_ordered(w, before, step->index))
    return stores || needed
               ? dm_violated(w, step, "products: may %s strip %lld before it is complete",
                             stores ? "store" : "sum", (long long)x)
               : dm_violated(w, step, "products: may start before the strip's product is done");
  if (step->kind == DM_STEP_REDUCE && x > 0 && !dm_walk_is_ordered(w, ends->of[x - 1], step->index))
    return dm_violated(w, step, "matching: may start before the sum of the strip before");
  if (step->kind == DM_STEP_STORE && ends->count > 0 &&
      !dm_walk_is_ordered(w, ends->last, step->index))
    return dm_violated(w, step, "products: may start before the strip before is stored");
  ends->last = ends->of[x] = step->index;
  ends->count++;
  return DM_OK;
}

/* ---- checks and the end of a tile ---- */

static bool checks(const dm_walk *w) {
  return w->plan->problem.verify && dm_plan_streams(w->plan);
}

static dm_status check_check(dm_walk *w, const dm_step *step) {
  if (!checks(w)) return dm_violated(w, step, "products: the shares stay, and are checked there");
  if (dm_walk_turn(w, step) != w->checked++)
    return dm_violated(w, step, "products: checks panel %lld out of turn", (long long)step->panel);
  if (w->check >= 0 && !dm_walk_is_ordered(w, w->check, step->index))
    return dm_violated(w, step, "matching: may start before the check of the panel before");
  for (int x = 0; x < 2; x++)
    if (!dm_triangle_shares(w->plan, (dm_matrix)x)) DM_TRY(dm_walk_read_share(w, x, step));
  w->check = step->index;
  return DM_OK;
}

/* FINISH, REDUCE and STORE, if the plan has such steps, once per tile, in order. */
static dm_status check_end(dm_walk *w, dm_ends *ends, const dm_step *step) {
  const dm_plan *plan = w->plan;
  if (step->kind == DM_STEP_FINISH && plan->problem.compute.finish == DM_NO_FINISH)
    return dm_violated(w, step, "products: there is nothing to finish");
  if (plan->strips > 0) return check_strip_end(w, ends, step);
  const int64_t tile = place_of(w, step);
  const int64_t turns = dm_range_size(w->layer) * (tile + 1);
  const dm_ends *needed = needed_by(w, step);
  if (tile != ends->count)
    return dm_violated(w, step, "products: tile %lld where %lld is next", (long long)step->tile,
                       (long long)ends->count);
  if (turns != w->turns) return dm_violated(w, step, "products: panels are missing");
  if (w->gemm >= 0 && !dm_walk_is_ordered(w, w->gemm, step->index))
    return dm_violated(w, step, "products: may start before the last product is done");
  if (needed && (needed->count != tile + 1 || !dm_walk_is_ordered(w, needed->last, step->index)))
    return dm_violated(w, step, "products: may %s before the sum %s",
                       step->kind == DM_STEP_STORE ? "store" : "add up",
                       needed == &w->reduced ? "over layers" : "is finished");
  if (tile > 0 && !dm_walk_is_ordered(w, w->stored.last, step->index))
    return dm_violated(w, step, "products: may start before the tile before is stored");
  ends->last = step->index;
  ends->count++;
  return DM_OK;
}

static dm_status check_step(dm_walk *w, const dm_step *step) {
  const bool has_panel = step->kind <= DM_STEP_KEEP;
  if (step->tile < 0 || step->tile >= dm_plan_tiles(w->plan) || place_of(w, step) < 0)
    return dm_violated(w, step, "products: tile %lld", (long long)step->tile);
  if (has_panel && (step->panel < w->layer.begin || step->panel >= w->layer.end || step->slot < 0 ||
                    step->slot >= w->plan->slots))
    return dm_violated(w, step, "products: panel %lld in slot %d", (long long)step->panel,
                       step->slot);
  if (has_panel) DM_TRY(dm_walk_place(w, step));
  DM_TRY(dm_walk_order(w, step));
  switch (step->kind) {
  case DM_STEP_LOAD_A:
    return dm_walk_load(w, DM_A, step);
  case DM_STEP_LOAD_B:
    return dm_walk_load(w, DM_B, step);
  case DM_STEP_CHECK:
    return check_check(w, step);
  case DM_STEP_FETCH_A:
    return check_fetch(w, DM_A, step);
  case DM_STEP_FETCH_B:
    return check_fetch(w, DM_B, step);
  case DM_STEP_UPLOAD_A:
    return check_upload(w, DM_A, step);
  case DM_STEP_UPLOAD_B:
    return check_upload(w, DM_B, step);
  case DM_STEP_GEMM:
    return check_gemm(w, step);
  case DM_STEP_KEEP:
    return check_keep(w, step);
  case DM_STEP_STRIP:
    return check_strip(w, step);
  case DM_STEP_FINISH:
    return check_end(w, &w->finished, step);
  case DM_STEP_REDUCE:
    return check_end(w, &w->reduced, step);
  case DM_STEP_STORE:
    DM_TRY(check_end(w, &w->stored, step));
    w->stores[(place_of(w, step)) % 2] = step->index;
    return DM_OK;
  case DM_STEP_KINDS:
    break;
  }
  return dm_violated(w, step, "products: no such step");
}

/* ---- the list ---- */

static dm_status check_ends(const dm_walk *w) {
  const dm_plan *plan = w->plan;
  const int64_t tiles = dm_plan_todo(plan);
  const int64_t stores = plan->strips > 0 ? tiles * plan->strips : tiles;
  const int64_t sums = plan->strips > 0 ? tiles * dm_plan_strips(plan) : tiles;
  const dm_finish_place place = plan->problem.compute.finish;
  const int64_t finishes = place == DM_FINISH_FIRST ? sums : place == DM_FINISH_LAST ? stores : 0;
  if (w->stored.count == stores && w->reduced.count == (plan->pk > 1 ? sums : 0) &&
      w->finished.count == finishes)
    return DM_OK;
  return dm_fail(DM_E_BUG, "products: rank %d stores %lld of %lld tiles or strips", w->rank,
                 (long long)w->stored.count, (long long)stores);
}

static dm_status take_steps(dm_walk *w, const dm_simulation *simulation) {
  dm_cursor cursor;
  dm_step step;
  dm_cursor_start(&cursor, w->plan, w->rank);
  for (int64_t index = 0; simulation->source(simulation->context, &cursor, &step); index++) {
    if (step.index != index || index >= w->count)
      return dm_violated(w, &step, "order: stands at place %lld of %lld", (long long)index,
                         (long long)w->count);
    w->steps[index] = step;
    w->previous[index] = -1;
    DM_TRY(check_step(w, &step));
  }
  DM_TRY(check_ends(w));
  if (checks(w) && w->checked != w->turns)
    return dm_fail(DM_E_BUG, "products: rank %d checks %lld of %lld panels", w->rank,
                   (long long)w->checked, (long long)w->turns);
  return DM_OK;
}

static dm_status allocate(dm_walk *w) {
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->steps, (void **)&w->steps));
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->seen, (void **)&w->seen));
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->stack, (void **)&w->stack));
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->previous, (void **)&w->previous));
  DM_TRY(dm_buffer_zeroed(dm_plan_strips(w->plan), sizeof *w->product, (void **)&w->product));
  dm_ends *ends[] = {&w->finished, &w->reduced, &w->stored};
  for (int i = 0; i < 3; i++) {
    const int64_t strips = dm_plan_strips(w->plan);
    DM_TRY(dm_buffer_zeroed(strips, sizeof *ends[i]->of, (void **)&ends[i]->of));
    for (int64_t x = 0; x < strips; x++) ends[i]->of[x] = -1;
  }
  for (int x = 0; x < 2; x++) {
    const int64_t places = dm_walk_slots(w, x, w->route[x].piece);
    DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->next[x], (void **)&w->next[x]));
    DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->load[x], (void **)&w->load[x]));
    DM_TRY(dm_buffer_zeroed(places, sizeof *w->share[x], (void **)&w->share[x]));
    for (int64_t i = 0; i < places; i++) w->share[x][i] = (dm_spot){-1, -1, -1, -1, false};
    for (int ring = DM_HOST_RING; ring < DM_HOLDERS; ring++) {
      const int64_t slots = dm_walk_slots(w, x, (dm_holder)ring);
      DM_TRY(dm_buffer_zeroed(slots, sizeof(dm_element_place), (void **)&w->ring[x][ring]));
      for (int64_t s = 0; s < slots; s++) w->ring[x][ring][s] = (dm_element_place){-1, -1, -1};
    }
  }
  return DM_OK;
}

static void release(dm_walk *w) {
  free(w->steps);
  free(w->seen);
  free(w->stack);
  free(w->previous);
  free(w->product);
  free(w->finished.of);
  free(w->reduced.of);
  free(w->stored.of);
  for (int x = 0; x < 2; x++) {
    free(w->share[x]);
    free(w->next[x]);
    free(w->load[x]);
    for (int ring = 0; ring < DM_HOLDERS; ring++) free(w->ring[x][ring]);
  }
}

static int64_t count_steps(const dm_plan *plan, int rank) {
  int64_t count = 0;
  dm_cursor cursor;
  dm_step step;
  dm_cursor_start(&cursor, plan, rank);
  while (dm_cursor_next(&cursor, &step)) count++;
  return count;
}

dm_status dm_simulate_rank(const dm_simulation *simulation, int rank) {
  const dm_plan *plan = simulation->plan;
  dm_coords coords = dm_plan_coords(plan, rank);
  if (coords.idle) return DM_OK;
  dm_walk w = {.plan = plan,
               .rank = rank,
               .layer = dm_plan_layer(plan, coords.l),
               .route = {dm_plan_route(plan, DM_A), dm_plan_route(plan, DM_B)},
               .count = count_steps(plan, rank),
               .gemm = -1,
               .check = -1};
  dm_plan_buffers(plan, coords, &w.buffers);
  dm_status status = allocate(&w);
  if (!status) status = take_steps(&w, simulation);
  release(&w);
  return status;
}
