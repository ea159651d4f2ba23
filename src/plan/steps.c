#include "plan/steps.h"

#include "core/checked.h"
#include "plan/partition.h"

/* The steps of a rank whose layer has L panels, for T tiles, if AHEAD turns are prepared before
 * their product (software pipelining; "look-ahead" in SLATE and HPL):
 *
 *   prepare 0 .. ahead-1 | for each turn s: prepare s+ahead, GEMM s (or KEEP s), and after a tile's
 *   last turn its end; or, with strips, for each of them: STRIP, and its end
 *
 * The end is REDUCE and STORE, and FINISH before one of them, as the plan needs them. For a strip,
 * STORE, and FINISH before it, exist only on the layer that owns it.
 *
 * "prepare s" is LOAD_A LOAD_B and up to five more steps, as the plan needs them: gathers before
 * uploads, or, if GPUs read each other's memory, after them. The cursor's group is the turn s, or
 * -1 for the head; its offset counts the steps of the group. */
typedef struct steps_layout {
  const dm_plan *plan;
  dm_range layer; /* panels */
  int l;
  int64_t panels; /* L */
  int64_t turns;  /* L * T */
  int64_t slots;
  int64_t ahead;
  int64_t width;                 /* steps of one "prepare" */
  int64_t end;                   /* steps after a tile's last product */
  int64_t offset[DM_STEP_KINDS]; /* of each kind in a "prepare"; -1: none */
  const int *way;
} steps_layout;

enum { STEPS_LOAD, FETCH, UPLOAD, MOVES };

/* Strips multiplied before the first of them is summed: a waiting device is idle, and its part of
 * the sum queues behind them. */
enum { STRIPS_AHEAD = 2 };

static const dm_step_kind steps_moves[MOVES][2] = {{DM_STEP_LOAD_A, DM_STEP_LOAD_B},
                                                   {DM_STEP_FETCH_A, DM_STEP_FETCH_B},
                                                   {DM_STEP_UPLOAD_A, DM_STEP_UPLOAD_B}};

/* The order of a panel's moves, by plan->device_links. */
static const int steps_ways[2][MOVES] = {{STEPS_LOAD, FETCH, UPLOAD}, {STEPS_LOAD, UPLOAD, FETCH}};

/* Steps between the last product of a tile, or strip, and the end of its sum: on all layers. */
static int64_t width_of_sum(const dm_plan *plan) {
  return (plan->problem.compute.finish == DM_FINISH_FIRST) + (plan->pk > 1);
}

/* Steps from there to STORE: for a strip, on one of the layers. */
static int64_t width_of_store(const dm_plan *plan) {
  return (plan->problem.compute.finish == DM_FINISH_LAST) + 1;
}

static int64_t width_of_strip(const dm_plan *plan) {
  return 1 + width_of_sum(plan);
}

/* The step at OFFSET in an end with all steps. */
static dm_step_kind kind_of_end(const dm_plan *plan, int64_t offset) {
  const int64_t sum = width_of_sum(plan);
  if (offset < sum) return plan->pk > 1 && offset == sum - 1 ? DM_STEP_REDUCE : DM_STEP_FINISH;
  return offset == sum + width_of_store(plan) - 1 ? DM_STEP_STORE : DM_STEP_FINISH;
}

static steps_layout steps_layout_of(const dm_plan *plan, int l) {
  steps_layout list = {.plan = plan, .layer = dm_plan_layer(plan, l), .l = l};
  list.end = width_of_sum(plan) + width_of_store(plan);
  if (plan->strips > 0)
    list.end = plan->strips * (plan->pk * width_of_strip(plan) + width_of_store(plan));
  list.panels = dm_range_size(list.layer);
  list.turns = list.panels * dm_plan_todo(plan);
  list.slots = plan->slots;
  /* Held panels are replaced only when the previous tile has used them. */
  if (dm_plan_streams(plan)) list.slots = dm_max(1, dm_min(list.slots, list.panels));
  list.ahead = dm_min(plan->overlap ? list.slots - 1 : 0, list.turns);
  const bool moves_a = !dm_triangle_shares(plan, DM_A), moves_b = !dm_triangle_shares(plan, DM_B);
  const bool present[DM_STEP_GEMM] = {moves_a,
                                      moves_b,
                                      plan->problem.verify && dm_plan_streams(plan),
                                      dm_plan_fetches_a(plan),
                                      dm_plan_fetches_b(plan),
                                      moves_a && dm_plan_uploads_a(plan),
                                      moves_b && dm_plan_uploads_b(plan)};
  list.way = steps_ways[plan->device_links];
  for (int kind = 0; kind < DM_STEP_GEMM; kind++) list.offset[kind] = -1;
  for (int kind = 0; kind <= DM_STEP_CHECK; kind++)
    if (present[kind]) list.offset[kind] = list.width++;
  for (int i = 1; i < MOVES; i++)
    for (int x = 0; x < 2; x++)
      if (present[steps_moves[list.way[i]][x]])
        list.offset[steps_moves[list.way[i]][x]] = list.width++;
  return list;
}

