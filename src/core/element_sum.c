#include "core/element_sum.h"

#include "core/wide_vectors.h"

/* The compiler vectorizes these loops if STRIDE is 1. */
#define SUM(type)                                                                                  \
  DM_INLINE uint64_t sum_##type(const void *at, int64_t count, int64_t stride, uint64_t key) {     \
    const type *word = at;                                                                         \
    uint64_t sum = 0;                                                                              \
    for (int64_t i = 0; i < count; i++, key += DM_HASH_STEP)                                       \
      sum += dm_hash_word(word[i * stride], key);                                                  \
    return sum;                                                                                    \
  }
SUM(uint8_t)
SUM(uint16_t)
SUM(uint32_t)
SUM(uint64_t)

/* Elements of 16 bytes are two words each, at twice the place. */
DM_INLINE uint64_t sum_pairs(const void *at, int64_t count, int64_t stride, uint64_t place) {
  const uint64_t *word = at;
  if (stride == 1) return sum_uint64_t(word, 2 * count, 1, dm_hash_key(2 * place));
  uint64_t sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += sum_uint64_t(word + 2 * i * stride, 2, 1, dm_hash_key(2 * (place + (uint64_t)i)));
  return sum;
}

DM_INLINE uint64_t sum_elements(const void *at, int64_t size, int64_t count, int64_t stride,
                                uint64_t place) {
  const uint64_t key = dm_hash_key(place);
  switch (size) {
  case 1:
    return sum_uint8_t(at, count, stride, key);
  case 2:
    return sum_uint16_t(at, count, stride, key);
  case 4:
    return sum_uint32_t(at, count, stride, key);
  case 8:
    return sum_uint64_t(at, count, stride, key);
  default:
    return sum_pairs(at, count, stride, place);
  }
}

static uint64_t element_sum_plain(const void *at, int64_t size, int64_t count, uint64_t place) {
  return sum_elements(at, size, count, 1, place);
}

/* Three times as fast: SSE2 vectors are half as wide, and GCC 12 multiplies all 64 bits there. */
DM_WIDE_VECTORS static uint64_t element_sum_wide(const void *at, int64_t size, int64_t count,
                                                 uint64_t place) {
  return sum_elements(at, size, count, 1, place);
}

static uint64_t row_sum(dm_view row, uint64_t place) {
  const int64_t size = dm_dtype_size(row.dtype);
  if (row.col_stride != 1 && row.cols > 1)
    return sum_elements(row.base, size, row.cols, row.col_stride, place);
  return (dm_has_wide_vectors() ? element_sum_wide : element_sum_plain)(row.base, size, row.cols,
                                                                        place);
}

uint64_t dm_checksum_view(dm_view view, int64_t row, int64_t col, int64_t cols) {
  uint64_t sum = 0;
  if (view.cols == cols && dm_view_is_packed(view)) /* rows that follow each other, in C, too */
    view = dm_view_one_row(view);
  for (int64_t i = 0; i < view.rows && view.cols > 0; i++)
    sum += row_sum(dm_view_sub(view, i, 0, 1, view.cols), (uint64_t)((row + i) * cols + col));
  return sum;
}
