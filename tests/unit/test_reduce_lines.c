/* Tests line_check: whatever is changed of what is kept of a line is found, and nothing else. */
#include "checks.h"

#include "core/buffer.h"
#include "reduce/line_check.h"

enum { LENGTH = 8, LINE = 3 };
static const double line[LENGTH] = {5.0, -7.0, NAN, 9.0, 5.0, 1.0, INFINITY, 0.0};

/* What is wrong with COUNT entries; elements are known within BOUND. "": nothing. */
static const char *wrong_within(dm_reduction what, int64_t count, const double *values,
                                const int64_t *indices, double bound) {
  static char text[DM_LINE_WRONG_TEXT];
  double kept[LENGTH] = {0.0}, bounds[LENGTH];
  int64_t at[LENGTH] = {0};
  if (values) memcpy(kept, values, (size_t)count * sizeof *kept);
  if (indices) memcpy(at, indices, (size_t)count * sizeof *at);
  for (int i = 0; i < LENGTH; i++) bounds[i] = bound;
  dm_line_check check = {.what = &what,
                         .line = LINE,
                         .length = LENGTH,
                         .count = count,
                         .values = kept,
                         .indices = indices ? at : NULL};
  assert_null(dm_line_check_open(&check));
  for (int first = 0; first < LENGTH; first += 3) { /* in parts */
    const int some = first + 3 < LENGTH ? 3 : LENGTH - first;
    dm_line_check_add(&check, first, some, line + first, bounds + first);
  }
  dm_line_check_end(&check);
  dm_line_check_close(&check);
  strcpy(text, check.wrong);
  return text;
}

static const char *wrong(dm_reduction what, int64_t count, const double *values,
                         const int64_t *indices) {
  return wrong_within(what, count, values, indices, 0.0);
}

#define RIGHT(...) assert_string_equal(wrong(__VA_ARGS__), "")
#define WRONG(text, ...) assert_non_null(strstr(wrong(__VA_ARGS__), text))

TEST(the_best) {
  const dm_reduction what = {.kind = DM_REDUCE_TOP, .top = 4};
  RIGHT(what, 4, (double[]){INFINITY, 9, 5, 5}, (int64_t[]){6, 3, 0, 4});
  WRONG("out of order", what, 4, (double[]){INFINITY, 9, 5, 5}, (int64_t[]){6, 3, 4, 0});
  WRONG("out of order", what, 4, (double[]){9, INFINITY, 5, 5}, (int64_t[]){3, 6, 0, 4});
  WRONG("another number", what, 4, (double[]){INFINITY, 9.5, 5, 5}, (int64_t[]){6, 3, 0, 4});
  WRONG("another number", what, 4, (double[]){9, 9, 5, 5}, (int64_t[]){3, 6, 0, 4});
  WRONG("out of order", what, 4, (double[]){INFINITY, 9, 9, 5}, (int64_t[]){6, 3, 3, 0});
  WRONG("kept twice", what, 4, (double[]){INFINITY, 9, 8, 5}, (int64_t[]){6, 3, 3, 0});
  WRONG("is missing", what, 4, (double[]){INFINITY, 9, 5, 1}, (int64_t[]){6, 3, 0, 5});
  WRONG("is missing", what, 4, (double[]){INFINITY, 9, 5, NAN}, (int64_t[]){6, 3, 0, -1});
  WRONG("NaN is not", what, 4, (double[]){INFINITY, 9, 5, NAN}, (int64_t[]){6, 3, 0, 2});
  WRONG("not one of the line", what, 4, (double[]){INFINITY, 9, 5, 5},
        (int64_t[]){6, 3, 0, LENGTH});
  WRONG("without an index", what, 4, (double[]){INFINITY, 9, 5, 5}, (int64_t[]){6, 3, 0, -1});
}

/* The other one of two equal elements is as good only if rounding may have made them so. */
TEST(places_that_rounding_changes) {
  const dm_reduction what = {.kind = DM_REDUCE_TOP, .top = 3};
  const double values[] = {INFINITY, 9, 5};
  RIGHT(what, 3, values, (int64_t[]){6, 3, 0});
  WRONG("is missing", what, 3, values, (int64_t[]){6, 3, 4});
  assert_string_equal(wrong_within(what, 3, values, (int64_t[]){6, 3, 4}, 1e-9), "");
  assert_string_equal(
      wrong_within(what, 3, (double[]){INFINITY, 9 + 1e-10, 5}, (int64_t[]){6, 3, 0}, 1e-9), "");
  assert_non_null(
      strstr(wrong_within(what, 3, (double[]){INFINITY, 9 + 1e-8, 5}, (int64_t[]){6, 3, 0}, 1e-9),
             "another number"));
}

