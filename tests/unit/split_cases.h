/* split_cases: difficult matrices for products of split operands (core/split.h), and their error
 * bounds. */
#ifndef DM_TESTS_SPLIT_CASES_H
#define DM_TESTS_SPLIT_CASES_H

#include "checks.h"
#include "core/element.h"
#include "core/split.h"
#include "core/view.h"

typedef enum split_data {
  SPLIT_NORMAL,    /* normal times exp(normal / 2) */
  SPLIT_LINES,     /* rows of A and columns of B scaled from 2^-20 to 2^20 */
  SPLIT_ZEROS,     /* zeros, including whole rows and columns */
  SPLIT_SUBNORMAL, /* subnormal numbers, and products that are subnormal */
  SPLIT_EXTREME,   /* rows and columns of about 1e30 and 1e-30 */
  SPLIT_CANCELLED, /* sums of products that nearly cancel */
  SPLIT_UNLIKE,    /* numbers from 2^-30 to 1 side by side, and 2^-50 in some rows and columns */
  SPLIT_SPECIAL,   /* NaN and Inf in some rows and columns */
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

static inline int64_t split_parts(dm_view view) {
  return dm_dtype_is_complex(view.dtype) ? 2 : 1;
}

/* A complex number takes two places of its row or column. */
static inline void split_fill(dm_view view, split_data data, int matrix) {
  const int64_t parts = split_parts(view);
  view = dm_view_parts(view);
  for (int64_t i = 0; i < view.rows; i++)
    for (int64_t j = 0; j < view.cols; j++)
      *(float *)dm_view_at(view, i, j) =
          matrix == SPLIT_A ? split_number(data, matrix, i, j)
                            : split_number(data, matrix, j / parts, i * parts + j % parts);
}

/* The error factor for a matrix: of split rows and columns, in units of 2^-24 |A||B|; ordinary
 * numbers lose much less than dm_split_factor. */
static inline double split_factor(split_data data, int64_t k) {
  const double native = (double)k;
  if (data == SPLIT_UNLIKE) return fmax(native, dm_split_factor(k));
  return data == SPLIT_NORMAL || data == SPLIT_LINES || data == SPLIT_CANCELLED
             ? fmin(16.0, native + 8.0)
             : native + 16.0;
}

/* Rows of A in f64, in which subnormal numbers of f32 are as fast as others. Rows of complex
 * numbers are twice as long. The caller frees them. */
static inline double *split_rows(dm_view a) {
  a = dm_view_parts(a);
  double *rows = malloc((size_t)(a.rows * a.cols) * sizeof *rows + 1);
  assert_non_null(rows);
  for (int64_t i = 0; i < a.rows; i++)
    for (int64_t l = 0; l < a.cols; l++) rows[i * a.cols + l] = *(float *)dm_view_at(a, i, l);
  return rows;
}

/* The same for columns of B; a row times the columns of x + iy gives the real part, then the
 * imaginary one. */
static inline double *split_columns(dm_view b) {
  const int64_t parts = split_parts(b), k = b.rows * parts;
  double *cols = malloc((size_t)(k * b.cols * parts) * sizeof *cols + 1);
  assert_non_null(cols);
  for (int64_t j = 0; j < b.cols; j++)
    for (int64_t l = 0; l < b.rows; l++) {
      const float *number = dm_view_at(b, l, j);
      double *first = cols + parts * j * k + parts * l;
      first[0] = number[0];
      if (parts == 1) continue;
      first[1] = -number[1];
      first[k] = number[1];
      first[k + 1] = number[0];
    }
  return cols;
}

/* Whether GOT is valid for SUM, the sum of K products in f64, which is exact there; SIZE is the sum
 * of magnitudes. */
static inline bool split_holds(double got, double sum, double size, int64_t k, split_data data) {
  const double wanted = (double)(float)sum;
  const double bound =
      split_factor(data, k) * 0x1p-24 * size + 0x1p-23 * fabs(sum) + (double)(k + 2) * 0x1p-149;
  if (isfinite(size) && size > 0x1.fp127 && !isfinite(got)) return true; /* overflow */
  if (isfinite(wanted)) return fabs(got - sum) <= bound;
  return isnan(wanted) ? isnan(got) : got == wanted;
}

/* Checks that C is OLD (NULL: 0) + A B, all in host memory. */
static inline void split_check(dm_view c, dm_view a, dm_view b, const float *old, split_data data) {
  double *rows = split_rows(a), *cols = split_columns(b);
  const int64_t k = dm_view_parts(a).cols;
  c = dm_view_parts(c);
  for (int64_t i = 0; i < c.rows; i++)
    for (int64_t j = 0; j < c.cols; j++) {
      const double got = *(float *)dm_view_at(c, i, j), *x = rows + i * k, *y = cols + j * k;
      double sum = old ? old[i * c.cols + j] : 0.0, size = 0.0;
      for (int64_t l = 0; l < k; l++) {
        sum += x[l] * y[l];
        size += fabs(x[l] * y[l]);
      }
      if (!split_holds(got, sum, size, k, data))
        fail_msg("data %d, %lld x %lld x %lld: C(%lld, %lld) = %.9g, wanted %.9g, |A||B| %.3g",
                 (int)data, (long long)c.rows, (long long)c.cols, (long long)k, (long long)i,
                 (long long)j, got, sum, size);
    }
  free(rows), free(cols);
}

#endif
