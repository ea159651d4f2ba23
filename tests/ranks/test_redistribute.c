/* ranks: 1 2 3 4. Redistributes parts of matrices in memory over the ranks, in rounds. */
#include "library_moves.h"

enum { CASES = 120 };

TEST_PROGRAM(test_redistribute) {
  rank_test test = rank_test_start();
  random_state r = {20251125};
  for (int i = 0; i < CASES; i++) try_move(&test, &r, NULL, i);
  return rank_test_end(&test);
}
