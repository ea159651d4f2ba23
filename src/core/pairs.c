#include "core/pairs.h"

#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"
#include "core/wide_vectors.h"

typedef struct pairs_finishing {
  dm_view c;
  const dm_pairs *pairs;
  const dm_pair_form *form;
} pairs_finishing;

static dm_status pairs_finish_row(void *context, int64_t i) {
  const pairs_finishing *f = context;
  for (int64_t j = 0; j < f->c.cols; j++) {
    const dm_pair of = dm_pair_at(f->pairs, i, j);
    const double value = dm_pair_element(f->form, &of, dm_pair_is_same(f->pairs, i, j));
    dm_store_wide(dm_view_at(f->c, i, j), f->c.dtype, 1, &value, 1);
  }
  return DM_OK;
}

static void correlate_run(double *values, int64_t count, double factor) {
  for (int64_t i = 0; i < count; i++) values[i] = dm_correlated(values[i], factor, false);
}

/* Whether none of COUNT numbers is beyond MOST: most often so, and nothing changes. */
DM_INLINE void are_within_loop(const float *values, float most, int64_t count, bool *all) {
  int32_t beyond = 0;
  for (int64_t i = 0; i < count; i++) beyond |= fabsf(values[i]) > most;
  *all = beyond == 0;
}

DM_BOTH_WIDTHS(are_within, (const float *values, float most, int64_t count, bool *all),
               (values, most, count, all))

/* The largest number of f32 that is not above LIMIT. */
static float f32_at_most(double limit) {
  const float near = (float)limit;
  return (double)near > limit ? nextafterf(near, -INFINITY) : near;
}

void dm_correlate(dm_view c, int64_t row, int64_t col, double factor, bool diagonal) {
  enum { PAIRS_RUN = 256 };
  const int64_t parts = dm_dtype_is_complex(c.dtype) ? 2 : 1;
  double values[2 * PAIRS_RUN];
  const bool may_skip = c.dtype == DM_F32 && c.col_stride == 1;
  const float most = f32_at_most(fabs(factor));
  bool within = false;
  for (int64_t i = 0; i < c.rows; i++)
    for (int64_t j = 0; j < c.cols; j += PAIRS_RUN) {
      const int64_t count = dm_min(PAIRS_RUN, c.cols - j), same = row + i - col - j;
      void *at = dm_view_at(c, i, j);
      if (may_skip) are_within(at, most, count, &within);
      if (within && !(diagonal && same >= 0 && same < count)) continue;
      dm_load_wide(values, at, c.dtype, c.col_stride, count);
      correlate_run(values, parts * count, factor);
      if (diagonal && same >= 0 && same < count) {
        double *z = values + parts * same;
        z[0] = dm_correlated(z[0], factor, true);
        if (parts == 2) z[1] = isnan(z[1]) ? z[1] : 0.0;
      }
      dm_store_wide(at, c.dtype, c.col_stride, values, count);
    }
}

dm_status dm_pairs_finish(int threads, dm_view c, const dm_pairs *pairs, const dm_pair_form *form) {
  pairs_finishing f = {c, pairs, form};
  return dm_fork_each(c.rows, threads, pairs_finish_row, &f);
}
