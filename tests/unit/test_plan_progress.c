/* The completed part of a product, in operations: tiles at the edge are smaller, and the last panel
 * is narrower. */
#include "plan/partition.h"
#include "plan/tiles.h"
#include "plan_cases.h"

static dm_plan plan_in_tiles(dice *d) {
  const dm_problem p = problem_of(roll(d, 5, 3000), roll(d, 5, 3000), roll(d, 1, 3000), DM_F64);
  const dm_machine machine = machine_of("ranks=6");
  dm_wishes wishes = {.tiles_m = roll(d, 1, 5), .tiles_n = roll(d, 1, 5), .down = roll(d, 0, 1)};
  wishes.panel = 64 * roll(d, 1, 4);
  wishes.reproducible = roll(d, 0, 1);
  if (wishes.reproducible) wishes.panel = 0;
  return planned(&p, &machine, 6, wishes);
}

/* Operations of the first T tiles, counted block by block. */
static double count(const dm_plan *plan, int64_t t) {
  double sum = 0.0;
  for (int64_t i = 0; i < t; i++)
    for (int r = 0; r < plan->pm; r++)
      for (int c = 0; c < plan->pn; c++)
        sum += (double)dm_range_size(dm_plan_rows(plan, i, r)) *
               (double)dm_range_size(dm_plan_cols(plan, i, c)) * (double)plan->problem.k;
  return sum;
}

TEST(operations_count) {
  dice d = {.seed = 7};
  int uneven = 0;
  for (int i = 0; i < 300; i++) {
    dm_plan plan = plan_in_tiles(&d);
    const int64_t tiles = dm_plan_tiles(&plan), layer = dm_range_size(dm_plan_layer(&plan, 0));
    const double all = count(&plan, tiles);
    double last = 0.0;
    dm_tile_states states;
    ok(dm_tile_states_open(tiles, &states));
    ok(dm_tile_states_choose(&states, DM_TILE_RECORDED, &plan));
    for (int64_t t = 0; t < tiles; t++) {
      const double part = dm_plan_part_done(&plan, t, 0, 0);
      assert_true(fabs(part - count(&plan, t) / all) < 1e-12);
      uneven += fabs(part - (double)t / (double)tiles) > 0.01;
      const bool empty = count(&plan, t + 1) == count(&plan, t);
      for (int64_t q = 0; q <= layer; q++) {
        const double more = dm_plan_part_done(&plan, t, 0, q);
        assert_true(q == 0 || empty ? fabs(more - part) < 1e-12 : more > last);
        last = more;
      }
      assert_true(fabs(last - dm_plan_part_done(&plan, t + 1, 0, 0)) < 1e-12);
    }
    assert_true(fabs(dm_plan_part_done(&plan, tiles, 0, 0) - 1.0) < 1e-12);
    dm_tile_states_close(&states);
  }
  assert_true(uneven > 100);
}

/* A million panels, each asked for: adding up the earlier ones would take hours. */
TEST(panels_of_narrow_matrices) {
  const dm_problem p = problem_of(4, 4, (int64_t)64 << 20, DM_F32);
  const dm_machine machine = machine_of("ranks=1");
  dm_plan plan = planned(&p, &machine, 1, (dm_wishes){.panel = 64});
  dm_tile_states states;
  double last = -1.0;
  ok(dm_tile_states_open(1, &states));
  ok(dm_tile_states_choose(&states, DM_TILE_RECORDED, &plan));
  for (int64_t q = 0; q <= 1 << 20; q++) {
    const double part = dm_plan_part_done(&plan, 0, 0, q);
    assert_true(part > last);
    last = part;
  }
  assert_true(fabs(last - 1.0) < 1e-12);
  dm_tile_states_close(&states);
}

RUN_ALL(test_plan_progress)
