/* ranks: 1 2 3 4.  Parts of matrices in memory go from one division over the ranks to another, in
 * rounds. */
#include "library_moves.h"

enum { CASES = 120 };

TEST_PROGRAM(test_redistribute) {
  rank_test test = rank_test_start();
  random_state r = {20251125};
  for (int i = 0; i < CASES; i++) try_move(&test, &r, NULL, i);
  return rank_test_end(&test);
}
