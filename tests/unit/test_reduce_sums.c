/* Tests wide_sum: the same bits in every order and division, right within one rounding. */
#include "checks.h"

#include <math.h>

#include "reduce/wide_sum.h"

enum { COUNT = 4000 };

static uint64_t drawn_last = 7;

static double random_unit(void) {
  drawn_last = drawn_last * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)drawn_last * 0x1p-63;
}

/* Numbers of like size, of all sizes, or some that nearly cancel. */
static void draw(int kind, double *numbers) {
  for (int i = 0; i < COUNT; i++) {
    const double one = random_unit();
    numbers[i] = kind == 0 ? one : ldexp(one, kind == 1 ? (int)(500.0 * random_unit()) : i % 30);
    if (kind == 2 && i % 2) numbers[i] = -numbers[i - 1] * (1.0 + 1e-9 * random_unit());
  }
}

static void shuffle(double *numbers) {
  for (int i = COUNT - 1; i > 0; i--) {
    const int j = (int)(fabs(random_unit()) * (i + 1)) % (i + 1);
    const double one = numbers[i];
    numbers[i] = numbers[j];
    numbers[j] = one;
  }
}

/* In PARTS sums that are joined. */
static dm_wide_sum sum_of(const double *numbers, int parts, bool squares) {
  dm_wide_sum all = {.lowest = 0};
  for (int p = 0; p < parts; p++) {
    dm_wide_sum one = {.lowest = 0};
    for (int i = p; i < COUNT; i += parts)
      (squares ? dm_wide_add_square : dm_wide_add)(&one, numbers[i]);
    dm_wide_join(&all, &one);
  }
  return all;
}

TEST(sums_in_any_order) {
  static double numbers[COUNT];
  for (int kind = 0; kind < 3; kind++) {
    draw(kind, numbers);
    long double sum = 0.0L, squares = 0.0L, sizes = 0.0L;
    for (int i = 0; i < COUNT; i++) {
      sum += numbers[i];
      sizes += fabsl(numbers[i]);
      squares += (long double)numbers[i] * numbers[i];
    }
    const dm_wide_sum first[2] = {sum_of(numbers, 1, false), sum_of(numbers, 1, true)};
    assert_true(fabsl(dm_wide_value(&first[0]) - sum) <= 0x1p-53L * fabsl(sum) + 0x1p-58L * sizes);
    assert_true(fabsl(dm_wide_root(&first[1]) - sqrtl(squares)) <= 0x1p-52L * sqrtl(squares));
    for (int turn = 1; turn < 8; turn++) {
      shuffle(numbers);
      const dm_wide_sum again[2] = {sum_of(numbers, turn, false), sum_of(numbers, turn, true)};
      assert_memory_equal(first[0].digits, again[0].digits, sizeof first[0].digits);
      assert_true(dm_wide_value(&first[0]) == dm_wide_value(&again[0]));
      assert_true(dm_wide_root(&first[1]) == dm_wide_root(&again[1]));
    }
  }
}

static double value_of(int count, const double *numbers) {
  dm_wide_sum sum = {.lowest = 0};
  for (int i = 0; i < count; i++) dm_wide_add(&sum, numbers[i]);
  return dm_wide_value(&sum);
}

static double root_of(int count, const double *numbers) {
  dm_wide_sum sum = {.lowest = 0};
  for (int i = 0; i < count; i++) dm_wide_add_square(&sum, numbers[i]);
  return dm_wide_root(&sum);
}

TEST(sums_of_extreme_numbers) {
  const double large = 0x1.fffffffffffffp1023, least = 0x1p-1074;
  assert_true(value_of(0, NULL) == 0.0);
  assert_true(value_of(3, (double[]){1.0, -1.0, 0x1p-60}) == 0x1p-60);
  assert_true(value_of(2, (double[]){least, least}) == 2.0 * least);
  assert_true(value_of(3, (double[]){large, large, -large}) == large);
  assert_true(isinf(value_of(2, (double[]){large, large})));
  assert_true(value_of(2, (double[]){INFINITY, -large}) == (double)INFINITY);
  assert_true(isnan(value_of(2, (double[]){INFINITY, -INFINITY})));
  assert_true(isnan(value_of(2, (double[]){1.0, NAN})));
  assert_true(root_of(2, (double[]){0x3p600, -0x4p600}) == 0x5p600);
  assert_true(root_of(2, (double[]){0x3p-700, 0x4p-700}) == 0x5p-700);
  assert_true(root_of(1, (double[]){least}) == least);
  assert_true(root_of(1, (double[]){-large}) == large);
  assert_true(root_of(1, (double[]){-INFINITY}) == (double)INFINITY);
}

RUN_ALL(test_reduce_sums)
