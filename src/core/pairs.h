/* pairs: covariances and correlations of pairs of lines, from sums over what both have; and
 * correlations that rounding must not take beyond 1. The same formulas on hosts and GPUs. */
#ifndef DM_CORE_PAIRS_H
#define DM_CORE_PAIRS_H

#include <math.h>
#include <stdbool.h>

#include "core/elementary.h"
#include "core/status.h"
#include "core/view.h"

/* What is known of a pair: how many elements both lines have, the sum of their products, and of
 * each line the sums of these elements and of their squares; all less some number of each line,
 * and times 2^-exponent of it. */
typedef struct dm_pair {
  double count, product, sum[2], squares[2];
  double exponent[2]; /* whole numbers; DM_PAIR_NO_LINE: all of the line's elements are equal */
} dm_pair;

#define DM_PAIR_NO_LINE (-1e6)

/* What becomes of them: ALPHA times the correlation, or the covariance, the sum of products divided
 * by the count LESS something, or not DIVIDED; or the MEAN of the products. */
typedef struct dm_pair_form {
  bool correlation, divided, mean;
  double less, alpha;
} dm_pair_form;

/* Below this times the squares, or below this, variances lose too many digits. */
#define DM_PAIR_LEAST_PART 0x1p-10
#define DM_PAIR_LEAST_SQUARES 0x1p-900

static inline DM_HOST_DEVICE double dm_pair_variance(const dm_pair *of, int i) {
  return of->squares[i] - of->sum[i] * of->sum[i] / of->count;
}

/* Whether the sums must be taken again, less the means of the elements that both lines have. */
static inline DM_HOST_DEVICE bool dm_pair_is_doubtful(const dm_pair *of) {
  if (of->count < 2.0) return false;
  for (int i = 0; i < 2; i++)
    if (of->exponent[i] == DM_PAIR_NO_LINE) return false;
  for (int i = 0; i < 2; i++)
    if (!(dm_pair_variance(of, i) > DM_PAIR_LEAST_PART * of->squares[i]) ||
        !(of->squares[i] > DM_PAIR_LEAST_SQUARES))
      return true;
  return false;
}

static inline DM_HOST_DEVICE double dm_pair_divisor(const dm_pair_form *form, const dm_pair *of) {
  return form->divided ? of->count - form->less : 1.0;
}

/* Of one observation it is 0, unless it is divided by 0. */
static inline DM_HOST_DEVICE double dm_pair_covariance(const dm_pair *of, double divisor) {
  if (!(of->count > 0.0 && divisor > 0.0)) return (double)NAN;
  if (of->count == 1.0 || of->exponent[0] == DM_PAIR_NO_LINE || of->exponent[1] == DM_PAIR_NO_LINE)
    return 0.0;
  return (of->product - of->sum[0] * of->sum[1] / of->count) / divisor;
}

static inline DM_HOST_DEVICE double dm_pair_correlation(const dm_pair *of) {
  double variances = 1.0;
  if (of->count < 2.0) return (double)NAN;
  for (int i = 0; i < 2; i++) {
    const double variance = dm_pair_variance(of, i);
    if (!(variance > 0.0)) return (double)NAN;
    variances *= sqrt(variance);
  }
  return (of->product - of->sum[0] * of->sum[1] / of->count) / variances;
}

/* What VALUE, a covariance of lines times 2^-exponent, is without that. */
static inline DM_HOST_DEVICE double dm_pair_unscaled(const dm_pair *of, double value) {
  return value == 0.0 ? value : scalbn(value, (int)(of->exponent[0] + of->exponent[1]));
}

/* VALUE, FACTOR times a correlation, whose rounding must not take it beyond FACTOR. SAME: that of a
 * line with itself. NaN stays. */
static inline DM_HOST_DEVICE double dm_correlated(double value, double factor, bool same) {
  const double most = fabs(factor);
  if (isnan(value)) return value;
  return same ? factor : fmax(-most, fmin(most, value));
}

/* SAME: a line with itself. */
static inline DM_HOST_DEVICE double dm_pair_element(const dm_pair_form *form, const dm_pair *of,
                                                    bool same) {
  if (form->mean) return of->count > 0.0 ? form->alpha * (of->product / of->count) : (double)NAN;
  if (!form->correlation)
    return dm_pair_unscaled(of, form->alpha * dm_pair_covariance(of, dm_pair_divisor(form, of)));
  return form->alpha * dm_correlated(dm_pair_correlation(of), 1.0, same);
}

/* Rows of these sums, f64, from row FIRST on: element (i, j) is that of lines first + i of one
 * matrix and j of another, or with ONE of the same. Of sums and squares [0] is the first line's and
 * [1] the other's. */
typedef struct dm_pairs {
  int64_t first;
  bool one;
  dm_view counts, products, sums[2], squares[2];
  const double *exponents[2]; /* of these rows, and of all columns */
} dm_pairs;

static inline DM_HOST_DEVICE double dm_pair_number(const dm_view *of, int64_t i, int64_t j) {
  return ((const double *)of->base)[i * of->row_stride + j * of->col_stride];
}

static inline DM_HOST_DEVICE dm_pair dm_pair_at(const dm_pairs *of, int64_t i, int64_t j) {
  dm_pair pair = {dm_pair_number(&of->counts, i, j),
                  dm_pair_number(&of->products, i, j),
                  {0},
                  {0},
                  {of->exponents[0][i], of->exponents[1][j]}};
  for (int line = 0; line < 2; line++) {
    pair.sum[line] = dm_pair_number(&of->sums[line], i, j);
    pair.squares[line] = dm_pair_number(&of->squares[line], i, j);
  }
  return pair;
}

static inline DM_HOST_DEVICE bool dm_pair_is_same(const dm_pairs *of, int64_t i, int64_t j) {
  return of->one && of->first + i == j;
}

/* C = the covariances or correlations of PAIRS in host memory, rounded once, on at most THREADS
 * threads. C may be the counts. */
dm_status dm_pairs_finish(int threads, dm_view c, const dm_pairs *pairs, const dm_pair_form *form);

/* C in host memory, elements from (ROW, COL) on of FACTOR times correlations, each part of which
 * becomes what dm_correlated says; with DIAGONAL those on the diagonal are of lines with
 * themselves.
 */
void dm_correlate(dm_view c, int64_t row, int64_t col, double factor, bool diagonal);

#endif
