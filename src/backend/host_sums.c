/* Sums and dot products of matrices in host memory: a run of a row at a time, in f64. */
#include "backend/probe.h"
#include "core/checked.h"
#include "core/copy.h"

enum { RUN = 256, LANES = 8 };

/* COUNT numbers at (row, col) of a real VIEW as f64: in place if they are f64, else in BUFFER. */
static const double *wide_run(dm_view view, int64_t row, int64_t col, int64_t count,
                              double buffer[RUN]) {
  const void *at = dm_view_at(view, row, col);
  if (view.dtype == DM_F64) return at;
  dm_load_wide(buffer, at, view.dtype, 1, count);
  return buffer;
}

/* An operand with factor 0 is not read. */
static void add_run(dm_view z, dm_view x, dm_view y, double alpha, double beta, int64_t row,
                    int64_t col, int64_t count) {
  double sums[RUN] = {0.0}, buffer[RUN];
  if (alpha != 0.0) {
    const double *values = wide_run(x, row, col, count, buffer);
    for (int64_t i = 0; i < count; i++) sums[i] = alpha * values[i];
  }
  if (beta != 0.0) {
    const double *values = wide_run(y, row, col, count, buffer);
    if (alpha != 0.0)
      for (int64_t i = 0; i < count; i++) sums[i] += beta * values[i];
    else
      for (int64_t i = 0; i < count; i++) sums[i] = beta * values[i];
  }
  dm_store_wide(dm_view_at(z, row, col), z.dtype, 1, sums, count);
}

static void add_whole(dm_view z, dm_view x, dm_view y, uint32_t alpha, uint32_t beta) {
  for (int64_t i = 0; i < z.rows; i++) {
    uint32_t *to = dm_view_at(z, i, 0);
    const uint32_t *from = dm_view_at(x, i, 0), *other = dm_view_at(y, i, 0);
    for (int64_t j = 0; j < z.cols; j++) to[j] = alpha * from[j] + beta * other[j];
  }
}

dm_status dm_host_add(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha,
                      double beta) {
  (void)backend;
  if (z.dtype == DM_I32) {
    add_whole(z, x, y, (uint32_t)(int64_t)alpha, (uint32_t)(int64_t)beta);
    return DM_OK;
  }
  z = dm_view_parts(z), x = dm_view_parts(x), y = dm_view_parts(y);
  for (int64_t i = 0; i < z.rows; i++)
    for (int64_t j = 0; j < z.cols; j += RUN)
      add_run(z, x, y, alpha, beta, i, j, dm_min(RUN, z.cols - j));
  return DM_OK;
}

/* Separate lanes let the compiler vectorize; the order of sums stays fixed. */
static void dot_run(double lanes[LANES], const double *x, const double *y, int64_t count) {
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int lane = 0; lane < LANES; lane++) lanes[lane] += x[i + lane] * y[i + lane];
  for (int lane = 0; i < count; i++, lane++) lanes[lane] += x[i] * y[i];
}

dm_status dm_host_dot(dm_backend *backend, dm_view x, dm_view y, double *sum) {
  (void)backend;
  double buffer[2][RUN];
  if (x.col_stride != 1 &&
      y.col_stride != 1) /* columns are contiguous: the order does not matter */
    x = dm_view_transpose(x), y = dm_view_transpose(y);
  x = dm_view_parts(x), y = dm_view_parts(y);
  *sum = 0.0;
  for (int64_t i = 0; i < x.rows; i++) {
    double lanes[LANES] = {0.0};
    for (int64_t j = 0; j < x.cols; j += RUN) {
      const int64_t count = dm_min(RUN, x.cols - j);
      dot_run(lanes, wide_run(x, i, j, count, buffer[0]), wide_run(y, i, j, count, buffer[1]),
              count);
    }
    for (int lane = 0; lane < LANES; lane++) *sum += lanes[lane];
  }
  return DM_OK;
}
