#include "product/strips.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"

enum { STEP = 128, FIRST = 16, GROWTH = 4 };

static bool is_same(dm_range a, dm_range b) {
  return a.begin == b.begin && a.end == b.end;
}

static bool holds(dm_range outer, dm_range inner) {
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

bool dm_strips_has_rows(const dm_distribution *a, const dm_distribution *c, int ranks) {
  dm_extent of_a, of_c;
  for (int r = 0; r < ranks; r++) {
    if (!dm_distribution_extent(a, r, &of_a) || !dm_distribution_extent(c, r, &of_c)) return false;
    if (dm_range_size(of_c.rows) == 0) continue;
    if (!is_same(of_a.rows, of_c.rows) || dm_range_size(of_a.cols) != a->cols.total) return false;
  }
  return true;
}

/* ---- groups of columns ---- */

static void add_group(dm_strips *s, dm_range cols) {
  if (dm_range_size(cols) == 0) return;
  for (int g = 0; g < s->groups; g++)
    if (is_same(s->group[g], cols)) return;
  s->group[s->groups++] = cols;
}

/* Whether each rank that has any of COLS has all columns. */
static bool has_all(const dm_range *cols, int ranks, int64_t all) {
  for (int r = 0; r < ranks; r++) {
    const int64_t size = dm_range_size(cols[r]);
    if (size > 0 && size < all) return false;
  }
  return true;
}

/* At each strip a rank gives one piece: to all ranks, to one after the other, or to those that need
 * the same columns as it has. */
static bool group(dm_strips *s, const dm_distribution *of) {
  const int64_t all = of->cols.total;
  const bool needs_all = has_all(s->wanted, s->ranks, all), has = has_all(s->cols, s->ranks, all);
  const dm_range *cols = has && !needs_all ? s->wanted : s->cols;
  int64_t covered = 0;
  s->own = !needs_all && !has;
  for (int r = 0; r < s->ranks; r++) add_group(s, cols[r]);
  for (int g = 0; g < s->groups; g++) covered += dm_range_size(s->group[g]);
  if (covered != all) return false;
  for (int r = 0; r < s->ranks && s->own; r++) {
    const bool both = dm_range_size(s->wanted[r]) > 0 && dm_range_size(s->cols[r]) > 0;
    bool known = dm_range_size(s->wanted[r]) == 0;
    for (int g = 0; g < s->groups; g++) known |= is_same(s->group[g], s->wanted[r]);
    if (!known || (both && !is_same(s->cols[r], s->wanted[r]))) return false;
  }
  return true;
}

/* ---- cuts ---- */

static int64_t widest(const dm_strips *s) {
  int64_t cols = 0;
  for (int g = 0; g < s->groups; g++) cols = dm_max(cols, dm_range_size(s->group[g]));
  return cols;
}

/* The first strip is narrow, as nothing can be multiplied before it is there; the next are wider by
 * what arrives meanwhile. */
static dm_status cut(dm_strips *s, int64_t most) {
  const int64_t cols = widest(s);
  const int64_t cap = dm_max(STEP, dm_min(most, dm_round_up(dm_ceil_div(cols, GROWTH), STEP)));
  DM_TRY(dm_buffer_table(3 + dm_ceil_div(cols, STEP), &s->bounds));
  int64_t width = dm_min(cap, dm_round_up(dm_ceil_div(cols, FIRST), STEP));
  for (int64_t at = 0; at < cols;) {
    const int64_t left = cols - at;
    if (s->slices > 0) {
      const int64_t more = dm_ceil_div(left, dm_min(cap, width * GROWTH));
      width = dm_min(cap, dm_round_up(dm_ceil_div(left, more), STEP));
    }
    at += dm_min(width, left);
    s->most_cols = dm_max(s->most_cols, at - s->bounds[s->slices]);
    s->bounds[++s->slices] = at;
  }
  s->count = s->own ? s->slices : s->slices * s->groups;
  return DM_OK;
}

dm_status dm_strips_open(const dm_distribution *of, const dm_distribution *c, int ranks,
                         int64_t size, int64_t most_bytes, dm_strips *s, bool *fits) {
  dm_extent part, needed;
  *s = (dm_strips){.ranks = ranks, .depth = of->rows.total};
  *fits = true;
  DM_TRY(dm_buffer_table(ranks, &s->rows));
  DM_TRY(dm_buffer_table(ranks, &s->cols));
  DM_TRY(dm_buffer_table(ranks, &s->wanted));
  DM_TRY(dm_buffer_table(ranks, &s->group));
  for (int r = 0; r < ranks && *fits; r++) {
    *fits = dm_distribution_extent(of, r, &part) && dm_distribution_extent(c, r, &needed);
    s->rows[r] = part.rows;
    s->cols[r] = part.cols;
    s->wanted[r] = needed.cols;
  }
  if (*fits) *fits = group(s, of);
  if (!*fits) return DM_OK;
  return cut(s, most_bytes / dm_max(1, s->depth * size) / STEP * STEP);
}

void dm_strips_unite(dm_strips *s) {
  s->bounds[1] = widest(s);
  s->slices = 1;
  s->count = s->own ? 1 : s->groups;
  s->most_cols = 0;
}

void dm_strips_close(dm_strips *s) {
  free(s->rows);
  free(s->cols);
  free(s->wanted);
  free(s->group);
  free(s->bounds);
  *s = (dm_strips){0};
}

/* ---- strips ---- */

dm_range dm_strips_cols(const dm_strips *s, int64_t strip, int rank) {
  const bool needs = dm_range_size(s->wanted[rank]) > 0;
  const dm_range all = !s->own ? s->group[strip % s->groups]
                       : needs ? s->wanted[rank]
                               : s->cols[rank];
  const int64_t slice = s->own ? strip : strip / s->groups;
  return (dm_range){dm_min(all.end, all.begin + s->bounds[slice]),
                    dm_min(all.end, all.begin + s->bounds[slice + 1])};
}

bool dm_strips_gives(const dm_strips *s, int64_t strip, int rank) {
  const dm_range cols = dm_strips_cols(s, strip, rank);
  return dm_range_size(cols) > 0 && dm_range_size(s->rows[rank]) > 0 && holds(s->cols[rank], cols);
}

bool dm_strips_takes(const dm_strips *s, int64_t strip, int rank) {
  const dm_range cols = dm_strips_cols(s, strip, rank);
  return dm_range_size(cols) > 0 && dm_range_size(s->wanted[rank]) > 0 &&
         holds(s->wanted[rank], cols);
}

bool dm_strips_moves(const dm_strips *s, int64_t strip, int giver, int taker) {
  return dm_strips_gives(s, strip, giver) && dm_strips_takes(s, strip, taker) &&
         is_same(dm_strips_cols(s, strip, giver), dm_strips_cols(s, strip, taker));
}
