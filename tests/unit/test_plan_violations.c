/* The simulator can fail: it detects violations of each property in corrupted plans and steps. */
#include "plan/partition.h"
#include "plan_cases.h"
#include "steps/simulate.h"

/* A change to the steps of one rank. */
typedef struct spoiler {
  int rank;
  dm_step_kind kind;
  int64_t panel; /* -1: any */
  int what;      /* its new kind, or one of these */
} spoiler;

enum {
  FORGET_ALL = -9,
  FORGET_SLOT, /* keeps only what the step reads (FETCH and UPLOAD: their first dependency) */
  WRONG_SLOT,
  SLOT_BEYOND,
  NEXT_PANEL,
  NEXT_STRIP,
  WAIT_FOR_SELF,
  WRONG_INDEX
};

static void spoil(dm_step *step, int what) {
  if (what >= 0) step->kind = (dm_step_kind)what;
  for (int i = what == FORGET_SLOT; i < DM_STEP_AFTER && what <= FORGET_SLOT; i++)
    step->after[i] = -1;
  if (what == WRONG_SLOT) step->slot ^= 1;
  if (what == SLOT_BEYOND) step->slot = 2;
  step->panel += what == NEXT_PANEL;
  step->strip += what == NEXT_STRIP;
  if (what == WAIT_FOR_SELF) step->after[3] = step->index;
  step->index += what == WRONG_INDEX;
}

static bool spoilt_steps(void *context, dm_cursor *cursor, dm_step *step) {
  const spoiler *s = context;
  if (!dm_cursor_next(cursor, step)) return false;
  bool chosen = step->kind == s->kind && (s->panel < 0 || step->panel == s->panel);
  if (chosen &&
      dm_plan_rank(cursor->plan, cursor->coords.i, cursor->coords.j, cursor->coords.l) == s->rank)
    spoil(step, s->what);
  return true;
}

typedef struct violation {
  spoiler what;
  const char *property;
} violation;

/* PLAN multiplies, and with each change the simulator names the violated property. */
static void detects(const dm_plan *plan, const violation *cases, size_t count) {
  ok(dm_plan_simulate(plan));
  for (size_t i = 0; i < count; i++) {
    spoiler what = cases[i].what;
    fails(dm_plan_simulate_with(plan, spoilt_steps, &what), DM_E_BUG, cases[i].property);
  }
}

TEST(steps_violate) {
  static const violation cases[] = {
      {{0, DM_STEP_GEMM, 3, NEXT_PANEL}, "products: multiplies panel 4 of tile 0 where 3 is next"},
      {{7, DM_STEP_GEMM, 9, NEXT_PANEL}, "products: panel 10 in slot"},
      {{3, DM_STEP_UPLOAD_B, 2, DM_STEP_GEMM}, "products: multiplies"},
      {{2, DM_STEP_REDUCE, -1, DM_STEP_STORE}, "products: may store before the sum"},
      {{2, DM_STEP_REDUCE, -1, FORGET_ALL}, "products: may start before the last product"},
      {{2, DM_STEP_STORE, -1, FORGET_ALL}, "products: may start before the last product"},
      {{0, DM_STEP_LOAD_A, -1, DM_STEP_STORE}, "products: panels are missing"},
      {{1, DM_STEP_FETCH_A, 4, FORGET_SLOT}, "slots: may overwrite panel 2 while"},
      {{1, DM_STEP_UPLOAD_B, 3, FORGET_SLOT}, "slots: may overwrite panel 1 while"},
      {{5, DM_STEP_FETCH_B, 5, FORGET_ALL}, "slots: may read the share of B before"},
      {{5, DM_STEP_UPLOAD_A, 6, FORGET_ALL}, "slots: may read panel 6 before"},
      {{0, DM_STEP_GEMM, 2, FORGET_ALL}, "slots: may read panel 2 before"},
      {{0, DM_STEP_GEMM, 2, WRONG_SLOT}, "slots: reads panel 2 from slot 1"},
      {{0, DM_STEP_UPLOAD_A, 1, WRONG_SLOT}, "slots: reads panel 1 from slot 0"},
      {{0, DM_STEP_FETCH_A, 1, SLOT_BEYOND}, "in slot 2"},
      {{0, DM_STEP_GEMM, 0, WAIT_FOR_SELF}, "order: waits for step"},
      {{0, DM_STEP_GEMM, 0, WRONG_INDEX}, "order: stands at place"},
  };
  dm_plan plan = whole_plan();
  detects(&plan, cases, sizeof cases / sizeof cases[0]);
}

