/* What the exponents of rows and columns follow from, of f64 in host memory: order-free. */
#include "backend/backend.h"
#include "backend/probe.h"
#include "core/checked.h"
#include "core/residues.h"

enum { RUN = 256 }; /* columns at a time */

static void take_extreme(double a, double extremes[2]) {
  const double size = fabs(a);
  if (!(size <= extremes[0])) extremes[0] = isnan(size) ? (double)INFINITY : size;
  if (size > 0.0 && -size > extremes[1]) extremes[1] = -size;
}

void dm_host_extremes(dm_view matrix, bool by_row, double *extremes) {
  for (int64_t i = 0; i < matrix.rows; i++) {
    const double *row = dm_view_at(matrix, i, 0);
    for (int64_t j = 0; j < matrix.cols; j++)
      take_extreme(row[j * matrix.col_stride], extremes + 2 * (by_row ? i : j));
  }
}

static dm_power power_of(const double extremes[2]) {
  return extremes[0] > 0.0 ? dm_square_power(extremes[0]) : (dm_power){0.0, 0.0};
}

static void take_sums(double a, dm_power power, int64_t sums[DM_LINE_SUMS]) {
  const double size = fabs(a) * power.by * power.then;
  sums[0] += dm_square(a, power);
  for (int d = 0; d < DM_LINE_DEPTHS; d++)
    sums[1 + d] += size >= dm_two_to(DM_SQUARE_BITS / 2 - dm_line_depths[d]);
}

static void sums_of_columns(dm_view part, const double *extremes, int64_t *sums) {
  dm_power powers[RUN];
  for (int64_t j = 0; j < part.cols; j++) powers[j] = power_of(extremes + 2 * j);
  for (int64_t i = 0; i < part.rows; i++) {
    const double *row = dm_view_at(part, i, 0);
    for (int64_t j = 0; j < part.cols; j++)
      take_sums(row[j * part.col_stride], powers[j], sums + DM_LINE_SUMS * j);
  }
}

void dm_host_line_sums(dm_view matrix, bool by_row, const double *extremes, int64_t *sums) {
  for (int64_t j = 0; j < matrix.cols && !by_row; j += RUN)
    sums_of_columns(dm_view_sub(matrix, 0, j, matrix.rows, dm_min(RUN, matrix.cols - j)),
                    extremes + 2 * j, sums + DM_LINE_SUMS * j);
  for (int64_t i = 0; i < matrix.rows && by_row; i++) {
    const dm_power power = power_of(extremes + 2 * i);
    const double *row = dm_view_at(matrix, i, 0);
    for (int64_t j = 0; j < matrix.cols; j++)
      take_sums(row[j * matrix.col_stride], power, sums + DM_LINE_SUMS * i);
  }
}
