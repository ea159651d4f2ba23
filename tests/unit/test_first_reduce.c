/* First example of src/reduce: the two largest elements of each row of a C that comes in parts. */
#include "checks.h"
#include "comm/team.h"
#include "reduce/reduction.h"

enum { ROWS = 2, COLS = 4, TOP = 2 };

static void keep(dm_comm *alone, void *none) {
  (void)none;
  double c[ROWS][COLS] = {{3, 9, 1, 7}, {5, NAN, 6, 2}};
  const dm_view whole = dm_view_row_major(c, DM_F64, ROWS, COLS);
  const dm_reduction what = {.kind = DM_REDUCE_TOP, .top = TOP};
  dm_reducer *reducer;
  ok(dm_reducer_new(&what, ROWS, COLS, 1 << 20, NULL, &reducer));
  for (int64_t col = 0; col < COLS; col += 2)
    ok(dm_reducer_add(reducer, dm_view_sub(whole, 0, col, ROWS, 2), 0, col, false, 1));
  ok(dm_reducer_join(reducer, alone));
  assert_int_equal(dm_reducer_kept(reducer), ROWS * TOP);
  assert_int_equal(dm_reducer_nan(reducer), 1);
  dm_reducer_free(reducer);
  dm_comm_free(alone);
}

TEST(first_kept_elements) {
  ok(dm_team_run(1, keep, NULL));
}

RUN_ALL(test_first_reduce)
