/* First example of src/run: a long run says what it does, less and less often. */
#include "checks.h"
#include "run/run.h"

TEST(first_lines_of_progress) {
  static const double wanted[] = {1, 2, 5, 10, 30, 60, 90, 120}; /* seconds after the start */
  double shown = 0;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    shown = dm_run_next_line(shown);
    assert_true(shown == wanted[i]);
  }
}

RUN_ALL(test_first_run)
