/* alpha, beta and the rounding to C's type; and statistics of repeated measurements. */
#include "checks.h"
#include "core/copy.h"
#include "core/element.h"
#include "engine/alpha_beta.h"
#include "run/record.h"

static const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};

/* Checks OUT = alpha SUM + beta OLD, element by element in double. */
static void finishes(dm_dtype out_type, dm_dtype sum_type, dm_dtype old_type, const double alpha[2],
                     const double beta[2], bool reads_old) {
  enum { ROWS = 5, COLS = 301 };
  static double memory[3][ROWS * (COLS + 3) * 2];
  dm_view sum = dm_view_strided(memory[0], sum_type, DM_HOST, ROWS, COLS, COLS + 3);
  dm_view old = dm_view_strided(memory[1], old_type, DM_HOST, ROWS, COLS, COLS + 1);
  dm_view out = dm_view_strided(memory[2], out_type, DM_HOST, ROWS, COLS, COLS + 2);
  dm_fill(sum, &(dm_generator){.kind = DM_INTEGER, .seed = 1, .parameter = 20}, 0, 0);
  dm_fill(old, &(dm_generator){.kind = DM_INTEGER, .seed = 2, .parameter = 20}, 0, 0);
  ok(dm_apply_alpha_beta(out, sum, reads_old ? &old : NULL, alpha, beta));
  const bool is_complex = dm_dtype_is_complex(sum_type);
  for (int64_t i = 0; i < ROWS; i++) {
    for (int64_t j = 0; j < COLS; j++) {
      double s[2] = {0}, o[2] = {0}, got[2] = {0}, want[2];
      dm_load_wide(s, dm_view_at(sum, i, j), sum_type, 1, 1);
      dm_load_wide(o, dm_view_at(old, i, j), old_type, 1, 1);
      dm_load_wide(got, dm_view_at(out, i, j), out_type, 1, 1);
      want[0] = alpha[0] * s[0] - alpha[1] * s[1];
      want[1] = alpha[0] * s[1] + alpha[1] * s[0];
      if (reads_old) {
        want[0] += beta[0] * o[0] - beta[1] * o[1];
        want[1] += beta[0] * o[1] + beta[1] * o[0];
      }
      double stored[2];
      dm_store_wide(stored, out_type, 1, want, 1); /* rounded to the type */
      dm_load_wide(want, stored, out_type, 1, 1);
      if (got[0] != want[0] || (is_complex && got[1] != want[1]))
        fail_msg("%s from %s: %g, wanted %g", dm_dtype_name(out_type), dm_dtype_name(sum_type),
                 got[0], want[0]);
    }
  }
}

TEST(all_types) {
  const double alpha[2] = {-2.5, 0.0}, beta[2] = {0.375, 0.0}, turn[2] = {0.5, -2.0};
  const double whole[2] = {-7.0, 0.0}, third[2] = {1.0 / 3.0, 0.0};
  static const dm_dtype reals[] = {DM_F64, DM_F32, DM_F16, DM_BF16};
  for (int out = 0; out < 4; out++)
    for (int sum = 0; sum < 2; sum++) {
      finishes(reals[out], reals[sum], reals[out], alpha, beta, true);
      finishes(reals[out], reals[sum], DM_F64, third, third, true);
      finishes(reals[out], reals[sum], DM_F64, one, one, true);
      finishes(reals[out], reals[sum], DM_F64, alpha, zero, false);
    }
  finishes(DM_C128, DM_C64, DM_C64, turn, alpha, true);
  finishes(DM_C64, DM_C128, DM_F32, turn, turn, true);
  finishes(DM_C64, DM_C64, DM_C64, one, turn, true);
  finishes(DM_I32, DM_I32, DM_I32, whole, whole, true);
  finishes(DM_I32, DM_I32, DM_I8, one, whole, true);
}

TEST(whole_numbers_that_do_not_fit) {
  int32_t sum = INT32_MAX, old = 1, out = 5;
  dm_view c = dm_view_row_major(&sum, DM_I32, 1, 1), c0 = dm_view_row_major(&old, DM_I32, 1, 1);
  dm_view result = dm_view_row_major(&out, DM_I32, 1, 1);
  const double two[2] = {2.0, 0.0}, huge[2] = {-2147483648.0, 0.0}, minus[2] = {-1.0, 0.0};
  ok(dm_apply_alpha_beta(result, c, NULL, one, zero));
  assert_int_equal(out, INT32_MAX);
  fails(dm_apply_alpha_beta(result, c, &c0, one, one), DM_E_INPUT, "does not fit");
  fails(dm_apply_alpha_beta(result, c, NULL, two, zero), DM_E_INPUT, "does not fit");
  ok(dm_apply_alpha_beta(result, c, &c0, one, minus));
  assert_int_equal(out, INT32_MAX - 1);
  /* Both products are near 2^62 and their sum passes 2^63. */
  sum = old = INT32_MIN;
  fails(dm_apply_alpha_beta(result, c, &c0, huge, huge), DM_E_INPUT, "does not fit");
}

/* An infinity in a complex sum stays one where alpha is 1. */
TEST(infinities_stay) {
  double sum[2] = {INFINITY, 1.0}, old[2] = {2.0, 3.0}, out[2];
  dm_view c0 = dm_view_row_major(old, DM_C128, 1, 1);
  ok(dm_apply_alpha_beta(dm_view_row_major(out, DM_C128, 1, 1),
                         dm_view_row_major(sum, DM_C128, 1, 1), &c0, one, one));
  assert_true(isinf(out[0]) && out[1] == 4.0);
  assert_true(dm_alpha_beta_is_identity(DM_F64, DM_F64, false, one));
  assert_false(dm_alpha_beta_is_identity(DM_F32, DM_F64, false, one) ||
               dm_alpha_beta_is_identity(DM_F64, DM_F64, true, one) ||
               dm_alpha_beta_is_identity(DM_F64, DM_F64, false, zero));
}

TEST(statistics) {
  double values[100];
  for (int i = 0; i < 100; i++) values[i] = (i * 37) % 100 + 1; /* 1 .. 100 in disorder */
  dm_statistics s = dm_statistics_of(values, 100);
  assert_true(s.count == 100 && s.median == 50.5 && s.least == 1 && s.most == 100);
  assert_true(s.low == 40 && s.high == 61); /* the textbook ranks for n = 100 */
  double ten[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
  s = dm_statistics_of(ten, 10);
  assert_true(s.low == 2 && s.high == 9 && s.median == 5.5);
  double five[] = {3, 1, 2, 5, 4};
  s = dm_statistics_of(five, 5);
  assert_true(s.low == 1 && s.high == 5 && s.median == 3);
  s = dm_statistics_of(five, 1);
  assert_true(s.median == 1 && s.low == 1 && s.high == 1);
  assert_int_equal(dm_statistics_of(NULL, 0).count, 0);
}

RUN_ALL(test_engine_alpha_beta)
