#include "engine/alpha_beta.h"

#include <stdint.h>

#include "core/checked.h"
#include "core/copy.h"

enum { FACTORS_CHUNK = 256 };

static void times_factor(double *values, int64_t count, bool is_complex, const double by[2]) {
  if (!is_complex) {
    for (int64_t i = 0; i < count; i++) values[i] *= by[0];
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    double re = values[2 * i], im = values[2 * i + 1];
    values[2 * i] = re * by[0] - im * by[1];
    values[2 * i + 1] = re * by[1] + im * by[0];
  }
}

static bool factor_is_one(const double z[2]) {
  return z[0] == 1.0 && z[1] == 0.0; /* avoids NaN from infinite parts times zero */
}

/* OLD may be real if C is complex. */
static void load_old(double *values, dm_view old, int64_t row, int64_t col, int64_t count,
                     bool is_complex) {
  dm_load_wide(values, dm_view_at(old, row, col), old.dtype, old.col_stride, count);
  if (!is_complex || dm_dtype_is_complex(old.dtype)) return;
  for (int64_t i = count - 1; i >= 0; i--) {
    values[2 * i] = values[i];
    values[2 * i + 1] = 0.0;
  }
}

static void apply_to_row(dm_view out, dm_view sum, const dm_view *old, int64_t row,
                         const double alpha[2], const double beta[2]) {
  const bool is_complex = dm_dtype_is_complex(sum.dtype);
  const int64_t parts = is_complex ? 2 : 1;
  double values[2 * FACTORS_CHUNK], before[2 * FACTORS_CHUNK];
  for (int64_t col = 0; col < sum.cols; col += FACTORS_CHUNK) {
    int64_t count = dm_min(FACTORS_CHUNK, sum.cols - col);
    dm_load_wide(values, dm_view_at(sum, row, col), sum.dtype, sum.col_stride, count);
    if (!factor_is_one(alpha)) times_factor(values, count, is_complex, alpha);
    if (old) {
      load_old(before, *old, row, col, count, is_complex);
      if (!factor_is_one(beta)) times_factor(before, count, is_complex, beta);
      for (int64_t i = 0; i < count * parts; i++) values[i] += before[i];
    }
    dm_store_wide(dm_view_at(out, row, col), out.dtype, out.col_stride, values, count);
  }
}

static int64_t integer_of_c(dm_view view, int64_t row, int64_t col) {
  const void *at = dm_view_at(view, row, col);
  return view.dtype == DM_I8 ? *(const int8_t *)at : *(const int32_t *)at;
}

static dm_status apply_to_integers(dm_view out, dm_view sum, const dm_view *old, int64_t alpha,
                                   int64_t beta) {
  for (int64_t i = 0; i < sum.rows; i++) {
    for (int64_t j = 0; j < sum.cols; j++) {
      int64_t value = alpha * integer_of_c(sum, i, j); /* both fit 32 bits: the product fits 64 */
      if (old && dm_add_overflows(value, beta * integer_of_c(*old, i, j), &value))
        value = INT64_MAX;
      if (value < INT32_MIN || value > INT32_MAX)
        return dm_hint(dm_fail(DM_E_INPUT, "an element of alpha A B + beta C does not fit i32"),
                       "--type f64 multiplies in f64");
      *(int32_t *)dm_view_at(out, i, j) = (int32_t)value;
    }
  }
  return DM_OK;
}

dm_status dm_apply_alpha_beta(dm_view out, dm_view sum, const dm_view *old, const double alpha[2],
                              const double beta[2]) {
  if (dm_dtype_is_integer(sum.dtype))
    return apply_to_integers(out, sum, old, (int64_t)alpha[0], (int64_t)beta[0]);
  dm_view before = old ? *old : sum;
  if (dm_view_is_packed(out) && dm_view_is_packed(sum) && dm_view_is_packed(before)) {
    out = dm_view_one_row(out);
    sum = dm_view_one_row(sum);
    before = dm_view_one_row(before);
  }
  for (int64_t row = 0; row < sum.rows; row++)
    apply_to_row(out, sum, old ? &before : NULL, row, alpha, beta);
  return DM_OK;
}
