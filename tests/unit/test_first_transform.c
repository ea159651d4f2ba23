/* First example of src/transform: the mean of a column, from parts of it, without what is missing.
 */
#include "checks.h"
#include "comm/team.h"
#include "transform/moments.h"

static void sum_up(dm_comm *alone, void *none) {
  (void)none;
  double column[] = {1, 2, NAN, 6}, mean;
  dm_moments moments;
  ok(dm_moments_open(4, 1, false, false, 1, NULL, &moments));
  for (int64_t row = 0; row < 4; row += 2)
    ok(dm_moments_take(&(dm_moments_group){NULL, &moments, 0},
                       dm_view_row_major(column + row, DM_F64, 2, 1), row, 0));
  ok(dm_moments_join(&moments, alone));
  dm_moments_mean(&moments, 0, &mean);
  assert_true(mean == 3.0 && dm_moments_squares(&moments, 0) == 14.0);
  assert_int_equal(dm_moments_missing(&moments, 0), 1);
  dm_moments_close(&moments);
  dm_comm_free(alone);
}

TEST(first_mean) {
  ok(dm_team_run(1, sum_up, NULL));
}

RUN_ALL(test_first_transform)
