/* ranks: 1 3 4. The library computes covariances and correlations of matrices in memory with random
 * divisions over the ranks, with missing values, as sums over pairs of lines do. */
#include <math.h>

#include "library_matrices.h"

enum { CASES = 16, LINES = 30 };

/* Element J of line I of X; NaN: missing. */
static double of_line(const spread *x, bool of_rows, int64_t line, int64_t i, bool gaps) {
  const int64_t row = of_rows ? line : i, col = of_rows ? i : line;
  (void)x;
  return gaps && (row * 31 + col) % 11 == 3 ? (double)NAN : value(0, row, col, 0) + 1e4;
}

/* Whether element I counts in the mean of LINES[L]; PAIRS: only where both lines have values. */
static bool counts(const spread *x, bool of_rows, const int64_t lines[2], int l, int64_t i,
                   bool gaps, bool pairs) {
  return !isnan(of_line(x, of_rows, lines[l], i, gaps)) &&
         (!pairs || !isnan(of_line(x, of_rows, lines[1 - l], i, gaps)));
}

static double mean_of(const spread *x, bool of_rows, const int64_t lines[2], int l, int64_t length,
                      bool gaps, bool pairs) {
  double sum = 0.0, count = 0.0;
  for (int64_t i = 0; i < length; i++) {
    if (!counts(x, of_rows, lines, l, i, gaps, pairs)) continue;
    sum += of_line(x, of_rows, lines[l], i, gaps);
    count += 1.0;
  }
  return sum / count;
}

/* A missing value is the mean of its line; with PAIRS, neither line's element counts. SUMS: of the
 * products, and of both lines' squares; returns the covariance. */
static double covariance(const spread *x, bool of_rows, const int64_t lines[2], int64_t length,
                         bool gaps, bool pairs, double sums[3]) {
  double mean[2], count = 0.0;
  for (int l = 0; l < 2; l++) mean[l] = mean_of(x, of_rows, lines, l, length, gaps, pairs);
  memset(sums, 0, 3 * sizeof *sums);
  for (int64_t i = 0; i < length; i++) {
    double z[2];
    for (int l = 0; l < 2; l++)
      z[l] = counts(x, of_rows, lines, l, i, gaps, pairs)
                 ? of_line(x, of_rows, lines[l], i, gaps) - mean[l]
                 : 0.0;
    sums[0] += z[0] * z[1];
    for (int l = 0; l < 2; l++) sums[1 + l] += z[l] * z[l];
    count += !pairs || counts(x, of_rows, lines, 0, i, gaps, true);
  }
  return sums[0] / (count - 1.0);
}

static void fill_x(rank_test *test, const spread *x, bool gaps) {
  int64_t row, col;
  for (int64_t i = 0; i < x->m.rows; i++)
    for (int64_t j = 0; j < x->m.cols; j++)
      if (owner(x, i, j, &row, &col) == test->run.rank)
        put(element(x, row, col), x->m.type, of_line(x, false, j, i, gaps), 0.0);
}

static int64_t count_off(rank_test *test, const spread *x, const spread *c, bool of_rows, bool cor,
                         bool gaps, bool pairs) {
  const int64_t length = of_rows ? x->m.cols : x->m.rows;
  int64_t wrong = 0, row, col;
  for (int64_t i = 0; i < c->m.rows; i++)
    for (int64_t j = 0; j < c->m.cols; j++) {
      if (owner(c, i, j, &row, &col) != test->run.rank) continue;
      double sums[3];
      double want = covariance(x, of_rows, (const int64_t[]){i, j}, length, gaps, pairs, sums);
      if (cor) want = sums[0] / sqrt(sums[1] * sums[2]);
      wrong += !(fabs(get(element(c, row, col), DAMIER_F64, 0) - want) <= 1e-9);
    }
  return wrong;
}

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
