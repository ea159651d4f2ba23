/* First example of src/layout: ten rows in blocks of two, dealt to two parts, become two halves. */
#include "checks.h"
#include "layout/distribution.h"

TEST(first_moved_rows) {
  dm_axis cyclic, halves;
  dm_segments segments = {0};
  ok(dm_axis_cyclic(10, 2, 2, 0, &cyclic)); /* part 0 has 0 1 4 5 8 9, part 1 has 2 3 6 7 */
  ok(dm_axis_even(10, 2, &halves));         /* 0 to 4, and 5 to 9 */
  ok(dm_axis_cut(&cyclic, &halves, &segments));
  dm_overlap given = {.segments = &segments, .from = 0, .to = 1, .window = {0, INT64_MAX}};
  dm_overlap_piece p; /* part 0 gives the second half rows 5, 8 and 9 */
  assert_int_equal(dm_overlap_size(given), 3);
  assert_true(dm_overlap_next(&given, &p) && p.at == 0 && p.size == 1 && p.from == 3 && p.to == 0);
  assert_true(dm_overlap_next(&given, &p) && p.at == 1 && p.size == 2 && p.from == 4 && p.to == 3);
  assert_false(dm_overlap_next(&given, &p));
  dm_overlap last = {
      .segments = &segments, .from = 0, .to = 1, .window = {4, 9}, .counts = DM_OVERLAP_TO};
  assert_true(dm_overlap_next(&last, &p) && p.at == 0 && p.size == 1 && p.from == 5 && p.to == 4);
  assert_false(dm_overlap_next(&last, &p));
  dm_segments_free(&segments);
  free(cyclic.runs);
  free(halves.runs);
}

RUN_ALL(test_first_layout)