/* ---- positions of steps ---- */

/* Steps before the group of turn S. */
static int64_t before_group(const steps_layout *list, int64_t s) {
  int64_t prepared = dm_min(list->turns, list->ahead + s);
  return prepared * list->width + s + s / list->panels * list->end;
}

static int64_t index_of_prepare(const steps_layout *list, int64_t s) {
  return s < list->ahead ? s * list->width : before_group(list, s - list->ahead);
}

static int64_t index_of_gemm(const steps_layout *list, int64_t s) {
  return before_group(list, s) + (s + list->ahead < list->turns ? list->width : 0);
}

/* The last product of the tile in PLACE (tiles.h). */
static int64_t last_gemm(const steps_layout *list, int64_t place) {
  return index_of_gemm(list, (place + 1) * list->panels - 1);
}

/* Whether the strips multiply turn S; its product is then a KEEP. */
static bool is_kept(const steps_layout *list, int64_t s) {
  return list->plan->strips > 0 && s >= list->turns - list->plan->stretch;
}

/* The step of KIND of turn S; -1: none. */
static int64_t index_of(const steps_layout *list, dm_step_kind kind, int64_t s) {
  if (s < 0 || list->offset[kind] < 0) return -1;
  return index_of_prepare(list, s) + list->offset[kind];
}

/* The I-th move of a panel's route, or MOVES for its product. */
static int place_on_way(const steps_layout *list, int move) {
  int i = 0;
  while (i < MOVES && list->way[i] != move) i++;
  return i;
}

/* The step that puts matrix X of turn S where MOVE, or GEMM, reads it. */
static int64_t index_of_source(const steps_layout *list, int move, int x, int64_t s) {
  for (int i = place_on_way(list, move) - 1; i > STEPS_LOAD; i--) {
    int64_t index = index_of(list, steps_moves[list->way[i]][x], s);
    if (index >= 0) return index;
  }
  return index_of(list, steps_moves[STEPS_LOAD][x], s);
}

/* The step that reads the result of MOVE of turn S. A piece uploaded before its gather joins the
 * panel in the slot of its product. */
static int64_t index_of_reader(const steps_layout *list, int move, int x, int64_t s) {
  if (s < 0) return -1;
  const bool stays = move != STEPS_LOAD && list->plan->device_links;
  for (int i = place_on_way(list, move) + 1; i < MOVES && !stays; i++) {
    int64_t index = index_of(list, steps_moves[list->way[i]][x], s);
    if (index >= 0) return index;
  }
  return index_of_gemm(list, s);
}

/* ---- steps ---- */

static void steps_add(dm_step *step, int64_t index) {
  if (index < 0) return;
  for (int i = 0; i < DM_STEP_AFTER; i++) {
    if (step->after[i] == index) return;
    if (step->after[i] < 0) {
      step->after[i] = index;
      return;
    }
  }
}

static void wait_for_product_before(const steps_layout *list, int64_t s, dm_step *step) {
  if (!list->plan->overlap && s > 0) steps_add(step, index_of_gemm(list, s - 1));
}

static void make_load(const steps_layout *list, int64_t s, dm_matrix x, dm_step *step) {
  const int64_t q = s % list->panels;
  int64_t left = dm_plan_left_by(list->plan, x, step->tile, q);
  step->brings = left < 0;
  if (!step->brings) {
    left = dm_plan_todo_place(list->plan, left) * list->panels + q;
    steps_add(step, index_of(list, steps_moves[STEPS_LOAD][x], left));
    return;
  }
  int64_t replaced = dm_plan_replaces(list->plan, x, list->panels, step->tile, q);
  /* A held panel is read by several tiles: products run in order, gathers may not. */
  const bool held = q < dm_plan_held(list->plan, x);
  steps_add(step, held && replaced >= 0 ? index_of_gemm(list, replaced)
                                        : index_of_reader(list, STEPS_LOAD, x, replaced));
  steps_add(step, index_of(list, DM_STEP_CHECK, replaced));
  wait_for_product_before(list, s, step);
}

