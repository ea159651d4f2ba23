/* The order of a rank's steps, and their dependencies. */
#include "plan/partition.h"
#include "plan/steps.h"
#include "plan_cases.h"

TEST(steps_are_counted_in_order) {
  dice d = {.seed = 4};
  for (int i = 0; i < 200; i++) {
    const int ranks = (int)roll(&d, 1, 12);
    dm_problem problem = problem_of(100, 100, roll_size(&d, 3000), DM_F32);
    dm_machine machine = roll_machine(&d, ranks);
    const dm_plan plan = planned(&problem, &machine, ranks, roll_wishes(&d, ranks));
    for (int rank = 0; rank < ranks; rank++) {
      int64_t steps = 0;
      dm_cursor cursor;
      dm_step step;
      dm_cursor_start(&cursor, &plan, rank);
      while (dm_cursor_next(&cursor, &step)) assert_int_equal(step.index, steps++);
      assert_int_equal(steps == 0, rank >= dm_plan_used(&plan));
    }
  }
}

static void order_of(const dm_plan *plan, int rank, char *text) {
  static const char letters[] = "ABcfF--gksnrS";
  dm_cursor cursor;
  dm_step step;
  dm_cursor_start(&cursor, plan, rank);
  while (dm_cursor_next(&cursor, &step)) *text++ = letters[step.kind];
  *text = '\0';
}

/* Panels are prepared while the one before them is multiplied. */
TEST(fetch_stands_before_the_product_it_hides_behind) {
  dm_plan plan = plan_on_grid(problem_of(8, 8, 256, DM_F64), 1, 2, 1);
  char text[32];
  order_of(&plan, 0, text);
  assert_string_equal(text, "ABfABfgABfgABfggS");
  plan.problem.compute.finish = DM_FINISH_LAST;
  order_of(&plan, 0, text);
  assert_string_equal(text, "ABfABfgABfgABfggnS");
}

/* Strips of the layers alternate; each layer stores its own. */
TEST(strips_follow_the_last_panel) {
  char text[64];
  dm_plan plan = whole_plan();
  plan.gpu = false;
  plan.pm = plan.pn = 1;
  plan.panels = 6;
  plan.problem.k = 384;
  plan.strips = 2;
  plan.stretch = 1;
  order_of(&plan, 0, text);
  assert_string_equal(text, "ABABgABgksrSsrsrSsr");
  order_of(&plan, 1, text);
  assert_string_equal(text, "ABABgABgksrsrSsrsrS");
  plan.problem.compute.finish = DM_FINISH_FIRST;
  order_of(&plan, 0, text);
  assert_string_equal(text, "ABABgABgksnrSsnrsnrSsnr");
  plan.problem.compute.finish = DM_FINISH_LAST;
  order_of(&plan, 1, text);
  assert_string_equal(text, "ABABgABgksrsrnSsrsrnS");
  plan.problem.compute.finish = DM_NO_FINISH;
  plan.pk = 1;
  plan.stretch = 5;
  order_of(&plan, 0, text);
  assert_string_equal(text, "ABABgABkABkABkABkksSsS");
}

static bool waits_for(const dm_step *step, int64_t index) {
  for (int i = 0; i < DM_STEP_AFTER; i++)
    if (step->after[i] == index) return true;
  return false;
}

/* Without overlap no transfer starts before the product of the previous panel is done. */
TEST(one_thing_after_the_other) {
  dm_plan plan = whole_plan();
  plan.overlap = false;
  for (int slots = 1; slots <= 2; slots++) {
    int64_t product = -1;
    plan.slots = slots;
    dm_cursor cursor;
    dm_step step;
    dm_cursor_start(&cursor, &plan, 5);
    while (dm_cursor_next(&cursor, &step)) {
      if (step.kind == DM_STEP_GEMM) product = step.index;
      bool moves = step.kind <= DM_STEP_UPLOAD_B;
      if (moves && product >= 0) assert_true(waits_for(&step, product));
    }
  }
}

TEST(idle_ranks_have_no_steps) {
  dm_plan plan = whole_plan();
  dm_cursor cursor;
  dm_step step;
  dm_cursor_start(&cursor, &plan, 8);
  assert_false(dm_cursor_next(&cursor, &step));
}

RUN_ALL(test_plan_steps)
