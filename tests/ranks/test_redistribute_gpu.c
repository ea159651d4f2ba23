/* ranks: 1 2 4. Like test_redistribute, from and to GPU memory. */
#include "library_moves.h"

enum { CASES = 60 };

TEST_PROGRAM(test_redistribute_gpu) {
  gpu_test test;
  if (!gpu_test_start(&test, false)) return SKIPPED;
  random_state r = {20251126};
  for (int i = 0; i < CASES; i++) try_move(&test.base, &r, test.gpu, i);
  return gpu_test_end(&test);
}
