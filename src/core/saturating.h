/* saturating: arithmetic on sizes that saturates at INT64_MAX, which fits nowhere. */
#ifndef DM_CORE_SATURATING_H
#define DM_CORE_SATURATING_H

#include "core/checked.h"
#include "core/view.h"

static inline int64_t dm_plus(int64_t a, int64_t b) {
  int64_t sum;
  return dm_add_overflows(a, b, &sum) ? INT64_MAX : sum;
}

static inline int64_t dm_times(int64_t a, int64_t b) {
  int64_t product;
  return dm_mul_overflows(a, b, &product) ? INT64_MAX : product;
}

static inline int64_t dm_rounded(int64_t bytes, int64_t step) {
  return bytes > INT64_MAX - step ? INT64_MAX : dm_round_up(bytes, step);
}

/* Bytes of a packed matrix of elements of SIZE bytes. */
static inline int64_t dm_packed(int64_t rows, int64_t cols, int64_t size) {
  return dm_times(rows, dm_times(cols, size));
}

/* The same on a device, with padded rows. */
static inline int64_t dm_padded(int64_t rows, int64_t cols, int64_t size) {
  const int64_t row = dm_times(cols, size);
  return dm_times(rows, row > INT64_MAX / 2 ? INT64_MAX : dm_device_row(row));
}

static inline int64_t dm_laid_out(dm_space space, int64_t rows, int64_t cols, int64_t size) {
  return space == DM_HOST ? dm_packed(rows, cols, size) : dm_padded(rows, cols, size);
}

#endif
