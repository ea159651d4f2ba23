/* The simulator can fail: every property it proves is seen violated by a plan or steps that are
 * spoilt. */
#include "plan/partition.h"
#include "plan_cases.h"

#include "plan/simulate.h"

/* What is done to the steps of one rank. */
typedef struct spoiler {
  int rank;
  dm_step_kind kind;
  int64_t panel; /* -1: any */
  void (*spoil)(dm_step *step);
} spoiler;

static bool spoilt_steps(void *context, dm_cursor *cursor, dm_step *step) {
  const spoiler *s = context;
  if (!dm_cursor_next(cursor, step)) return false;
  bool chosen = step->kind == s->kind && (s->panel < 0 || step->panel == s->panel);
  if (chosen &&
      dm_plan_rank(cursor->plan, cursor->coords.i, cursor->coords.j, cursor->coords.l) == s->rank)
    s->spoil(step);
  return true;
}

static void forget_all(dm_step *step) {
  for (int i = 0; i < DM_STEP_AFTER; i++) step->after[i] = -1;
}

/* Keeps only what the step reads (FETCH and UPLOAD: their first dependency). */
static void forget_slot(dm_step *step) {
  for (int i = 1; i < DM_STEP_AFTER; i++) step->after[i] = -1;
}

static void wrong_slot(dm_step *step) {
  step->slot ^= 1;
}

static void slot_beyond(dm_step *step) {
  step->slot = 2;
}

static void next_panel(dm_step *step) {
  step->panel++;
}

static void wait_for_self(dm_step *step) {
  step->after[3] = step->index;
}

static void wrong_index(dm_step *step) {
  step->index++;
}

static void become_product(dm_step *step) {
  step->kind = DM_STEP_GEMM;
}

static void become_store(dm_step *step) {
  step->kind = DM_STEP_STORE;
}

static void become_other_fetch(dm_step *step) {
  step->kind = step->kind == DM_STEP_FETCH_A ? DM_STEP_FETCH_B : DM_STEP_FETCH_A;
}

static void become_keep(dm_step *step) {
  step->kind = DM_STEP_KEEP;
}

static void become_sum(dm_step *step) {
  step->kind = DM_STEP_REDUCE;
}

static void become_finish(dm_step *step) {
  step->kind = DM_STEP_FINISH;
}

static void become_strip(dm_step *step) {
  step->kind = DM_STEP_STRIP;
}

static void next_strip(dm_step *step) {
  step->strip++;
}

static void steps_violate(void **state) {
  (void)state;
  static const struct {
    spoiler what;
    const char *property;
  } cases[] = {
      {{0, DM_STEP_GEMM, 3, next_panel}, "products: multiplies panel 4 of tile 0 where 3 is next"},
      {{7, DM_STEP_GEMM, 9, next_panel}, "products: panel 10 in slot"},
      {{3, DM_STEP_UPLOAD_B, 2, become_product}, "products: multiplies"},
      {{2, DM_STEP_REDUCE, -1, become_store}, "products: may store before the sum"},
      {{2, DM_STEP_REDUCE, -1, forget_all}, "products: may start before the last product"},
      {{2, DM_STEP_STORE, -1, forget_all}, "products: may start before the last product"},
      {{0, DM_STEP_LOAD_A, -1, become_store}, "products: panels are missing"},
      {{1, DM_STEP_FETCH_A, 4, forget_slot}, "slots: may overwrite panel 2 while"},
      {{1, DM_STEP_UPLOAD_B, 3, forget_slot}, "slots: may overwrite panel 1 while"},
      {{5, DM_STEP_FETCH_B, 5, forget_all}, "slots: may read the share of B before"},
      {{5, DM_STEP_UPLOAD_A, 6, forget_all}, "slots: may read panel 6 before"},
      {{0, DM_STEP_GEMM, 2, forget_all}, "slots: may read panel 2 before"},
      {{0, DM_STEP_GEMM, 2, wrong_slot}, "slots: reads panel 2 from slot 1"},
      {{0, DM_STEP_UPLOAD_A, 1, wrong_slot}, "slots: reads panel 1 from slot 0"},
      {{0, DM_STEP_FETCH_A, 1, slot_beyond}, "in slot 2"},
      {{0, DM_STEP_GEMM, 0, wait_for_self}, "order: waits for step"},
      {{0, DM_STEP_GEMM, 0, wrong_index}, "order: stands at place"},
  };
  dm_plan plan = whole_plan();
  must(dm_plan_simulate(&plan));
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    spoiler what = cases[i].what;
    must_fail(dm_plan_simulate_with(&plan, spoilt_steps, &what), DM_E_BUG, cases[i].property);
  }
}

