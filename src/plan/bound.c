#include "plan/bound.h"

#include <math.h>

static void order(double *large, double *small) {
  if (*large >= *small) return;
  double swap = *large;
  *large = *small;
  *small = swap;
}

/* Elements that some rank must access, with m >= n >= k: one, two or three dimensions are cut. */
static double touched(double m, double n, double k, double ranks) {
  if (ranks <= m / n) return (m * n + m * k) / ranks + n * k;
  if (ranks <= m * n / (k * k)) return 2 * sqrt(m * n * k * k / ranks) + m * n / ranks;
  return 3 * pow(m * n * k / ranks, 2.0 / 3.0);
}

double dm_bound_words(int64_t m, int64_t n, int64_t k, int64_t ranks, double memory_words) {
  if (ranks <= 1) return 0;
  double large = (double)m, middle = (double)n, small = (double)k, p = (double)ranks;
  order(&large, &middle);
  order(&middle, &small);
  order(&large, &middle);
  double owned = (large * middle + large * small + middle * small) / p;
  double words = fmax(0, touched(large, middle, small, p) - owned);
  if (memory_words > 0) {
    double limited = 2 * large * middle * small / (p * sqrt(memory_words)) - 2 * memory_words;
    words = fmax(words, limited);
  }
  return words;
}

double dm_bound_file_words(int64_t m, int64_t n, int64_t k, double memory_words) {
  const double rows = (double)m, cols = (double)n, depth = (double)k;
  double words = rows * depth + depth * cols + rows * cols;
  if (memory_words > 0)
    words = fmax(words, 2 * rows * cols * depth / sqrt(memory_words) + rows * cols);
  return words;
}
