#include "emulated/emulated_moments.h"

#include <math.h>
#include <string.h>

#include "core/copy.h"
#include "emulated/emulated_memory.h"

/* An element as f64, or two f64; a missing one is NaN, or 0. */
static void load(const dm_gaps *gaps, dm_view m, int64_t row, int64_t col, double x[2]) {
  const int parts = dm_dtype_is_complex(m.dtype) ? 2 : 1;
  const double instead = gaps->zero ? 0.0 : (double)NAN;
  dm_load_wide(x, dm_view_at(m, row, col), m.dtype, 1, 1);
  bool bad = gaps->nan && (isnan(x[0]) || (parts == 2 && isnan(x[1])));
  for (int v = 0; v < gaps->count && parts == 1; v++) bad |= x[0] == gaps->values[v];
  for (int p = 0; p < parts && bad; p++) x[p] = instead;
}

/* The same for element (I, COL) times its power; false: it is missing, or left out. */
static bool take(const dm_moments_how *how, dm_view m, int64_t i, int64_t col, double x[2]) {
  const int parts = dm_dtype_is_complex(m.dtype) ? 2 : 1;
  load(how->gaps, m, i, col, x);
  for (int p = 0; p < parts && how->powers; p++) x[p] *= how->powers[col];
  if (how->weights && how->weights[i] < 0.0) return false;
  return !isnan(x[0]) && !(parts == 2 && isnan(x[1]));
}

static bool is_missing(const double x[2], int parts) {
  return isnan(x[0]) || (parts == 2 && isnan(x[1]));
}

/* Two passes: the mean, less the first element; then the squares. TO: numbers of the line, WIDTH
 * apart. Returns the place of the first missing element in the line, or its length. */
static int64_t add_line(const dm_moments_how *how, dm_view m, int64_t col, double *to,
                        int64_t width) {
  const double *weights = how->weights;
  const int parts = dm_dtype_is_complex(m.dtype) ? 2 : 1;
  double from[2] = {0.0, 0.0}, mean[2] = {0.0, 0.0}, squares = 0.0, weight = 0.0, present = 0.0;
  double x[2];
  int64_t first = m.rows;
  for (int64_t i = m.rows - 1; i >= 0; i--) {
    if (take(how, m, i, col, x))
      memcpy(from, x, sizeof from);
    else if (is_missing(x, parts) && !(weights && weights[i] < 0.0))
      first = i;
  }
  for (int64_t i = 0; i < m.rows; i++) {
    if (!take(how, m, i, col, x)) continue;
    const double w = weights ? weights[i] : 1.0;
    for (int p = 0; p < parts; p++) mean[p] += w * (x[p] - from[p]);
    weight += w;
    present += 1.0;
  }
  for (int p = 0; p < parts && weight > 0.0; p++) mean[p] /= weight;
  for (int64_t i = 0; i < m.rows; i++) {
    if (!take(how, m, i, col, x)) continue;
    for (int p = 0; p < parts; p++) {
      const double apart = x[p] - from[p] - mean[p], weight_of = weights ? weights[i] : 1.0;
      const double square = weight_of * apart * apart;
      squares += square == 0.0 && apart != 0.0 && weight_of > 0.0 ? 0x1p-1074 : square;
    }
  }
  for (int p = 0; p < parts; p++) {
    const double all[DM_MOMENTS] = {[DM_FROM] = from[p],
                                    [DM_MEAN] = mean[p],
                                    [DM_SQUARES] = p == 0 ? squares : 0.0,
                                    [DM_WEIGHT] = weight,
                                    [DM_PRESENT] = present};
    for (int what = 0; what < DM_MOMENTS; what++) to[what * width + p] = all[what];
  }
  return first;
}

dm_status emulated_moments(dm_backend *backend, dm_view matrix, const dm_moments_how *how,
                           double *numbers, int64_t *first) {
  const bool by_rows = how->by_rows;
  const dm_view there = emulated_view(matrix);
  const dm_view m = by_rows ? dm_view_transpose(there) : there;
  const int parts = dm_dtype_is_complex(m.dtype) ? 2 : 1;
  (void)backend;
  *first = INT64_MAX;
  for (int64_t line = 0; line < m.cols; line++) {
    const int64_t i = add_line(how, m, line, numbers + line * parts, m.cols * (int64_t)parts);
    const int64_t place = by_rows ? line * matrix.cols + i : i * matrix.cols + line;
    if (i < m.rows && place < *first) *first = place;
  }
  return DM_OK;
}

dm_status emulated_center(dm_backend *backend, dm_view to, dm_view from, const dm_gaps *gaps,
                          const dm_centering *centering) {
  const dm_view of = emulated_view(from), into = emulated_view(to);
  double x[2];
  (void)backend;
  if ((from.col_stride != 1 || to.col_stride != 1) && (from.row_stride != 1 || to.row_stride != 1))
    return dm_fail(DM_E_BUG, "matrices of different order");
  for (int64_t i = 0; i < of.rows; i++)
    for (int64_t j = 0; j < of.cols; j++) {
      load(gaps, of, i, j, x);
      dm_centering_apply(centering, i, j, false, x, dm_dtype_is_complex(of.dtype), 1);
      dm_store_wide(dm_view_at(into, i, j), into.dtype, 1, x, 1);
    }
  return DM_OK;
}

dm_status emulated_pairs(dm_backend *backend, dm_view c, const dm_pairs *of,
                         const dm_pair_form *form, bool *doubtful) {
  dm_pairs there = *of;
  dm_view *const views[] = {&there.counts,  &there.products,   &there.sums[0],
                            &there.sums[1], &there.squares[0], &there.squares[1]};
  (void)backend;
  for (int i = 0; i < 6; i++)
    if (views[i]->base) *views[i] = emulated_view(*views[i]);
  *doubtful = false;
  for (int64_t i = 0; i < c.rows; i++)
    for (int64_t j = 0; j < c.cols; j++) {
      const dm_pair pair = dm_pair_at(&there, i, j);
      *doubtful |= dm_pair_is_doubtful(&pair);
    }
  return dm_pairs_finish(1, emulated_view(c), &there, form);
}

dm_status emulated_correlate(dm_backend *backend, dm_view c, int64_t row, int64_t col,
                             double factor, bool diagonal) {
  (void)backend;
  dm_correlate(emulated_view(c), row, col, factor, diagonal);
  return DM_OK;
}
