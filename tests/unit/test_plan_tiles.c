/* The tiles of a run that use a band of A or B first, and last. */
#include "plan/grid_cost.h"
#include "plan/tiles.h"
#include "plan_cases.h"

static bool same_band(const dm_plan *plan, dm_matrix matrix, int64_t t, int64_t other) {
  const dm_tile x = dm_plan_tile(plan, t), y = dm_plan_tile(plan, other);
  if (dm_plan_part_of(plan, t) != dm_plan_part_of(plan, other)) return false;
  return matrix == DM_A ? x.r == y.r : x.c == y.c;
}

static void check_bands(const dm_plan *plan, dm_matrix matrix) {
  for (int64_t t = 0; t < dm_plan_tiles(plan); t++) {
    bool before = false, after = false;
    if (dm_plan_todo_place(plan, t) < 0) continue;
    for (int64_t i = 0; i < dm_plan_tiles(plan); i++) {
      const bool counts = dm_plan_todo_place(plan, i) >= 0 && same_band(plan, matrix, i, t);
      before |= counts && i < t;
      after |= counts && i > t;
    }
    assert_int_equal(dm_plan_is_first(plan, matrix, t), !before);
    assert_int_equal(dm_plan_is_last(plan, matrix, t), !after);
  }
}

/* In each entry exactly one tile is the last of a band of A and the first of one of B, and all
 * bands of B are read before a band of A is read for the last time. */
static void check_meeting(const dm_plan *plan) {
  int64_t meetings = 0, seen = 0;
  for (int64_t t = 0; t < dm_plan_tiles(plan); t++) {
    if (t > 0 && dm_plan_part_of(plan, t) > dm_plan_part_of(plan, t - 1)) meetings = seen = 0;
    const bool last = dm_plan_is_last(plan, DM_A, t), first = dm_plan_is_first(plan, DM_B, t);
    seen += first;
    meetings += last && first;
    if (last) assert_int_equal(seen, plan->tiles_n);
    if (last) assert_int_equal(meetings, 1);
  }
}

TEST(bands_begin_and_end) {
  dice d = {.seed = 12};
  for (int i = 0; i < 500; i++) {
    dm_plan plan = whole_plan();
    plan.problem.batch = roll(&d, 1, 3);
    plan.problem.m *= plan.problem.batch;
    plan.tiles_m = plan.problem.batch * roll(&d, 1, 6);
    plan.tiles_n = roll(&d, 1, 6);
    plan.down = roll(&d, 0, 1);
    check_meeting(&plan);
    dm_todo *todo = roll(&d, 0, 1) ? roll_todo(&d, &plan) : NULL;
    check_bands(&plan, DM_A);
    check_bands(&plan, DM_B);
    dm_todo_free(todo);
  }
}

/* The plan of a cube of SIZE, from files on a computer of RATE GFLOP/s, with an interval. */
static dm_plan with_interval(const char *rate, int64_t size, double seconds) {
  char words[128];
  snprintf(words, sizeof words, "cores=4 memory=64GiB gflops=%s", rate);
  const dm_problem problem = problem_of(size, size, size, DM_F64);
  const dm_machine machine = machine_of(words);
  return planned(&problem, &machine, machine.nodes * machine.ranks_per_node,
                 (dm_wishes){.tile_seconds = seconds});
}

/* What a run has shown lengthens the products of the next plan, not its files, and cuts C. */
TEST(slow_products_are_cut) {
  const dm_problem problem = problem_of(4096, 4096, 4096, DM_F64);
  dm_machine machine = machine_of("cores=4 memory=64GiB gflops=100");
  const dm_wishes wishes = {.tile_seconds = 60};
  const dm_plan quick = planned(&problem, &machine, 1, wishes);
  machine.slower = 200;
  const dm_plan slow = planned(&problem, &machine, 1, wishes);
  const dm_forecast f = dm_plan_forecast(&quick, &machine);
  assert_int_equal(dm_plan_tiles(&quick), 1);
  assert_true(dm_plan_tiles(&slow) > 4);
  assert_true(fabs(f.gemm / quick.forecast.gemm - 200) < 1e-6);
  assert_true(f.read == quick.forecast.read && f.write == quick.forecast.write);
  assert_true(f.total > 100 * quick.forecast.total);
}

/* A run that is ten times slower than predicted finishes a tile in each interval, too. */
TEST(slow_runs_finish_tiles) {
  const dm_plan quick = with_interval("100", 4096, 60);
  assert_int_equal(dm_plan_tiles(&quick), 1);
  for (int64_t size = 12288; size <= 32768; size += 4096) {
    const dm_plan plan = with_interval("100", size, 60);
    assert_true(plan.forecast.total / (double)dm_plan_tiles(&plan) <= 7);
  }
}

/* Tiles of one second are fine enough. */
TEST(tiles_are_not_too_fine) {
  const dm_plan plan = with_interval("100", 8192, 2);
  assert_in_range(dm_plan_tiles(&plan), 6, 16);
}

/* Where more tiles cost time, they take the interval, as requested, not less. */
TEST(costly_tiles_are_coarse) {
  const char *many_cores = "2000";
  const dm_plan whole = with_interval(many_cores, 24576, 0);
  const dm_plan plan = with_interval(many_cores, 24576, whole.forecast.total);
  const dm_plan cut = with_interval(many_cores, 24576, whole.forecast.gemm / 2);
  assert_int_equal(dm_plan_tiles(&plan), 1);
  assert_in_range(dm_plan_tiles(&cut), 2, 4);
  assert_true(cut.forecast.total > 1.05 * whole.forecast.total);
}

RUN_ALL(test_plan_tiles)
