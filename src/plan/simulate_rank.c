/* One rank's list: products in order, and slots that are safe in every order that the dependencies
 * permit.  The list is walked once in its own order, which is a permitted one; each pair of steps
 * that must not change places is then shown to be ordered by a chain of dependencies. */
#include <stdlib.h>

#include "core/buffer.h"
#include "plan/partition.h"
#include "plan/simulate.h"

enum { A, B };
enum { STAGING, COMPUTE }; /* the ring that FETCH fills before UPLOAD, the one that GEMM reads */

/* What a slot holds: steps by index, -1 for none. */
typedef struct slot {
  int64_t turn, writer, reader;
} slot;

/* What a place of a share holds: whether a LOAD brought something, and what.  Its readers are a
 * list through walk.next. */
typedef struct spot {
  int64_t band, panel, reader;
  bool filled;
} spot;

typedef struct walk {
  const dm_plan *plan;
  int rank;
  dm_range layer;
  dm_step *steps;
  int64_t count;
  int64_t *seen; /* per step: the last search that came by */
  int64_t *stack;
  int64_t searches;
  int64_t *previous; /* per product: the one before it */
  slot *ring[2][2];  /* [A or B][staging or compute] */
  spot *share[2];
  int64_t *next[2]; /* per step: the reader of the same place before it */
  int64_t *load[2]; /* per turn: its LOAD, which brought the piece or follows the one that did */
  int64_t turns;    /* multiplied so far */
  int64_t gemm, reduce, store, check;
  int64_t stores[2];                /* of the last two tiles */
  int64_t checked, reduced, stored; /* so far: turns, tiles */
} walk;

#define violated(w, step, ...)                                                                     \
  dm_context(dm_fail(DM_E_BUG, __VA_ARGS__), "rank %d, step %lld (%s)", (w)->rank,                 \
             (long long)(step)->index, dm_step_name((step)->kind))

/* ---- order ---- */

static bool waits_for(const dm_step *step, int64_t index) {
  for (int i = 0; i < DM_STEP_AFTER; i++)
    if (step->after[i] == index) return true;
  return false;
}

/* Whether step X is done before step Y starts in every permitted order.  The backend runs products
 * in the order of the list, which counts as a dependency. */