TEST(unread_panels_are_missed) {
  dm_plan plan = whole_plan();
  plan.gpu = false; /* products read the slots that FETCH fills */
  spoiler what = {.rank = 4, .kind = DM_STEP_FETCH_A, .panel = 6, .what = WRONG_SLOT};
  ok(dm_plan_simulate(&plan));
  fails(dm_plan_simulate_with(&plan, spoilt_steps, &what), DM_E_BUG,
        "slots: overwrites panel 5, which nothing has read");
}

/* Shared slots hold the panels of one tile: steps of a second one exceed them. */
TEST(places_beyond_the_list_are_refused) {
  dm_plan plan = whole_plan();
  plan.gpu = false;
  plan.shared_a = true;
  ok(dm_plan_simulate(&plan));
  plan.tiles_m = 2;
  fails(dm_plan_simulate(&plan), DM_E_BUG, "slots: place 5 of A");
}

/* Only detected across ranks: each list alone is in order. */
TEST(ranks_do_not_match) {
  dm_plan plan = whole_plan();
  spoiler swapped = {.rank = 1, .kind = DM_STEP_FETCH_A, .panel = 0, .what = DM_STEP_FETCH_B};
  dm_simulation simulation = {&plan, spoilt_steps, &swapped};
  fails(dm_simulate_matching(&simulation), DM_E_BUG, "matching");
  spoiler missing = {.rank = 6, .kind = DM_STEP_REDUCE, .panel = -1, .what = DM_STEP_STORE};
  simulation.context = &missing;
  fails(dm_simulate_matching(&simulation), DM_E_BUG, "waits forever");
}

TEST(finishes_violate) {
  static const struct {
    dm_finish_place place;
    violation of;
  } cases[] = {
      {DM_FINISH_FIRST, {{2, DM_STEP_FINISH, -1, FORGET_ALL}, "may start before the last product"}},
      {DM_FINISH_FIRST, {{2, DM_STEP_FINISH, -1, DM_STEP_REDUCE}, "may add up before the sum is"}},
      {DM_FINISH_FIRST, {{2, DM_STEP_FINISH, -1, DM_STEP_STORE}, "may store before the sum over"}},
      {DM_FINISH_LAST, {{2, DM_STEP_FINISH, -1, DM_STEP_STORE}, "may store before the sum is"}},
      {DM_FINISH_LAST, {{2, DM_STEP_REDUCE, -1, DM_STEP_FINISH}, "before the sum over layers"}},
      {DM_NO_FINISH, {{2, DM_STEP_REDUCE, -1, DM_STEP_FINISH}, "there is nothing to finish"}},
  };
  dm_plan plan = whole_plan();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    plan.problem.compute.finish = cases[i].place;
    detects(&plan, &cases[i].of, 1);
  }
}

/* On the CPU, which keeps gathered panels: 5 panels per layer; strips multiply 2. */
static dm_plan plan_of_strips(void) {
  dm_plan plan = whole_plan();
  plan.gpu = false;
  plan.shared_a = plan.shared_b = true;
  plan.strips = 3;
  plan.stretch = 2;
  return plan;
}

