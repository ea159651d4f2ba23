/* split_cases: matrices that products of split operands (core/split.h) have to bear, and what those
 * may lose. */
#ifndef DM_TESTS_SPLIT_CASES_H
#define DM_TESTS_SPLIT_CASES_H

#include "checks.h"
#include "core/element.h"
#include "core/split.h"
#include "core/view.h"

typedef enum split_data {
  SPLIT_NORMAL,    /* normal times exp(normal / 2) */
  SPLIT_LINES,     /* rows of A and columns of B from 2^-20 to 2^20 */
  SPLIT_ZEROS,     /* whole lines of them, too */
  SPLIT_SUBNORMAL, /* numbers, and products of others */
  SPLIT_EXTREME,   /* lines of about 1e30 and 1e-30 */
  SPLIT_CANCELLED, /* sums of products that nearly cancel */
  SPLIT_UNLIKE,    /* numbers from 2^-30 to 1 side by side, and in some lines 2^-50 */
  SPLIT_SPECIAL,   /* NaN and Inf in some lines */
  SPLIT_DATA
} split_data;

enum { SPLIT_A, SPLIT_B };

static inline double split_plain(int matrix, int64_t line, int64_t l) {
  const uint64_t seed = 41 + (uint64_t)matrix;
  return dm_normal(seed, line, l, 0) * exp(0.5 * dm_normal(seed, line, l, 1));
}

/* Number L of a row of A or a column of B. */
static inline float split_number(split_data data, int matrix, int64_t line, int64_t l) {
  const double plain = split_plain(matrix, line, l);
  switch (data) {
  case SPLIT_LINES:
    return (float)ldexp(plain, (int)(line * 7 % 41) - 20);
  case SPLIT_ZEROS:
    return line % 5 == 0 || (l + line) % 3 == 0 ? 0.0f : (float)plain;
  case SPLIT_SUBNORMAL:
    return (float)ldexp(plain, line % 3 == 0 ? -130 : line % 3 == 1 ? -70 : 0);
  case SPLIT_EXTREME:
    return (float)(plain * (line % 2 ? 1e30 : 1e-30));
  case SPLIT_CANCELLED:
    if (l % 2 == 0) return (float)plain;
    if (matrix == SPLIT_A) return (float)split_plain(matrix, line, l - 1);
    return (float)(ldexp(plain, -18) - split_plain(matrix, line, l - 1));
  case SPLIT_UNLIKE:
    return (float)ldexp(plain, line % 4 == 1 && l == 0 ? -50 : -(int)((line + l) % 27));
  case SPLIT_SPECIAL:
    if (line % 16 == 3 && l == line % 7) return NAN;
    if (line % 16 == 9 && l % 5 == 1) return matrix == SPLIT_A ? INFINITY : -INFINITY;
    return (float)plain;
  default:
    return (float)plain;
  }
}

static inline void split_fill(dm_view view, split_data data, int matrix) {
  for (int64_t i = 0; i < view.rows; i++)
    for (int64_t j = 0; j < view.cols; j++)
      *(float *)dm_view_at(view, i, j) =
          matrix == SPLIT_A ? split_number(data, matrix, i, j) : split_number(data, matrix, j, i);
}

/* What the lines of a matrix lose: those that are split, in units of 2^-24 |A||B|; plain numbers
 * lose much less than dm_split_factor. */
static inline double split_factor(split_data data, int64_t k) {
  const double native = (double)k;
  if (data == SPLIT_UNLIKE) return fmax(native, dm_split_factor(k));
  return data == SPLIT_NORMAL || data == SPLIT_LINES || data == SPLIT_CANCELLED
             ? fmin(16.0, native + 8.0)
             : native + 16.0;
}

/* C is OLD (NULL: 0) + A B, all in host memory. */
static inline void split_check(dm_view c, dm_view a, dm_view b, const float *old, split_data data) {
  for (int64_t i = 0; i < c.rows; i++)
    for (int64_t j = 0; j < c.cols; j++) {
      const double got = *(float *)dm_view_at(c, i, j);
      long double sum = 0.0L, size = 0.0L;
      for (int64_t l = 0; l < a.cols; l++) {
        const long double product =
            (long double)*(float *)dm_view_at(a, i, l) * (long double)*(float *)dm_view_at(b, l, j);
        sum += product;
        size += fabsl(product);
      }
      if (old) sum += old[i * c.cols + j];
      const double wanted = (double)(float)sum;
      const long double bound = split_factor(data, a.cols) * 0x1p-24L * size +
                                0x1p-23L * fabsl(sum) + (long double)(a.cols + 2) * 0x1p-149L;
      if (isfinite((double)size) && size > 0x1.fp127L && !isfinite(got)) continue; /* overflow */
      const bool same = isfinite(wanted) ? fabsl(got - sum) <= bound
                        : isnan(wanted)  ? isnan(got)
                                         : got == wanted;
      if (!same)
        fail_msg("data %d, %lld x %lld x %lld: C(%lld, %lld) = %.9g, wanted %.9g, off by %.3g of "
                 "the bound",
                 data, (long long)c.rows, (long long)c.cols, (long long)a.cols, (long long)i,
                 (long long)j, got, wanted, (double)(fabsl(got - sum) / bound));
    }
}

#endif
