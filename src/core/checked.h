/* checked: arithmetic on sizes that reports overflow, or saturates at INT64_MAX, which fits
 * nowhere. */
#ifndef DM_CORE_CHECKED_H
#define DM_CORE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"

static inline bool dm_mul_overflows(int64_t a, int64_t b, int64_t *product) {
  return __builtin_mul_overflow(a, b, product);
}

static inline bool dm_add_overflows(int64_t a, int64_t b, int64_t *sum) {
  return __builtin_add_overflow(a, b, sum);
}

/* *bytes = rows * cols * size, none negative; an error if it overflows an int64_t. */
static inline dm_status dm_bytes_of(int64_t rows, int64_t cols, int64_t size, int64_t *bytes) {
  int64_t elements;
  *bytes = 0;
  if (rows < 0 || cols < 0 || dm_mul_overflows(rows, cols, &elements) ||
      dm_mul_overflows(elements, size, bytes))
    return dm_fail(DM_E_FIT,
                   "the size of a matrix of %lld x %lld elements of %lld bytes overflows 64 bits",
                   (long long)rows, (long long)cols, (long long)size);
  return DM_OK;
}

static inline int64_t dm_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t dm_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* The order of two places of a matrix, row after row, as qsort takes it. */
static inline int dm_place_order(int64_t row, int64_t col, int64_t other_row, int64_t other_col) {
  if (row != other_row) return row < other_row ? -1 : 1;
  return col < other_col ? -1 : col > other_col;
}

/* Smallest multiple of STEP that is at least VALUE. */
static inline int64_t dm_round_up(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

static inline int64_t dm_ceil_div(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

/* ---- saturating ---- */

static inline int64_t dm_sat_add(int64_t a, int64_t b) {
  int64_t sum;
  return dm_add_overflows(a, b, &sum) ? INT64_MAX : sum;
}

static inline int64_t dm_sat_mul(int64_t a, int64_t b) {
  int64_t product;
  return dm_mul_overflows(a, b, &product) ? INT64_MAX : product;
}

static inline int64_t dm_sat_round_up(int64_t bytes, int64_t step) {
  return bytes > INT64_MAX - step ? INT64_MAX : dm_round_up(bytes, step);
}

/* Bytes of a packed matrix of elements of SIZE bytes. */
static inline int64_t dm_sat_bytes(int64_t rows, int64_t cols, int64_t size) {
  return dm_sat_mul(rows, dm_sat_mul(cols, size));
}

#endif