/* In order, so that all ranks sum the same panel. */
static void make_check(const steps_layout *list, int64_t s, dm_step *step) {
  for (int x = 0; x < 2; x++) steps_add(step, index_of(list, steps_moves[STEPS_LOAD][x], s));
  steps_add(step, index_of(list, DM_STEP_CHECK, s - 1));
}

static void make_move(const steps_layout *list, int move, int x, int64_t s, dm_step *step) {
  steps_add(step, index_of_source(list, move, x, s));
  steps_add(step, index_of_reader(list, move, x, s - list->slots));
  wait_for_product_before(list, s, step);
}

static void make_prepare(const steps_layout *list, int64_t s, int64_t offset, dm_step *step) {
  int kind = 0;
  while (list->offset[kind] != offset) kind++;
  step->kind = (dm_step_kind)kind;
  if (kind == DM_STEP_CHECK) {
    make_check(list, s, step);
    return;
  }
  int move = kind <= DM_STEP_LOAD_B ? STEPS_LOAD : kind <= DM_STEP_FETCH_B ? FETCH : UPLOAD;
  dm_matrix x = step->kind == steps_moves[move][DM_A] ? DM_A : DM_B;
  if (move == STEPS_LOAD)
    make_load(list, s, x, step);
  else
    make_move(list, move, (int)x, s, step);
}

static int64_t store_of(const steps_layout *list, int64_t place) {
  return last_gemm(list, place) + list->end;
}

/* The first product of a tile overwrites the block of the previous tile, or of the one before
 * that. */
static void make_gemm(const steps_layout *list, int64_t s, dm_step *step) {
  step->kind = DM_STEP_GEMM;
  for (int x = 0; x < 2; x++) steps_add(step, index_of_source(list, MOVES, x, s));
  const int64_t stored = s / list->panels - list->plan->blocks;
  if (s % list->panels == 0 && stored >= 0) steps_add(step, store_of(list, stored));
}

/* KEEPs run in order: waiting for the last one is enough. */
static void make_keep(const steps_layout *list, int64_t s, dm_step *step) {
  step->kind = DM_STEP_KEEP;
  for (int x = 0; x < 2; x++) steps_add(step, index_of_source(list, MOVES, x, s));
  if (is_kept(list, s - 1)) steps_add(step, index_of_gemm(list, s - 1));
}

/* The STRIP of strip X. The previous strips precede it, and one store per round of layers in which
 * this layer has had its turn. */
static int64_t index_of_strip(const steps_layout *list, int64_t x) {
  const int64_t pk = list->plan->pk, stored = x / pk + (x % pk > list->l);
  return last_gemm(list, 0) + 1 + x * width_of_strip(list->plan) +
         stored * width_of_store(list->plan);
}

/* The sum of strip X or, without one, its STRIP. */
static int64_t last_of_strip(const steps_layout *list, int64_t x) {
  return index_of_strip(list, x) + width_of_strip(list->plan) - 1;
}

static void make_strip(const steps_layout *list, int64_t offset, dm_step *step) {
  const int64_t pk = list->plan->pk, width = width_of_strip(list->plan);
  const int64_t storing = width_of_store(list->plan), in_round = pk * width + storing;
  const int64_t round = offset / in_round, at = offset % in_round;
  const int64_t own = (list->l + 1) * width; /* this layer's position in a round */
  const bool stores = at >= own && at < own + storing;
  const int64_t place =
      at < own ? at : at - storing; /* position among the steps that all layers have */
  const int64_t x = step->strip = round * pk + (stores ? list->l : place / width);
  const int64_t of_end = stores ? width - 1 + at - own : place % width - 1;
  step->kind = of_end < 0 ? DM_STEP_STRIP : kind_of_end(list->plan, of_end);
  if (step->kind == DM_STEP_STRIP) {
    steps_add(step, last_gemm(list, 0));
    if (x >= STRIPS_AHEAD) steps_add(step, index_of_strip(list, x - STRIPS_AHEAD));
    return;
  }
  steps_add(step, step->index - 1);
  if (step->kind == DM_STEP_REDUCE && x > 0) steps_add(step, last_of_strip(list, x - 1));
  if (step->kind == DM_STEP_STORE && round > 0)
    steps_add(step, last_of_strip(list, x - pk) + storing);
}

