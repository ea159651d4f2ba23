/* Extremes and sums of rows and columns, which determine the exponents of residues: equal to those
 * of a plain loop, for any shape, strides and type, with one thread and all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/probe.h"
#include "backend/verify_sums.h"
#include "checks.h"
#include "core/element.h"
#include "core/residues.h"

enum { ROWS = 70, COLS = 531 };

static double value_at(int64_t i, int64_t j) {
  const uint64_t bits = dm_mix((uint64_t)(i * 1000 + j));
  if (bits % 13 == 0) return 0.0;
  const double size = (float)ldexp((double)(bits >> 44), (int)(bits >> 8) % 24 - 20);
  return bits % 2 ? size : -size;
}

/* The element of VIEW as f64. */
static double element(dm_view view, int64_t i, int64_t j) {
  const void *at = dm_view_at(view, i, j);
  return view.dtype == DM_F64 ? *(const double *)at : (double)*(const float *)at;
}

static void plain_extremes(dm_view view, bool by_row, double *extremes) {
  for (int64_t i = 0; i < view.rows; i++)
    for (int64_t j = 0; j < view.cols; j++) {
      const double size = fabs(element(view, i, j));
      double *of = extremes + 2 * (by_row ? i : j);
      if (!(size <= of[0])) of[0] = isnan(size) ? (double)INFINITY : size;
      if (size > 0.0 && -size > of[1]) of[1] = -size;
    }
}

static void plain_sums(dm_view view, bool by_row, const double *extremes, int64_t *sums) {
  for (int64_t i = 0; i < view.rows; i++)
    for (int64_t j = 0; j < view.cols; j++) {
      const int64_t line = by_row ? i : j;
      const double largest = extremes[2 * line], size = fabs(element(view, i, j));
      int top;
      if (!(largest > 0.0)) continue;
      frexp(largest, &top);
      sums[DM_LINE_SUMS * line] += dm_square(size, dm_square_power(largest));
      for (int d = 0; d < DM_LINE_DEPTHS; d++)
        sums[DM_LINE_SUMS * line + 1 + d] += size >= ldexp(1.0, top - dm_line_depths[d]);
    }
}

/* Previous contents of the result count, too. */
static void compare(dm_view view, bool by_row) {
  static double wanted[2 * COLS], got[2 * COLS], all[2 * COLS];
  static int64_t wanted_sums[DM_LINE_SUMS * COLS], sums[DM_LINE_SUMS * COLS],
      all_sums[DM_LINE_SUMS * COLS];
  const int64_t lines = by_row ? view.rows : view.cols;
  bool finite = true;
  for (int64_t l = 0; l < lines; l++) {
    wanted[2 * l] = l % 7 == 6 ? 3e5 : 0.0;
    wanted[2 * l + 1] = l % 5 == 4 ? -1e-9 : -(double)INFINITY;
  }
  for (int64_t s = 0; s < DM_LINE_SUMS * lines; s++) wanted_sums[s] = s % 3;
  memcpy(got, wanted, sizeof got), memcpy(all, wanted, sizeof all);
  memcpy(sums, wanted_sums, sizeof sums), memcpy(all_sums, wanted_sums, sizeof all_sums);
  plain_extremes(view, by_row, wanted);
  dm_host_extremes(view, by_row, got);
  assert_null(dm_host_extremes_parallel(NULL, view, by_row, all));
  assert_memory_equal(got, wanted, (size_t)(16 * lines));
  assert_memory_equal(all, wanted, (size_t)(16 * lines));
  for (int64_t l = 0; l < lines; l++) finite = finite && isfinite(wanted[2 * l]);
  if (!finite) return;
  plain_sums(view, by_row, wanted, wanted_sums);
  dm_host_line_sums(view, by_row, wanted, sums);
  assert_null(dm_host_line_sums_parallel(NULL, view, by_row, wanted, all_sums));
  assert_memory_equal(sums, wanted_sums, (size_t)(8 * DM_LINE_SUMS * lines));
  assert_memory_equal(all_sums, wanted_sums, (size_t)(8 * DM_LINE_SUMS * lines));
}

static void compare_shapes(dm_dtype dtype, const double *strange) {
  static const int64_t shapes[][2] = {{ROWS, COLS}, {1, 1},   {1, COLS},
                                      {ROWS, 1},    {3, 257}, {65, 64}};
  static double memory[ROWS * COLS];
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (int turned = 0; turned < 2; turned++) {
      const dm_view whole = dm_view_strided(memory, dtype, DM_HOST, ROWS, COLS, COLS);
      dm_view view = dm_view_sub(whole, 0, 0, shapes[s][0], shapes[s][1]);
      for (int64_t i = 0; i < view.rows; i++)
        for (int64_t j = 0; j < view.cols; j++) {
          const double value =
              strange && i == view.rows / 2 && j == view.cols - 1 ? *strange : value_at(i, j);
          void *at = dm_view_at(view, i, j);
          if (dtype == DM_F64)
            *(double *)at = value;
          else
            *(float *)at = (float)value;
        }
      if (turned) view = dm_view_transpose(view);
      compare(view, true);
      compare(view, false);
    }
}

TEST(lines_of_any_shape) {
  compare_shapes(DM_F64, NULL);
  compare_shapes(DM_F32, NULL);
}

TEST(nan_counts_as_infinite) {
  const double strange[] = {NAN, INFINITY, -INFINITY};
  for (int s = 0; s < 3; s++) compare_shapes(DM_F64, &strange[s]);
  for (int s = 0; s < 3; s++) compare_shapes(DM_F32, &strange[s]);
}

RUN_ALL(test_backend_lines)