TEST(strips_violate) {
  static const violation cases[] = {
      {{0, DM_STEP_GEMM, 1, DM_STEP_KEEP}, "products: keeps panel 1 out of turn"},
      {{0, DM_STEP_KEEP, 3, DM_STEP_GEMM}, "products: panel 3 is left to the strips"},
      {{0, DM_STEP_KEEP, 3, NEXT_PANEL}, "products: keeps panel 4 out of turn"},
      {{0, DM_STEP_KEEP, 4, DM_STEP_REDUCE}, "products: sums strip -1"},
      {{5, DM_STEP_KEEP, 4 + 5, FORGET_ALL}, "slots: may read panel 8 before"},
      {{5, DM_STEP_KEEP, 3 + 5, FORGET_ALL}, "slots: may read panel 8 before"},
      {{1, DM_STEP_STRIP, -1, FORGET_ALL}, "slots: may read panel 3 before"},
      {{1, DM_STEP_STRIP, -1, NEXT_STRIP}, "products: strip 1 where 0 is next"},
      {{1, DM_STEP_STRIP, -1, DM_STEP_REDUCE}, "products: sums strip 0"},
      {{2, DM_STEP_REDUCE, -1, FORGET_ALL}, "products: may start before the strip's product"},
      {{2, DM_STEP_REDUCE, -1, FORGET_SLOT}, "matching: may start before the sum"},
      {{2, DM_STEP_REDUCE, -1, DM_STEP_STRIP}, "products: strip 0 where 1 is next"},
      {{2, DM_STEP_REDUCE, -1, DM_STEP_STORE}, "products: may store strip 0 before"},
      {{6, DM_STEP_REDUCE, -1, DM_STEP_STORE}, "products: stores strip 0 where 1 is next"},
      {{6, DM_STEP_STORE, -1, FORGET_ALL}, "products: may store strip 1 before"},
      {{6, DM_STEP_STORE, -1, FORGET_SLOT}, "products: may start before the strip before"},
      {{6, DM_STEP_STORE, -1, NEXT_STRIP}, "products: stores strip 2 where 1 is next"},
      {{6, DM_STEP_STORE, -1, DM_STEP_REDUCE}, "products: sums strip 1 where 2 is next"},
  };
  dm_plan plan = plan_of_strips();
  detects(&plan, cases, sizeof cases / sizeof cases[0]);
}

/* A ring would have reused the slot of a panel that a strip reads. */
TEST(strips_need_panels_that_stay) {
  dm_plan plan = plan_of_strips();
  plan.shared_a = false;
  fails(dm_plan_simulate(&plan), DM_E_BUG, "slots: ");
  plan = plan_of_strips();
  plan.stretch = 6;
  fails(dm_plan_simulate(&plan), DM_E_BUG, "tiling: 6 panels in 3 strips");
  plan = plan_of_strips();
  plan.tiles_m = 2;
  fails(dm_plan_simulate(&plan), DM_E_BUG, "tiling: 2 panels in 3 strips");
  plan = plan_of_strips();
  spoiler other = {.rank = 6, .kind = DM_STEP_REDUCE, .panel = -1, .what = NEXT_STRIP};
  dm_simulation simulation = {&plan, spoilt_steps, &other};
  fails(dm_simulate_matching(&simulation), DM_E_BUG, "matching");
}

/* Each tile to compute is listed once, in order of computation, consistently in both directions. */
TEST(lists_violate) {
  dm_plan plan = whole_plan();
  int64_t tiles[] = {1, 4, 5}, place[] = {-1, 0, -1, -1, 1, 2};
  const dm_todo todo = {.count = 3, .tiles = tiles, .place = place};
  plan.tiles_m = 3;
  plan.tiles_n = 2;
  plan.todo = &todo;
  ok(dm_plan_simulate(&plan));
  tiles[0] = 4, tiles[1] = 1, place[4] = 0, place[1] = 1;
  fails(dm_plan_simulate(&plan), DM_E_BUG, "tiling: tile 1 after 4 of those");
  tiles[0] = tiles[1] = 4;
  fails(dm_plan_simulate(&plan), DM_E_BUG, "tiling: tile 4 after 4 of those");
  tiles[0] = 1, place[1] = 0, place[4] = -1;
  fails(dm_plan_simulate(&plan), DM_E_BUG, "tiling: tile 4 after 1 of those");
  tiles[1] = 6;
  fails(dm_plan_simulate(&plan), DM_E_BUG, "tiling: tile 6 after 1 of those");
}

RUN_ALL(test_plan_violations)