static bool is_ordered(walk *w, int64_t x, int64_t y) {
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

static dm_status check_order(walk *w, const dm_step *step) {
  for (int i = 0; i < DM_STEP_AFTER; i++)
    if (step->after[i] < -1 || step->after[i] >= step->index)
      return violated(w, step, "order: waits for step %lld", (long long)step->after[i]);
  return DM_OK;
}

static int64_t turn_of(const walk *w, const dm_step *step) {
  return dm_step_turn(w->plan, step, w->layer);
}

/* ---- slots ---- */

static int64_t panel_of(const walk *w, int64_t turn) {
  return w->layer.begin + turn % dm_range_size(w->layer);
}

static slot *slot_of(walk *w, int x, int ring, const dm_step *step) {
  return &w->ring[x][ring][step->slot];
}

static dm_status write_slot(walk *w, int x, int ring, const dm_step *step) {
  slot *s = slot_of(w, x, ring, step);
  if (s->writer >= 0) {
    if (s->reader < 0)
      return violated(w, step, "slots: overwrites panel %lld, which nothing has read",
                      (long long)panel_of(w, s->turn));
    if (!is_ordered(w, s->reader, step->index))
      return violated(w, step, "slots: may overwrite panel %lld while step %lld reads it",
                      (long long)panel_of(w, s->turn), (long long)s->reader);
  }
  *s = (slot){turn_of(w, step), step->index, -1};
  return DM_OK;
}

static dm_status read_slot(walk *w, int x, int ring, const dm_step *step) {
  slot *s = slot_of(w, x, ring, step);
  if (s->writer < 0 || s->turn != turn_of(w, step))
    return violated(w, step, "slots: reads panel %lld from slot %d, which does not hold it",
                    (long long)step->panel, step->slot);
  if (!is_ordered(w, s->writer, step->index))
    return violated(w, step, "slots: may read panel %lld before step %lld has written it",
                    (long long)step->panel, (long long)s->writer);
  s->reader = step->index;
  return DM_OK;
}

/* ---- shares ---- */

static spot *spot_of(walk *w, int x, const dm_step *step) {
  return &w->share[x][dm_plan_place_of(w->plan, (dm_matrix)x, dm_range_size(w->layer), step->tile,
                                       step->panel - w->layer.begin)];
}

static int64_t band_of(const walk *w, int x, const dm_step *step) {
  dm_tile tile = dm_plan_tile(w->plan, step->tile);
  return x == A ? tile.r : tile.c;
}

static bool holds(walk *w, int x, const dm_step *step) {
  const spot *p = spot_of(w, x, step);
  return p->filled && p->band == band_of(w, x, step) && p->panel == step->panel;
}

/* A piece is brought when all that read the one before it are done, or was left by an earlier tile.
 */
static dm_status check_load(walk *w, int x, const dm_step *step) {
  spot *p = spot_of(w, x, step);
  w->load[x][turn_of(w, step)] = step->index;
  if (!step->brings) {
    const int64_t layer = dm_range_size(w->layer), q = step->panel - w->layer.begin;
    const int64_t left = dm_plan_left_by(w->plan, (dm_matrix)x, step->tile, q);
    if (left < 0 || !holds(w, x, step))
      return violated(w, step, "slots: panel %lld is not there", (long long)step->panel);
    if (!is_ordered(w, w->load[x][(left - w->plan->done) * layer + q], step->index))
      return violated(w, step, "slots: panel %lld may not be there yet", (long long)step->panel);
    return DM_OK;
  }
  if (p->filled && p->reader < 0)
    return violated(w, step, "slots: overwrites panel %lld, which nothing has read",
                    (long long)p->panel);
  for (int64_t r = p->reader; r >= 0; r = w->next[x][r])
    if (!is_ordered(w, r, step->index))
      return violated(w, step, "slots: may overwrite panel %lld while step %lld reads it",
                      (long long)p->panel, (long long)r);
  *p = (spot){band_of(w, x, step), step->panel, -1, true};
  return DM_OK;
}

static dm_status read_share(walk *w, int x, const dm_step *step) {
  spot *p = spot_of(w, x, step);
  if (!holds(w, x, step) || !is_ordered(w, w->load[x][turn_of(w, step)], step->index))
    return violated(w, step, "slots: may read the share of %s before it is loaded",
                    x == A ? "A" : "B");
  w->next[x][step->index] = p->reader;
  p->reader = step->index;
  return DM_OK;
}

/* What is not gathered must be there as a whole. */
static dm_status read_whole(walk *w, int x, const dm_step *step) {
  const dm_plan *plan = w->plan;
  dm_coords at = dm_plan_coords(plan, w->rank);
  int64_t has = x == A ? dm_range_size(dm_plan_a_share(plan, step->tile, at.i, at.j))
                       : dm_plan_b_share_rows(plan, at.i, at.l);
  int64_t whole =
      dm_range_size(x == A ? dm_plan_rows(plan, step->tile, at.i) : dm_plan_layer_k(plan, at.l));
  if (has != whole)
    return violated(w, step, "products: has %lld of %lld rows of %s", (long long)has,
                    (long long)whole, x == A ? "A" : "B");
  return read_share(w, x, step);
}

/* ---- steps ---- */

static bool fetches(const walk *w, int x) {
  return x == A ? dm_plan_fetches_a(w->plan) : dm_plan_fetches_b(w->plan);
}

static bool uploads(const walk *w, int x) {
  return x == A ? dm_plan_uploads_a(w->plan) : dm_plan_uploads_b(w->plan);
}

static bool uploads_first(const walk *w, int x) {
  return dm_plan_uploads_first(w->plan, (dm_matrix)x);
}

/* Pieces of the peers come to the slot that this rank's own one was uploaded to. */
static dm_status check_fetch(walk *w, int x, const dm_step *step) {
  if (!fetches(w, x)) return violated(w, step, "matching: nobody to fetch from");
  DM_TRY(uploads_first(w, x) ? read_slot(w, x, COMPUTE, step) : read_share(w, x, step));
  return write_slot(w, x, uploads(w, x) && !uploads_first(w, x) ? STAGING : COMPUTE, step);
}

static dm_status check_upload(walk *w, int x, const dm_step *step) {
  if (!uploads(w, x)) return violated(w, step, "slots: there is nothing to upload");
  if (uploads_first(w, x))
    DM_TRY(read_share(w, x, step));
  else
    DM_TRY(fetches(w, x) ? read_slot(w, x, STAGING, step) : read_whole(w, x, step));
  return write_slot(w, x, COMPUTE, step);
}

static dm_status check_gemm(walk *w, const dm_step *step) {
  const int64_t turn = turn_of(w, step), layer = dm_range_size(w->layer);
  const int64_t before = step->tile - w->plan->done - w->plan->blocks; /* had the same block */
  if (turn != w->turns)
    return violated(w, step, "products: multiplies panel %lld of tile %lld where %lld is next",
                    (long long)step->panel, (long long)step->tile,
                    (long long)panel_of(w, w->turns));
  if (turn % layer == 0 && before >= 0 &&
      (w->stored <= before || !is_ordered(w, w->stores[before % 2], step->index)))
    return violated(w, step, "products: may overwrite the block before it is stored");
  w->previous[step->index] = w->gemm;
  for (int x = 0; x < 2; x++)
    DM_TRY(fetches(w, x) || uploads(w, x) ? read_slot(w, x, COMPUTE, step)
                                          : read_whole(w, x, step));
  w->gemm = step->index;
  w->turns++;
  return DM_OK;
}

static bool checks(const walk *w) {
  return w->plan->problem.verify && dm_plan_streams(w->plan);
}

static dm_status check_check(walk *w, const dm_step *step) {
  if (!checks(w)) return violated(w, step, "products: the shares stay, and are checked there");
  if (turn_of(w, step) != w->checked++)
    return violated(w, step, "products: checks panel %lld out of turn", (long long)step->panel);
  if (w->check >= 0 && !is_ordered(w, w->check, step->index))
    return violated(w, step, "matching: may start before the check of the panel before");
  for (int x = 0; x < 2; x++) DM_TRY(read_share(w, x, step));
  w->check = step->index;
  return DM_OK;
}

/* REDUCE and STORE, once for each tile, in order. */
static dm_status check_end(walk *w, int64_t *where, int64_t *so_far, const dm_step *step) {
  const int64_t tile = step->tile - w->plan->done;
  const int64_t turns = dm_range_size(w->layer) * (tile + 1);
  if (tile != *so_far)
    return violated(w, step, "products: tile %lld where %lld is next", (long long)step->tile,
                    (long long)*so_far);
  if (turns != w->turns) return violated(w, step, "products: panels are missing");
  if (w->gemm >= 0 && !is_ordered(w, w->gemm, step->index))
    return violated(w, step, "products: may start before the last product is done");
  if (step->kind == DM_STEP_STORE && w->plan->pk > 1 &&
      (w->reduced != tile + 1 || !is_ordered(w, w->reduce, step->index)))
    return violated(w, step, "products: may store before the sum over layers");
  if (tile > 0 && !is_ordered(w, w->store, step->index))
    return violated(w, step, "products: may start before the tile before is stored");
  *where = step->index;
  ++*so_far;
  return DM_OK;
}

static dm_status check_step(walk *w, const dm_step *step) {
  const bool has_panel = step->kind <= DM_STEP_GEMM;
  if (step->tile < w->plan->done || step->tile >= dm_plan_tiles(w->plan))
    return violated(w, step, "products: tile %lld", (long long)step->tile);
  if (has_panel && (step->panel < w->layer.begin || step->panel >= w->layer.end || step->slot < 0 ||
                    step->slot >= w->plan->slots))
    return violated(w, step, "products: panel %lld in slot %d", (long long)step->panel, step->slot);
  DM_TRY(check_order(w, step));
  switch (step->kind) {
  case DM_STEP_LOAD_A:
    return check_load(w, A, step);
  case DM_STEP_LOAD_B:
    return check_load(w, B, step);
  case DM_STEP_CHECK:
    return check_check(w, step);
  case DM_STEP_FETCH_A:
    return check_fetch(w, A, step);
  case DM_STEP_FETCH_B:
    return check_fetch(w, B, step);
  case DM_STEP_UPLOAD_A:
    return check_upload(w, A, step);
  case DM_STEP_UPLOAD_B:
    return check_upload(w, B, step);
  case DM_STEP_GEMM:
    return check_gemm(w, step);
  case DM_STEP_REDUCE:
    return check_end(w, &w->reduce, &w->reduced, step);
  case DM_STEP_STORE:
    DM_TRY(check_end(w, &w->store, &w->stored, step));
    w->stores[(step->tile - w->plan->done) % 2] = step->index;
    return DM_OK;
  case DM_STEP_KINDS:
    break;
  }
  return violated(w, step, "products: no such step");
}

/* ---- the list ---- */

static dm_status take_steps(walk *w, const dm_simulation *simulation) {
  dm_cursor cursor;
  dm_step step;
  dm_cursor_start(&cursor, w->plan, w->rank);
  for (int64_t index = 0; simulation->source(simulation->context, &cursor, &step); index++) {
    if (step.index != index || index >= w->count)
      return violated(w, &step, "order: stands at place %lld of %lld", (long long)index,
                      (long long)w->count);
    w->steps[index] = step;
    w->previous[index] = -1;
    DM_TRY(check_step(w, &step));
  }
  const int64_t tiles = dm_plan_tiles(w->plan) - w->plan->done;
  if (w->stored != tiles || w->reduced != (w->plan->pk > 1 ? tiles : 0))
    return dm_fail(DM_E_BUG, "products: rank %d stores %lld of %lld tiles", w->rank,
                   (long long)w->stored, (long long)tiles);
  if (checks(w) && w->checked != w->turns)
    return dm_fail(DM_E_BUG, "products: rank %d checks %lld of %lld panels", w->rank,
                   (long long)w->checked, (long long)w->turns);
  return DM_OK;
}

static dm_status allocate(walk *w) {
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->steps, (void **)&w->steps));
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->seen, (void **)&w->seen));
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->stack, (void **)&w->stack));
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->previous, (void **)&w->previous));
  for (int x = 0; x < 2; x++) {
    const int64_t places = dm_plan_places(w->plan, (dm_matrix)x, dm_range_size(w->layer));
    DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->next[x], (void **)&w->next[x]));
    DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->load[x], (void **)&w->load[x]));
    DM_TRY(dm_buffer_zeroed(places, sizeof *w->share[x], (void **)&w->share[x]));
    for (int64_t i = 0; i < places; i++) w->share[x][i] = (spot){-1, -1, -1, false};
    for (int ring = 0; ring < 2; ring++) {
      DM_TRY(dm_buffer_zeroed(w->plan->slots, sizeof(slot), (void **)&w->ring[x][ring]));
      for (int s = 0; s < w->plan->slots; s++) w->ring[x][ring][s] = (slot){-1, -1, -1};
    }
  }
  return DM_OK;
}

static void release(walk *w) {
  free(w->steps);
  free(w->seen);
  free(w->stack);
  free(w->previous);
  for (int x = 0; x < 2; x++) {
    free(w->share[x]);
    free(w->next[x]);
    free(w->load[x]);
    for (int ring = 0; ring < 2; ring++) free(w->ring[x][ring]);
  }
}

dm_status dm_simulate_rank(const dm_simulation *simulation, int rank) {
  const dm_plan *plan = simulation->plan;
  dm_coords coords = dm_plan_coords(plan, rank);
  if (coords.idle) return DM_OK;
  walk w = {.plan = plan,
            .rank = rank,
            .layer = dm_plan_layer(plan, coords.l),
            .count = dm_steps_count(plan, rank),
            .gemm = -1,
            .reduce = -1,
            .store = -1,
            .check = -1};
  dm_status status = allocate(&w);
  if (!status) status = take_steps(&w, simulation);
  release(&w);
  return status;
}
