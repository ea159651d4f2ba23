#include "emulated/emulated_sieve.h"

#include <math.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/copy.h"
#include "emulated/emulated_memory.h"

static double score_at(dm_view c, dm_score by, int64_t row, int64_t col) {
  double value;
  dm_load_wide(&value, dm_view_at(c, row, col), c.dtype, 1, 1);
  if (by.magnitude) value = fabs(value);
  return by.negative ? -value : value;
}

static bool is_left_out(dm_left_out of, int64_t row, int64_t col) {
  return of.self && col == row + of.ahead;
}

static bool passes(const dm_sieve *s, double score, int64_t row, int64_t col) {
  if (!s->rows && !s->cols) return !(score <= (double)s->limit);
  return (s->rows && !(score <= (double)s->rows[row])) ||
         (s->cols && !(score <= (double)s->cols[col]));
}

/* From the last element to the first one: the order is nobody's to rely on. */
dm_status emulated_sift(dm_backend *backend, dm_view c, const dm_sieve *sieve, dm_candidate *list,
                        int64_t room, int64_t *count, int64_t *nans) {
  const dm_view there = emulated_view(c);
  (void)backend;
  for (int64_t i = c.rows - 1; i >= 0; i--)
    for (int64_t j = c.cols - 1; j >= 0; j--) {
      const double score = score_at(there, sieve->score, i, j);
      if (is_left_out(sieve->left_out, i, j)) continue;
      if (isnan(score)) {
        ++*nans;
        continue;
      }
      if (!passes(sieve, score, i, j)) continue;
      dm_candidate one = {.row = (uint32_t)i, .col = (uint32_t)j};
      dm_load_wide(&one.value, dm_view_at(there, i, j), there.dtype, 1, 1);
      if (*count < room) list[*count] = one;
      ++*count;
    }
  return DM_OK;
}

static int descending(const void *one, const void *other) {
  const double a = *(const double *)one, b = *(const double *)other;
  return (a < b) - (a > b);
}

/* The largest f32 below SCORE. */
static float below(double score) {
  const float near = (float)score;
  return (double)near < score ? near : nextafterf(near, -INFINITY);
}

enum { GROUPS = 96 };

/* From the best of each group, as on GPUs, but of fewer. */
dm_status emulated_raise(dm_backend *backend, dm_view c, dm_score score, dm_left_out left_out,
                         bool by_row, int64_t best, float *limits) {
  const dm_view there = emulated_view(c);
  const int64_t lines = by_row ? c.rows : c.cols, length = by_row ? c.cols : c.rows;
  double groups[GROUPS];
  (void)backend;
  if (best > GROUPS) return DM_OK;
  for (int64_t line = 0; line < lines; line++) {
    for (int g = 0; g < GROUPS; g++) groups[g] = -INFINITY;
    for (int64_t i = 0; i < length; i++) {
      const int64_t row = by_row ? line : i, col = by_row ? i : line;
      const double is = score_at(there, score, row, col);
      if (!is_left_out(left_out, row, col)) groups[i % GROUPS] = fmax(groups[i % GROUPS], is);
    }
    qsort(groups, GROUPS, sizeof *groups, descending);
    const float limit = below(groups[best - 1]);
    if (groups[best - 1] > -INFINITY && !(limits[line] >= limit)) limits[line] = limit;
  }
  return DM_OK;
}