static void unread_panels_are_missed(void **state) {
  (void)state;
  dm_plan plan = whole_plan();
  plan.gpu = false; /* products read the slots that FETCH fills */
  spoiler what = {.rank = 4, .kind = DM_STEP_FETCH_A, .panel = 6, .spoil = wrong_slot};
  must(dm_plan_simulate(&plan));
  must_fail(dm_plan_simulate_with(&plan, spoilt_steps, &what), DM_E_BUG,
            "slots: overwrites panel 5, which nothing has read");
}

/* Shared slots hold the panels of one tile: steps of a second one leave them. */
static void places_beyond_the_list_are_refused(void **state) {
  (void)state;
  dm_plan plan = whole_plan();
  plan.gpu = false;
  plan.shared_a = true;
  must(dm_plan_simulate(&plan));
  plan.tiles_m = 2;
  must_fail(dm_plan_simulate(&plan), DM_E_BUG, "slots: place 5 of A");
}

/* Only the ranks together can show these: each list by itself is in order. */
static void ranks_do_not_match(void **state) {
  (void)state;
  dm_plan plan = whole_plan();
  spoiler swapped = {.rank = 1, .kind = DM_STEP_FETCH_A, .panel = 0, .spoil = become_other_fetch};
  dm_simulation simulation = {&plan, spoilt_steps, &swapped};
  must_fail(dm_simulate_matching(&simulation), DM_E_BUG, "matching");
  spoiler missing = {.rank = 6, .kind = DM_STEP_REDUCE, .panel = -1, .spoil = become_store};
  simulation.context = &missing;
  must_fail(dm_simulate_matching(&simulation), DM_E_BUG, "waits forever");
}

static void finishes_violate(void **state) {
  (void)state;
  static const struct {
    dm_finish_place place;
    spoiler what;
    const char *property;
  } cases[] = {
      {DM_FINISH_FIRST, {2, DM_STEP_FINISH, -1, forget_all}, "may start before the last product"},
      {DM_FINISH_FIRST, {2, DM_STEP_FINISH, -1, become_sum}, "may add up before the sum is"},
      {DM_FINISH_FIRST, {2, DM_STEP_FINISH, -1, become_store}, "may store before the sum over"},
      {DM_FINISH_LAST, {2, DM_STEP_FINISH, -1, become_store}, "may store before the sum is"},
      {DM_FINISH_LAST, {2, DM_STEP_REDUCE, -1, become_finish}, "before the sum over layers"},
      {DM_NO_FINISH, {2, DM_STEP_REDUCE, -1, become_finish}, "there is nothing to finish"},
  };
  dm_plan plan = whole_plan();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    spoiler what = cases[i].what;
    plan.problem.compute.finish = cases[i].place;
    must(dm_plan_simulate(&plan));
    must_fail(dm_plan_simulate_with(&plan, spoilt_steps, &what), DM_E_BUG, cases[i].property);
  }
}

/* On the CPU, where gathered panels stay: 5 panels in a layer, of which strips multiply 2. */
static dm_plan plan_of_strips(void) {
  dm_plan plan = whole_plan();
  plan.gpu = false;
  plan.shared_a = plan.shared_b = true;
  plan.strips = 3;
  plan.stretch = 2;
  return plan;
}

