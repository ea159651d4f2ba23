/* First example of src/programs: programs multiply strips of a matrix, which are matrices, too. */
#include "checks.h"
#include "programs/cut.h"

TEST(first_strip) {
  double numbers[4][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}};
  const dm_view view = dm_view_row_major(numbers, DM_F64, 4, 3);
  const dm_dataset whole = {.memory = view, .rows = 4, .cols = 3, .dtype = DM_F64};
  dm_cut strip;
  ok(dm_cut_lines(&whole, DM_ROW_LINES, (dm_range){1, 3}, &strip));
  assert_true(strip.dataset.rows == 2 && strip.dataset.cols == 3);
  assert_ptr_equal(strip.dataset.memory.base, &numbers[1][0]);
  dm_cut_free(&strip);
}

RUN_ALL(test_first_programs)
