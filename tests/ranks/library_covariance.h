/* library_covariance: matrices whose covariances tests of the library compare with sums over pairs
 * of lines, some of their values missing. */
#ifndef DM_TESTS_LIBRARY_COVARIANCE_H
#define DM_TESTS_LIBRARY_COVARIANCE_H

#include <math.h>

#include "library_matrices.h"

/* Element J of line I of X; NaN: missing. */
static inline double of_line(const spread *x, bool of_rows, int64_t line, int64_t i, bool gaps) {
  const int64_t row = of_rows ? line : i, col = of_rows ? i : line;
  (void)x;
  return gaps && (row * 31 + col) % 11 == 3 ? (double)NAN : value(0, row, col, 0) + 1e4;
}

/* Whether element I counts in the mean of LINES[L]; PAIRS: only where both lines have values. */
static inline bool counts(const spread *x, bool of_rows, const int64_t lines[2], int l, int64_t i,
                          bool gaps, bool pairs) {
  return !isnan(of_line(x, of_rows, lines[l], i, gaps)) &&
         (!pairs || !isnan(of_line(x, of_rows, lines[1 - l], i, gaps)));
}

static inline double mean_of(const spread *x, bool of_rows, const int64_t lines[2], int l,
                             int64_t length, bool gaps, bool pairs) {
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
static inline double covariance(const spread *x, bool of_rows, const int64_t lines[2],
                                int64_t length, bool gaps, bool pairs, double sums[3]) {
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

static inline void fill_x(rank_test *test, const spread *x, bool gaps) {
  int64_t row, col;
  for (int64_t i = 0; i < x->m.rows; i++)
    for (int64_t j = 0; j < x->m.cols; j++)
      if (owner(x, i, j, &row, &col) == test->run.rank)
        put(element(x, row, col), x->m.type, of_line(x, false, j, i, gaps), 0.0);
}

static inline int64_t count_off(rank_test *test, const spread *x, const spread *c, bool of_rows,
                                bool cor, bool gaps, bool pairs) {
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

#endif
