/* Tests distance: sums that follow from products, close pairs, what errors become. */
#include "checks.h"

#include "core/distance.h"

TEST(sums_follow_from_products_unless_pairs_are_close) {
  const double others[] = {4.0, 9.0, 0.0, NAN, INFINITY, 4.0};
  double x[] = {2.0, 0.0, 0.0, 1.0, 1.0, 4.0 - 0x1p-21};
  assert_int_equal(dm_distance_squares(x, 4.0, others, 6), 2);
  assert_true(x[0] == 4.0 && x[1] == 13.0 && x[2] == 4.0);
  assert_true(isnan(x[3])); /* NaN is not taken again */
  assert_true(x[4] == -1.0 && x[5] == -1.0);
}

TEST(differences_of_equal_lines_are_zero) {
  double x[19], y[19];
  for (int i = 0; i < 19; i++) x[i] = y[i] = 1e8 + 0.1 * i;
  assert_true(dm_distance_between(x, y, 19) == 0.0);
  y[18] += 1e-3;
  y[3] -= 1e-3;
  assert_float_equal(dm_distance_between(x, y, 19), 2e-6, 1e-9);
}

TEST(kinds_types_and_texts) {
  char text[DM_DISTANCE_TEXT];
  const dm_line_distance rbf = {DM_RBF, 0.1}, root = {.kind = DM_EUCLIDEAN};
  double values[300];
  for (int i = 0; i < 300; i++) values[i] = (double)i;
  dm_distance_finish(&root, DM_F32, values, 300);
  for (int i = 0; i < 300; i++) assert_true(values[i] == (double)(float)sqrt((double)i));
  assert_string_equal(dm_distance_text(&rbf, text), "rbf:0.1");
  assert_string_equal(dm_distance_text(&root, text), "euclidean");
  values[0] = INFINITY;
  values[1] = 0.0;
  dm_distance_finish(&rbf, DM_F64, values, 2);
  assert_true(values[0] == 0.0 && values[1] == 1.0);
}

TEST(sums_of_products_lose_more) {
  assert_true(dm_distance_roundoff(10, 1.0, 2.0) < 1e-14);
  assert_true(dm_distance_roundoff(10, 0x1p-19, 1.0) > 1e-9);
  assert_true(dm_distance_roundoff(10, 0x1p-21, 1.0) < 1e-14);
  assert_true(dm_distance_roundoff(10, 1.0, INFINITY) < 1e-14);
}

/* What is said to be the error is not less than what a changed sum gives. */
TEST(errors_are_bounds) {
  const dm_line_distance all[] = {{.kind = DM_EUCLIDEAN}, {.kind = DM_SQEUCLIDEAN}, {DM_RBF, 0.7}};
  for (int kind = 0; kind < 3; kind++)
    for (double sum = 1e-9; sum < 1e3; sum *= 7.0)
      for (double relative = 1e-12; relative < 0.1; relative *= 100.0) {
        const double value = dm_distance_of(&all[kind], sum);
        const double error = dm_distance_error(&all[kind], sum, relative);
        for (int sign = -1; sign <= 1; sign += 2) {
          const double other = dm_distance_of(&all[kind], sum * (1.0 + sign * relative));
          assert_true(fabs(other - value) <= error * (1.0 + 1e-9));
        }
      }
}

RUN_ALL(test_core_distance)
