/* One rank's list: products in order, and slots that are safe in every order that the dependencies
 * permit.  The list is walked once in its own order, which is a permitted one; each pair of steps
 * that must not change places is then shown to be ordered by a chain of dependencies. */
#include <stdlib.h>

#include "core/buffer.h"
#include "plan/simulate.h"

enum { A, B };
enum { STAGING, COMPUTE }; /* the ring that FETCH fills before UPLOAD, the one that GEMM reads */

/* What a slot holds: steps by index, -1 for none. */
typedef struct slot {
  int64_t panel, writer, reader;
} slot;

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
  int64_t load[2], gemm, reduce, store;
  bool *loaded[2]; /* per step: ordered after that load */
} walk;

#define violated(w, step, ...)                                                                     \
  dm_context(dm_fail(DM_E_BUG, __VA_ARGS__), "rank %d, step %lld (%s)", (w)->rank,                 \
             (long long)(step)->index, dm_step_name((step)->kind))

/* ---- order ---- */

/* Whether step X is done before step Y starts in every permitted order.  The backend runs products
 * in the order of the list, which counts as a dependency. */
static bool is_ordered(walk *w, int64_t x, int64_t y) {
  int64_t depth = 0, search = ++w->searches;
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

static dm_status note_order(walk *w, const dm_step *step) {
  for (int i = 0; i < DM_STEP_AFTER; i++) {
    int64_t before = step->after[i];
    if (before < -1 || before >= step->index)
      return violated(w, step, "order: waits for step %lld", (long long)before);
    for (int x = 0; x < 2 && before >= 0; x++)
      w->loaded[x][step->index] |= before == w->load[x] || w->loaded[x][before];
  }
  return DM_OK;
}

/* ---- slots ---- */

static slot *slot_of(walk *w, int x, int ring, const dm_step *step) {
  return &w->ring[x][ring][step->slot];
}

static dm_status write_slot(walk *w, int x, int ring, const dm_step *step) {
  slot *s = slot_of(w, x, ring, step);
  if (s->writer >= 0) {
    if (s->reader < 0)
      return violated(w, step, "slots: overwrites panel %lld, which nothing has read",
                      (long long)s->panel);
    if (!is_ordered(w, s->reader, step->index))
      return violated(w, step, "slots: may overwrite panel %lld while step %lld reads it",
                      (long long)s->panel, (long long)s->reader);
  }
  *s = (slot){step->panel, step->index, -1};
  return DM_OK;
}

static dm_status read_slot(walk *w, int x, int ring, const dm_step *step) {
  slot *s = slot_of(w, x, ring, step);
  if (s->writer < 0 || s->panel != step->panel)
    return violated(w, step, "slots: reads panel %lld from slot %d, which does not hold it",
                    (long long)step->panel, step->slot);
  if (!is_ordered(w, s->writer, step->index))
    return violated(w, step, "slots: may read panel %lld before step %lld has written it",
                    (long long)step->panel, (long long)s->writer);
  s->reader = step->index;
  return DM_OK;
}

static dm_status read_share(walk *w, int x, const dm_step *step) {
  if (w->loaded[x][step->index]) return DM_OK;
  return violated(w, step, "slots: may read the share of %s before it is loaded",
                  x == A ? "A" : "B");
}

/* What is not gathered must be there as a whole. */
static dm_status read_whole(walk *w, int x, const dm_step *step) {
  const dm_plan *plan = w->plan;
  dm_place at = dm_plan_place(plan, w->rank);
  int64_t has = x == A ? dm_range_size(dm_plan_a_share(plan, at.i, at.j))
                       : dm_plan_b_share_rows(plan, at.i, at.l);
  int64_t whole = dm_range_size(x == A ? dm_plan_rows(plan, at.i) : dm_plan_layer_k(plan, at.l));
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

static dm_status check_fetch(walk *w, int x, const dm_step *step) {
  if (!fetches(w, x)) return violated(w, step, "matching: nobody to fetch from");
  DM_TRY(read_share(w, x, step));
  return write_slot(w, x, uploads(w, x) ? STAGING : COMPUTE, step);
}

static dm_status check_upload(walk *w, int x, const dm_step *step) {
  if (!uploads(w, x)) return violated(w, step, "slots: there is nothing to upload");
  DM_TRY(fetches(w, x) ? read_slot(w, x, STAGING, step) : read_whole(w, x, step));
  return write_slot(w, x, COMPUTE, step);
}

static dm_status check_gemm(walk *w, const dm_step *step) {
  int64_t expected = w->gemm < 0 ? w->layer.begin : w->steps[w->gemm].panel + 1;
  if (step->panel != expected)
    return violated(w, step, "products: multiplies panel %lld where %lld is next",
                    (long long)step->panel, (long long)expected);
  w->previous[step->index] = w->gemm;
  for (int x = 0; x < 2; x++)
    DM_TRY(fetches(w, x) || uploads(w, x) ? read_slot(w, x, COMPUTE, step)
                                          : read_whole(w, x, step));
  w->gemm = step->index;
  return DM_OK;
}

/* Steps that a list has once: LOAD_A, LOAD_B, REDUCE, STORE. */
static dm_status check_single(walk *w, int64_t *where, const dm_step *step) {
  if (*where >= 0) return violated(w, step, "products: a second time");
  *where = step->index;
  bool last = step->kind == DM_STEP_REDUCE || step->kind == DM_STEP_STORE;
  if (last && w->gemm >= 0 && !is_ordered(w, w->gemm, step->index))
    return violated(w, step, "products: may start before the last product is done");
  if (last && dm_range_size(w->layer) > 0 &&
      (w->gemm < 0 || w->steps[w->gemm].panel != w->layer.end - 1))
    return violated(w, step, "products: panels are missing");
  if (step->kind == DM_STEP_STORE && w->plan->pk > 1 &&
      (w->reduce < 0 || !is_ordered(w, w->reduce, step->index)))
    return violated(w, step, "products: may store before the sum over layers");
  return DM_OK;
}

static dm_status check_step(walk *w, const dm_step *step) {
  bool has_panel = step->kind >= DM_STEP_FETCH_A && step->kind <= DM_STEP_GEMM;
  if (has_panel && (step->panel < w->layer.begin || step->panel >= w->layer.end || step->slot < 0 ||
                    step->slot >= w->plan->slots))
    return violated(w, step, "products: panel %lld in slot %d", (long long)step->panel, step->slot);
  DM_TRY(note_order(w, step));
  switch (step->kind) {
  case DM_STEP_LOAD_A:
    return check_single(w, &w->load[A], step);
  case DM_STEP_LOAD_B:
    return check_single(w, &w->load[B], step);
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
    return check_single(w, &w->reduce, step);
  case DM_STEP_STORE:
    return check_single(w, &w->store, step);
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
  if (w->store < 0 || (w->plan->pk > 1 && w->reduce < 0))
    return dm_fail(DM_E_BUG, "products: rank %d stores no result", w->rank);
  return DM_OK;
}

static dm_status allocate(walk *w) {
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->steps, (void **)&w->steps));
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->seen, (void **)&w->seen));
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->stack, (void **)&w->stack));
  DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->previous, (void **)&w->previous));
  for (int x = 0; x < 2; x++) {
    DM_TRY(dm_buffer_zeroed(w->count, sizeof *w->loaded[x], (void **)&w->loaded[x]));
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
    free(w->loaded[x]);
    for (int ring = 0; ring < 2; ring++) free(w->ring[x][ring]);
  }
}

dm_status dm_simulate_rank(const dm_simulation *simulation, int rank) {
  const dm_plan *plan = simulation->plan;
  dm_place place = dm_plan_place(plan, rank);
  if (place.idle) return DM_OK;
  walk w = {.plan = plan,
            .rank = rank,
            .layer = dm_plan_layer(plan, place.l),
            .count = dm_steps_count(plan, rank),
            .load = {-1, -1},
            .gemm = -1,
            .reduce = -1,
            .store = -1};
  dm_status status = allocate(&w);
  if (!status) status = take_steps(&w, simulation);
  release(&w);
  return status;
}
