#include "plan/steps.h"

#include "core/checked.h"

/* The list of a rank whose layer has L panels, when AHEAD panels are prepared before their product
 * (software pipelining; "look-ahead" in SLATE and HPL):
 *
 *   LOAD_A LOAD_B | prepare 0 .. ahead-1 | prepare q+ahead, GEMM q for q < L-ahead | the last GEMMs
 *   | REDUCE | STORE
 *
 * "prepare q" is up to four steps: FETCH_A FETCH_B UPLOAD_A UPLOAD_B, as the plan needs them. */
typedef struct layout {
  dm_range layer; /* panels */
  int64_t panels; /* L */
  int64_t ahead;
  int64_t width;     /* steps of one "prepare" */
  int64_t offset[4]; /* of FETCH_A, FETCH_B, UPLOAD_A, UPLOAD_B in a "prepare"; -1: not there */
} layout;

enum { FETCH, UPLOAD };

static layout layout_of(const dm_plan *plan, int l) {
  layout list = {.layer = dm_plan_layer(plan, l)};
  list.panels = dm_range_size(list.layer);
  list.ahead = dm_min(plan->overlap ? plan->slots - 1 : 0, list.panels);
  const bool present[4] = {dm_plan_fetches_a(plan), dm_plan_fetches_b(plan),
                           dm_plan_uploads_a(plan), dm_plan_uploads_b(plan)};
  for (int i = 0; i < 4; i++) list.offset[i] = present[i] ? list.width++ : -1;
  return list;
}

static int64_t index_of_prepare(const layout *list, int64_t q) {
  if (q < list->ahead) return 2 + q * list->width;
  return 2 + list->ahead * list->width + (q - list->ahead) * (list->width + 1);
}

static int64_t index_of_gemm(const layout *list, int64_t q) {
  int64_t paired = list->panels - list->ahead;
  int64_t start = 2 + list->ahead * list->width;
  if (q < paired) return start + q * (list->width + 1) + list->width;
  return start + paired * (list->width + 1) + (q - paired);
}

static int64_t end_of_gemms(const layout *list) {
  return 2 + list->panels * (list->width + 1);
}

/* Index of FETCH or UPLOAD of panel Q of operand X (0: A, 1: B); -1 where there is none. */
static int64_t index_of_move(const layout *list, int move, int x, int64_t q) {
  int64_t offset = list->offset[2 * move + x];
  return offset < 0 || q < 0 ? -1 : index_of_prepare(list, q) + offset;
}

static int64_t gemm_or_none(const layout *list, int64_t q) {
  return q < 0 ? -1 : index_of_gemm(list, q);
}

/* The step that brings operand X of panel Q to where FETCH, UPLOAD or GEMM reads it. */
static int64_t index_of_source(const layout *list, int before, int x, int64_t q) {
  for (int move = before - 1; move >= FETCH; move--) {
    int64_t index = index_of_move(list, move, x, q);
    if (index >= 0) return index;
  }
  return x; /* LOAD_A is step 0, LOAD_B step 1 */
}

static void add(dm_step *step, int64_t index) {
  if (index < 0) return;
  for (int i = 0; i < DM_STEP_AFTER; i++) {
    if (step->after[i] == index) return;
    if (step->after[i] < 0) {
      step->after[i] = index;
      return;
    }
  }
}

static void make_move(const dm_plan *plan, const layout *list, int64_t q, int64_t offset,
                      dm_step *step) {
  int which = 0;
  while (list->offset[which] != offset) which++;
  int move = which / 2, x = which % 2;
  step->kind = (dm_step_kind)(DM_STEP_FETCH_A + which);
  add(step, index_of_source(list, move, x, q));
  int64_t previous = q - plan->slots; /* the panel that this one replaces in its slot */
  int64_t upload = move == FETCH ? index_of_move(list, UPLOAD, x, previous) : -1;
  add(step, upload >= 0 ? upload : gemm_or_none(list, previous));
  if (!plan->overlap) add(step, gemm_or_none(list, q - 1));
}

static void make_gemm(const layout *list, int64_t q, dm_step *step) {
  step->kind = DM_STEP_GEMM;
  for (int x = 0; x < 2; x++) add(step, index_of_source(list, UPLOAD + 1, x, q));
}

/* FETCH, UPLOAD and GEMM: which panel, and which of its steps. */
static void make_panel_step(const dm_plan *plan, const layout *list, dm_step *step) {
  int64_t at = step->index - 2, q;
  int64_t head = list->ahead * list->width, group = list->width + 1;
  int64_t paired = list->panels - list->ahead, offset;
  if (at < head) {
    q = at / list->width;
    offset = at % list->width;
  } else if (at - head < paired * group) {
    q = (at - head) / group;
    offset = (at - head) % group;
    if (offset < list->width) q += list->ahead;
  } else {
    q = paired + (at - head - paired * group);
    offset = list->width;
  }
  step->panel = list->layer.begin + q;
  step->slot = (int)(q % plan->slots);
  if (offset < list->width)
    make_move(plan, list, q, offset, step);
  else
    make_gemm(list, q, step);
}

/* REDUCE and STORE: products run in order, so the last one stands for all. */
static void make_end(const dm_plan *plan, const layout *list, dm_step *step) {
  bool reduce = plan->pk > 1 && step->index == end_of_gemms(list);
  step->kind = reduce ? DM_STEP_REDUCE : DM_STEP_STORE;
  bool after_reduce = plan->pk > 1 && !reduce;
  add(step, after_reduce ? step->index - 1 : gemm_or_none(list, list->panels - 1));
}

void dm_cursor_start(dm_cursor *cursor, const dm_plan *plan, int rank) {
  *cursor = (dm_cursor){.plan = plan, .place = dm_plan_place(plan, rank)};
}

static int64_t count_steps(const dm_plan *plan, const layout *list) {
  return end_of_gemms(list) + (plan->pk > 1) + 1;
}

bool dm_cursor_next(dm_cursor *cursor, dm_step *step) {
  if (cursor->place.idle) return false;
  layout list = layout_of(cursor->plan, cursor->place.l);
  if (cursor->next >= count_steps(cursor->plan, &list)) return false;
  *step = (dm_step){.index = cursor->next++, .panel = -1, .after = {-1, -1, -1, -1}};
  if (step->index < 2)
    step->kind = step->index == 0 ? DM_STEP_LOAD_A : DM_STEP_LOAD_B;
  else if (step->index < end_of_gemms(&list))
    make_panel_step(cursor->plan, &list, step);
  else
    make_end(cursor->plan, &list, step);
  return true;
}

int64_t dm_steps_count(const dm_plan *plan, int rank) {
  dm_place place = dm_plan_place(plan, rank);
  if (place.idle) return 0;
  layout list = layout_of(plan, place.l);
  return count_steps(plan, &list);
}

const char *dm_step_name(dm_step_kind kind) {
  static const char *const names[DM_STEP_KINDS] = {
      [DM_STEP_LOAD_A] = "load A",     [DM_STEP_LOAD_B] = "load B",
      [DM_STEP_FETCH_A] = "fetch A",   [DM_STEP_FETCH_B] = "fetch B",
      [DM_STEP_UPLOAD_A] = "upload A", [DM_STEP_UPLOAD_B] = "upload B",
      [DM_STEP_GEMM] = "gemm",         [DM_STEP_REDUCE] = "reduce",
      [DM_STEP_STORE] = "store"};
  return kind < DM_STEP_KINDS ? names[kind] : "none";
}
