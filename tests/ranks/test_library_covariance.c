/* ranks: 1 3 4. The library computes covariances and correlations of matrices in memory with random
 * divisions over the ranks, with missing values, as sums over pairs of lines do. */
#include "library_covariance.h"

enum { CASES = 16, LINES = 30 };

static void try_case(rank_test *test, damier_context *context, random_state *r, int number) {
  const bool of_rows = draw(r, 0, 1), cor = draw(r, 0, 1), gaps = draw(r, 0, 1);
  const bool pairs = draw(r, 0, 1);
  const int64_t lines = draw(r, 1, LINES), length = draw(r, 20, 90);
  spread x = random_spread(test, r, DAMIER_F64, of_rows ? lines : length, of_rows ? length : lines);
  spread c = random_spread(test, r, DAMIER_F64, lines, lines);
  fill_x(test, &x, gaps);
  damier_error error;
  int code = DAMIER_OK;
  if (gaps) {
    damier_set(context, "missing", NULL, &error);
    code = (cor ? damier_cor : damier_cov)(context, &x.m, of_rows, &c.m, &error);
    CHECK(test, code == DAMIER_E_INPUT && strstr(error.message, "missing; the first is in row"),
          "case %d: %d, %s", number, code, error.message);
  }
  damier_set(context, "missing", pairs ? "pairwise" : "mean", &error);
  code = (cor ? damier_cor : damier_cov)(context, &x.m, of_rows, &c.m, &error);
  CHECK(test, code == DAMIER_OK, "case %d: %s", number, error.message);
  const int64_t wrong = code ? 0 : count_off(test, &x, &c, of_rows, cor, gaps, pairs);
  CHECK(test, wrong == 0, "case %d (divisions %d %d, rows %d, gaps %d, pairs %d): %lld wrong",
        number, x.m.division, c.m.division, of_rows, gaps, pairs, (long long)wrong);
  free(x.m.data);
  free(c.m.data);
}

TEST_PROGRAM(test_library_covariance) {
  rank_test test = rank_test_start();
  random_state r = {20251125};
  damier_context *context;
  damier_error error;
  const int code = damier_open(MPI_COMM_WORLD, &context, &error);
  CHECK(&test, code == DAMIER_OK, "%s", error.message);
  for (int i = 0; i < CASES && !code; i++) try_case(&test, context, &r, i);
  damier_close(context);
  return rank_test_end(&test);
}