TEST(by_magnitude_the_least_and_without_itself) {
  const dm_reduction sizes = {.kind = DM_REDUCE_TOP, .top = 3, .by = DM_BY_MAGNITUDE};
  RIGHT(sizes, 3, (double[]){INFINITY, 9, -7}, (int64_t[]){6, 3, 1});
  WRONG("is missing", sizes, 3, (double[]){INFINITY, 9, 5}, (int64_t[]){6, 3, 0});
  const dm_reduction least = {.kind = DM_REDUCE_TOP, .top = 3, .by = DM_BY_LEAST};
  RIGHT(least, 3, (double[]){-7, 0, 1}, (int64_t[]){1, 7, 5});
  WRONG("is missing", least, 3, (double[]){-7, 0, 5}, (int64_t[]){1, 7, 0});
  const dm_reduction others = {.kind = DM_REDUCE_TOP, .top = 2, .no_self = true};
  RIGHT(others, 2, (double[]){INFINITY, 5}, (int64_t[]){6, 0});
  WRONG("diagonal", others, 2, (double[]){INFINITY, 9}, (int64_t[]){6, 3});
}

TEST(lines_that_are_not_full) {
  const dm_reduction what = {.kind = DM_REDUCE_TOP, .top = LENGTH};
  const double values[] = {INFINITY, 9, 5, 5, 1, 0, -7, NAN};
  RIGHT(what, LENGTH, values, (int64_t[]){6, 3, 0, 4, 5, 7, 1, -1});
  WRONG("not full", what, LENGTH, (double[]){INFINITY, 9, 5, 5, 1, 0, NAN, NAN},
        (int64_t[]){6, 3, 0, 4, 5, 7, -1, -1});
}

TEST(beyond_a_threshold) {
  const dm_reduction above = {.kind = DM_REDUCE_BEYOND, .threshold = 5.0};
  RIGHT(above, 2, (double[]){9, INFINITY}, (int64_t[]){3, 6});
  WRONG("is missing", above, 1, (double[]){9}, (int64_t[]){3});
  WRONG("not beyond", above, 3, (double[]){5, 9, INFINITY}, (int64_t[]){0, 3, 6});
  WRONG("out of order", above, 2, (double[]){INFINITY, 9}, (int64_t[]){6, 3});
  WRONG("another number", above, 2, (double[]){10, INFINITY}, (int64_t[]){3, 6});
  const dm_reduction below = {.kind = DM_REDUCE_BEYOND, .threshold = 0.0, .below = true};
  RIGHT(below, 1, (double[]){-7}, (int64_t[]){1});
  WRONG("is missing", below, 0, NULL, (int64_t[]){0});
  const dm_reduction sizes = {.kind = DM_REDUCE_BEYOND, .threshold = 6.0, .by = DM_BY_MAGNITUDE};
  RIGHT(sizes, 3, (double[]){-7, 9, INFINITY}, (int64_t[]){1, 3, 6});
}

static const char *number(dm_reduction_kind kind, double value) {
  return wrong((dm_reduction){.kind = kind}, 1, &value, NULL);
}

static const char *place(dm_reduction_kind kind, int64_t index) {
  return wrong((dm_reduction){.kind = kind}, 1, NULL, &index);
}

TEST(numbers) {
  assert_string_equal(number(DM_REDUCE_MAX, INFINITY), "");
  assert_string_not_equal(number(DM_REDUCE_MAX, 9.0), "");
  assert_string_equal(number(DM_REDUCE_MIN, -7.0), "");
  assert_string_not_equal(number(DM_REDUCE_MIN, -7.5), "");
  assert_string_not_equal(number(DM_REDUCE_MIN, NAN), "");
  assert_string_equal(place(DM_REDUCE_ARGMAX, 6), "");
  assert_string_not_equal(place(DM_REDUCE_ARGMAX, 3), "");
  assert_string_not_equal(place(DM_REDUCE_ARGMAX, -1), "");
  assert_string_equal(place(DM_REDUCE_ARGMIN, 1), "");
  assert_string_not_equal(place(DM_REDUCE_ARGMIN, 2), "");
  assert_string_equal(place(DM_REDUCE_COUNT, 7), "");
  assert_string_not_equal(place(DM_REDUCE_COUNT, 8), "");
  assert_string_equal(number(DM_REDUCE_DIAGONAL, 9.0), "");
  assert_string_not_equal(number(DM_REDUCE_DIAGONAL, 5.0), "");
  assert_string_equal(number(DM_REDUCE_SUM, NAN), "");
  assert_string_not_equal(number(DM_REDUCE_SUM, 13.0), "");
}

TEST(all_of_a_line) {
  const dm_reduction all = {.kind = DM_REDUCE_NONE};
  double copy[LENGTH];
  memcpy(copy, line, sizeof copy);
  RIGHT(all, LENGTH, copy, NULL);
  for (int i = 0; i < LENGTH; i++) {
    copy[i] = i == 2 ? 0.0 : i == 6 ? 1e300 : line[i] + 1e-9;
    WRONG("another number", all, LENGTH, copy, NULL);
    copy[i] = line[i];
  }
}

RUN_ALL(test_reduce_lines)