/* Products run in order: waiting for the last one is enough. A layer without panels has only these
 * steps, tile by tile. */
static void make_end(const steps_layout *list, int64_t place, int64_t offset, dm_step *step) {
  step->tile = dm_plan_todo_tile(list->plan, place);
  if (list->plan->strips > 0) {
    make_strip(list, offset, step);
    return;
  }
  step->kind = kind_of_end(list->plan, offset);
  if (offset > 0)
    steps_add(step, step->index - 1);
  else if (list->panels > 0)
    steps_add(step, last_gemm(list, place));
  else if (place > 0)
    steps_add(step, step->index - 1);
  if (offset == 0 && list->panels > 0 && place > 0)
    steps_add(step, store_of(list, place - 1)); /* in order */
}

static void make_turn(const steps_layout *list, int64_t s, dm_step *step) {
  step->tile = dm_plan_todo_tile(list->plan, s / list->panels);
  step->panel = list->layer.begin + s % list->panels;
  step->slot = (int)(s % list->slots);
}

/* ---- the cursor ---- */

void dm_cursor_start(dm_cursor *cursor, const dm_plan *plan, int rank) {
  *cursor = (dm_cursor){.plan = plan, .coords = dm_plan_coords(plan, rank), .group = -1};
}

/* Steps in a group. */
static int64_t steps_size_of(const steps_layout *list, int64_t group) {
  if (group < 0) return list->ahead * list->width;
  if (list->panels == 0) return list->end;
  return before_group(list, group + 1) - before_group(list, group);
}

static int64_t count_groups(const steps_layout *list) {
  return list->panels == 0 ? dm_plan_todo(list->plan) : list->turns;
}

static void make_step(const steps_layout *list, int64_t group, int64_t offset, dm_step *step) {
  const bool prepares = group + list->ahead < list->turns;
  if (group < 0) {
    make_turn(list, offset / list->width, step);
    make_prepare(list, offset / list->width, offset % list->width, step);
  } else if (list->panels == 0) {
    make_end(list, group, offset, step);
  } else if (prepares && offset < list->width) {
    make_turn(list, group + list->ahead, step);
    make_prepare(list, group + list->ahead, offset, step);
  } else if (offset == (prepares ? list->width : 0)) {
    make_turn(list, group, step);
    if (is_kept(list, group))
      make_keep(list, group, step);
    else
      make_gemm(list, group, step);
  } else {
    make_end(list, group / list->panels, offset - (prepares ? list->width : 0) - 1, step);
  }
}

bool dm_cursor_next(dm_cursor *cursor, dm_step *step) {
  if (cursor->coords.idle) return false;
  steps_layout list = steps_layout_of(cursor->plan, cursor->coords.l);
  while (cursor->group < count_groups(&list) &&
         cursor->offset >= steps_size_of(&list, cursor->group)) {
    cursor->group++;
    cursor->offset = 0;
  }
  if (cursor->group >= count_groups(&list)) return false;
  *step =
      (dm_step){.index = cursor->next++, .panel = -1, .strip = -1, .after = {-1, -1, -1, -1, -1}};
  make_step(&list, cursor->group, cursor->offset++, step);
  return true;
}

const char *dm_step_name(dm_step_kind kind) {
  static const char *const names[DM_STEP_KINDS] = {
      [DM_STEP_LOAD_A] = "load A",     [DM_STEP_LOAD_B] = "load B",
      [DM_STEP_CHECK] = "check",       [DM_STEP_FETCH_A] = "fetch A",
      [DM_STEP_FETCH_B] = "fetch B",   [DM_STEP_UPLOAD_A] = "upload A",
      [DM_STEP_UPLOAD_B] = "upload B", [DM_STEP_GEMM] = "gemm",
      [DM_STEP_KEEP] = "keep",         [DM_STEP_STRIP] = "gemm strip",
      [DM_STEP_FINISH] = "finish",     [DM_STEP_REDUCE] = "reduce",
      [DM_STEP_STORE] = "store"};
  return kind < DM_STEP_KINDS ? names[kind] : "none";
}
