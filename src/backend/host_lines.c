/* What the exponents of rows and columns follow from, in host memory: maxima and sums of whole
 * numbers, in any order. */
#include "backend/backend.h"
#include "backend/lines.h"
#include "backend/probe.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/residues.h"

enum { RUN = 256 }; /* columns at a time */

static void take_extreme(double a, double extremes[2]) {
  const double size = fabs(a);
  if (!(size <= extremes[0])) extremes[0] = isnan(size) ? (double)INFINITY : size;
  if (size > 0.0 && -size > extremes[1]) extremes[1] = -size;
}

void dm_host_extremes(dm_view matrix, bool by_row, double *extremes) {
  double values[RUN];
  for (int64_t i = 0; i < matrix.rows; i++)
    for (int64_t first = 0; first < matrix.cols; first += RUN) {
      const int64_t count = dm_min(RUN, matrix.cols - first);
      dm_load_wide(values, dm_view_at(matrix, i, first), matrix.dtype, matrix.col_stride, count);
      for (int64_t j = 0; j < count; j++)
        take_extreme(values[j], extremes + 2 * (by_row ? i : first + j));
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

/* At most RUN columns. */
static void sums_of_part(dm_view part, bool by_row, const double *extremes, int64_t *sums) {
  double values[RUN];
  dm_power powers[RUN];
  for (int64_t j = 0; j < part.cols && !by_row; j++) powers[j] = power_of(extremes + 2 * j);
  for (int64_t i = 0; i < part.rows; i++) {
    const dm_power of_row = by_row ? power_of(extremes + 2 * i) : (dm_power){0.0, 0.0};
    dm_load_wide(values, dm_view_at(part, i, 0), part.dtype, part.col_stride, part.cols);
    for (int64_t j = 0; j < part.cols; j++)
      take_sums(values[j], by_row ? of_row : powers[j], sums + DM_LINE_SUMS * (by_row ? i : j));
  }
}

void dm_host_line_sums(dm_view matrix, bool by_row, const double *extremes, int64_t *sums) {
  for (int64_t j = 0; j < matrix.cols; j += RUN)
    sums_of_part(dm_view_sub(matrix, 0, j, matrix.rows, dm_min(RUN, matrix.cols - j)), by_row,
                 extremes + (by_row ? 0 : 2 * j), sums + (by_row ? 0 : DM_LINE_SUMS * j));
}
