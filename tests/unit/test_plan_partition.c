/* Ranges tile and differ by at most one unit; ranks and coordinates correspond one to one. */
#include "plan/partition.h"
#include "plan_cases.h"
#include "steps/simulate.h"

static void check_split(int64_t total, int64_t parts, int64_t step) {
  int64_t at = 0, largest = 0, smallest = INT64_MAX;
  for (int64_t i = 0; i < parts; i++) {
    dm_range part = dm_split(total, parts, i, step);
    assert_int_equal(part.begin, at);
    assert_true(part.end >= part.begin);
    assert_true(part.end % step == 0 || part.end == total);
    at = part.end;
    if (dm_range_size(part) > largest) largest = dm_range_size(part);
    if (i + 1 < parts && dm_range_size(part) < smallest && part.end < total)
      smallest = dm_range_size(part);
  }
  assert_int_equal(at, total);
  assert_int_equal(largest, dm_range_size(dm_split(total, parts, 0, step)));
  if (smallest < INT64_MAX) assert_true(largest - smallest <= step);
}

TEST(splits_tile) {
  dice d = {.seed = 1};
  for (int i = 0; i < many(20000); i++)
    check_split(roll_size(&d, 5000), roll(&d, 1, 40), roll(&d, 0, 1) ? 1 : roll(&d, 1, 300));
}

TEST(huge_sizes_do_not_overflow) {
  const int64_t huge = INT64_C(1) << 60;
  dm_range last = dm_split(huge + 1, 1000003, 1000002, 256);
  assert_int_equal(last.end, huge + 1);
  assert_true(dm_range_size(last) > 0);
  assert_int_equal(dm_split(huge, 7, 0, 1).begin, 0);
  for (int i = 1; i < 7; i++)
    assert_int_equal(dm_split(huge, 7, i, 1).begin, dm_split(huge, 7, i - 1, 1).end);
}

static dm_plan grid_of(int pm, int pn, int pk, int qm, int qn, int qk) {
  return (dm_plan){
      .ranks = pm * pn * pk + 2, .pm = pm, .pn = pn, .pk = pk, .qm = qm, .qn = qn, .qk = qk};
}

static void check_places(const dm_plan *plan) {
  for (int rank = 0; rank < dm_plan_used(plan); rank++) {
    dm_coords at = dm_plan_coords(plan, rank);
    assert_false(at.idle);
    assert_true(at.i >= 0 && at.i < plan->pm);
    assert_true(at.j >= 0 && at.j < plan->pn);
    assert_true(at.l >= 0 && at.l < plan->pk);
    assert_int_equal(dm_plan_rank(plan, at.i, at.j, at.l), rank);
  }
  assert_true(dm_plan_coords(plan, dm_plan_used(plan)).idle);
}

TEST(places_are_a_bijection) {
  dice d = {.seed = 2};
  for (int i = 0; i < many(2000); i++) {
    int qm = (int)roll(&d, 1, 4), qn = (int)roll(&d, 1, 4), qk = (int)roll(&d, 1, 3);
    dm_plan plan = grid_of(qm * (int)roll(&d, 1, 4), qn * (int)roll(&d, 1, 4),
                           qk * (int)roll(&d, 1, 3), qm, qn, qk);
    check_places(&plan);
  }
}

TEST(ranks_of_a_node_form_a_box) {
  dm_plan plan = grid_of(4, 6, 2, 2, 3, 1);
  for (int rank = 0; rank < 48; rank++) {
    dm_coords first = dm_plan_coords(&plan, rank / 6 * 6), at = dm_plan_coords(&plan, rank);
    assert_int_equal(first.i / 2, at.i / 2);
    assert_int_equal(first.j / 3, at.j / 3);
    assert_int_equal(first.l, at.l);
  }
}

TEST(plain_order_keeps_grid_rows_together) {
  dm_plan plan = grid_of(2, 4, 2, 1, 1, 1);
  assert_int_equal(dm_plan_rank(&plan, 0, 1, 0), 1);
  assert_int_equal(dm_plan_rank(&plan, 1, 0, 0), 4);
  assert_int_equal(dm_plan_rank(&plan, 0, 0, 1), 8);
}

TEST(shares_of_b_are_even_in_every_panel) {
  dm_plan plan = grid_of(3, 1, 2, 1, 1, 1);
  plan.problem = problem_of(10, 10, 500, DM_F64);
  plan.kb = 128;
  plan.panels = 4;
  for (int64_t p = 0; p < 4; p++) {
    int64_t panel = dm_range_size(dm_plan_panel(&plan, p));
    for (int i = 0; i < 3; i++) {
      int64_t rows = dm_range_size(dm_plan_b_share(&plan, p, i));
      assert_true(rows == panel / 3 || rows == panel / 3 + 1);
    }
  }
  assert_int_equal(dm_plan_b_share_rows(&plan, 0, 1), 43 + 39); /* of 128 and of 116 */
}

/* The simulator detects parts that do not tile. */
TEST(spoilt_plans_do_not_tile) {
  static const char *const words[] = {
      "tiling: panels end at 576 of 640",
      "tiling: panels",
      "tiling: panels of 60",
      "tiling: ramp-up panels of 60",
      "tiling: boxes",
      "tiling: grid",
      "not reproducible",
  };
  enum { PLANS = sizeof words / sizeof words[0] };
  dm_plan plans[PLANS];
  for (int i = 0; i < PLANS; i++) plans[i] = whole_plan();
  plans[0].panels = 9;
  plans[1].panels = 12;
  plans[2].kb = 60;
  plans[3].ramp[0] = 60;
  plans[4].qm = 3;
  plans[5].ranks = 7;
  plans[6].reproducible = true;
  for (int i = 0; i < PLANS; i++) fails(dm_plan_simulate(&plans[i]), DM_E_BUG, words[i]);
}

RUN_ALL(test_plan_partition)