static void strips_violate(void **state) {
  (void)state;
  static const struct {
    spoiler what;
    const char *property;
  } cases[] = {
      {{0, DM_STEP_GEMM, 1, become_keep}, "products: keeps panel 1 out of turn"},
      {{0, DM_STEP_KEEP, 3, become_product}, "products: panel 3 is left to the strips"},
      {{0, DM_STEP_KEEP, 3, next_panel}, "products: keeps panel 4 out of turn"},
      {{0, DM_STEP_KEEP, 4, become_sum}, "products: sums strip -1"},
      {{5, DM_STEP_KEEP, 4 + 5, forget_all}, "slots: may read panel 8 before"},
      {{5, DM_STEP_KEEP, 3 + 5, forget_all}, "slots: may read panel 8 before"},
      {{1, DM_STEP_STRIP, -1, forget_all}, "slots: may read panel 3 before"},
      {{1, DM_STEP_STRIP, -1, next_strip}, "products: strip 1 where 0 is next"},
      {{1, DM_STEP_STRIP, -1, become_sum}, "products: sums strip 0"},
      {{2, DM_STEP_REDUCE, -1, forget_all}, "products: may start before the strip's product"},
      {{2, DM_STEP_REDUCE, -1, forget_slot}, "matching: may start before the sum"},
      {{2, DM_STEP_REDUCE, -1, become_strip}, "products: strip 0 where 1 is next"},
      {{2, DM_STEP_REDUCE, -1, become_store}, "products: may store strip 0 before"},
      {{6, DM_STEP_REDUCE, -1, become_store}, "products: stores strip 0 where 1 is next"},
      {{6, DM_STEP_STORE, -1, forget_all}, "products: may store strip 1 before"},
      {{6, DM_STEP_STORE, -1, forget_slot}, "products: may start before the strip before"},
      {{6, DM_STEP_STORE, -1, next_strip}, "products: stores strip 2 where 1 is next"},
      {{6, DM_STEP_STORE, -1, become_sum}, "products: sums strip 1 where 2 is next"},
  };
  dm_plan plan = plan_of_strips();
  must(dm_plan_simulate(&plan));
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    spoiler what = cases[i].what;
    must_fail(dm_plan_simulate_with(&plan, spoilt_steps, &what), DM_E_BUG, cases[i].property);
  }
}

/* A strip reads what a ring would have given to another panel by then. */
static void strips_need_panels_that_stay(void **state) {
  (void)state;
  dm_plan plan = plan_of_strips();
  plan.shared_a = false;
  must_fail(dm_plan_simulate(&plan), DM_E_BUG, "slots: ");
  plan = plan_of_strips();
  plan.stretch = 6;
  must_fail(dm_plan_simulate(&plan), DM_E_BUG, "tiling: 6 panels in 3 strips");
  plan = plan_of_strips();
  plan.tiles_m = 2;
  must_fail(dm_plan_simulate(&plan), DM_E_BUG, "tiling: 2 panels in 3 strips");
  plan = plan_of_strips();
  spoiler other = {.rank = 6, .kind = DM_STEP_REDUCE, .panel = -1, .spoil = next_strip};
  dm_simulation simulation = {&plan, spoilt_steps, &other};
  must_fail(dm_simulate_matching(&simulation), DM_E_BUG, "matching");
}

/* What is to be computed is listed once, in the order of computation, alike in both directions. */
static void lists_violate(void **state) {
  (void)state;
  dm_plan plan = whole_plan();
  int64_t tiles[] = {1, 4, 5}, place[] = {-1, 0, -1, -1, 1, 2};
  const dm_todo todo = {.count = 3, .tiles = tiles, .place = place};
  plan.tiles_m = 3;
  plan.tiles_n = 2;
  plan.todo = &todo;
  must(dm_plan_simulate(&plan));
  tiles[0] = 4, tiles[1] = 1, place[4] = 0, place[1] = 1;
  must_fail(dm_plan_simulate(&plan), DM_E_BUG, "tiling: tile 1 after 4 of those");
  tiles[0] = tiles[1] = 4;
  must_fail(dm_plan_simulate(&plan), DM_E_BUG, "tiling: tile 4 after 4 of those");
  tiles[0] = 1, place[1] = 0, place[4] = -1;
  must_fail(dm_plan_simulate(&plan), DM_E_BUG, "tiling: tile 4 after 1 of those");
  tiles[1] = 6;
  must_fail(dm_plan_simulate(&plan), DM_E_BUG, "tiling: tile 6 after 1 of those");
}

TEST_PROGRAM(test_plan_violations) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_violate),
      cmocka_unit_test(unread_panels_are_missed),
      cmocka_unit_test(places_beyond_the_list_are_refused),
      cmocka_unit_test(ranks_do_not_match),
      cmocka_unit_test(finishes_violate),
      cmocka_unit_test(strips_violate),
      cmocka_unit_test(strips_need_panels_that_stay),
      cmocka_unit_test(lists_violate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
