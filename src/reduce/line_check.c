#include "reduce/line_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "reduce/reduction_impl.h"

/* The first thing that is wrong is kept. */
static void line_wrong(dm_line_check *c, const char *what, int64_t index, double value) {
  if (c->wrong[0]) return;
  if (index < 0)
    snprintf(c->wrong, sizeof c->wrong, "%s", what);
  else
    snprintf(c->wrong, sizeof c->wrong, "element %lld, %.9g, %s", (long long)index, value, what);
}

static bool line_lists(const dm_line_check *c) {
  return c->what->kind == DM_REDUCE_TOP || c->what->kind == DM_REDUCE_BEYOND;
}

/* Larger scores are kept before smaller ones, or if they exceed the threshold's. */
static double line_score(const dm_reduction *what, double value) {
  if (what->kind == DM_REDUCE_MIN || what->kind == DM_REDUCE_ARGMIN) return -value;
  if (what->kind != DM_REDUCE_BEYOND) return dm_reduce_score(what->by, value);
  const double size = what->by == DM_BY_MAGNITUDE ? fabs(value) : value;
  return what->below ? -size : size;
}

static double line_threshold(const dm_reduction *what) {
  return what->below ? -what->threshold : what->threshold;
}

/* ---- the stored numbers alone ---- */

/* What fills up a line of TOP is cut off. */
static void line_cut_filling(dm_line_check *c) {
  const int64_t all = c->count;
  while (c->count > 0 && c->indices[c->count - 1] == -1) c->count--;
  for (int64_t i = c->count; i < all; i++)
    if (c->integral ? c->values[i] != 0.0 : !isnan(c->values[i]))
      line_wrong(c, "a value without an index is not NaN", -1, 0.0);
}

/* Entries in their order: best first, or by their indices. */
static bool line_entries_follow(const dm_line_check *c, int64_t i) {
  if (i == 0) return true;
  if (c->what->kind == DM_REDUCE_BEYOND) return c->indices[i - 1] < c->indices[i];
  const double one = line_score(c->what, c->values[i - 1]),
               other = line_score(c->what, c->values[i]);
  return one > other || (one == other && c->indices[i - 1] < c->indices[i]);
}

static void line_look_at_entry(dm_line_check *c, int64_t i) {
  const int64_t index = c->indices[i];
  const double value = c->values[i];
  if (index < 0 || index >= c->length)
    line_wrong(c, "an index is not one of the line", -1, 0.0);
  else if (isnan(value))
    line_wrong(c, "is kept, and NaN is not", index, value);
  else if (c->what->no_self && index == c->line)
    line_wrong(c, "is the diagonal, and is kept", index, value);
  else if (c->what->kind == DM_REDUCE_BEYOND &&
           !(line_score(c->what, value) > line_threshold(c->what)))
    line_wrong(c, "is kept, and is not beyond the threshold", index, value);
  else if (!line_entries_follow(c, i))
    line_wrong(c, "is out of order", index, value);
}

typedef struct line_place {
  int64_t index, at;
} line_place;

static int line_compare_places(const void *a, const void *b) {
  const line_place *x = a, *y = b;
  return (x->index > y->index) - (x->index < y->index);
}

/* Fills in ORDER; an index that occurs twice is wrong. */
static dm_status line_order(dm_line_check *c) {
  DM_FREED line_place *places = NULL;
  DM_TRY(dm_buffer_table(dm_max(1, c->count), &places));
  DM_TRY(dm_buffer_table(dm_max(1, c->count), &c->order));
  for (int64_t i = 0; i < c->count; i++) places[i] = (line_place){c->indices[i], i};
  qsort(places, (size_t)c->count, sizeof *places, line_compare_places);
  for (int64_t i = 0; i < c->count; i++) {
    c->order[i] = places[i].at;
    if (i > 0 && places[i].index == places[i - 1].index)
      line_wrong(c, "is kept twice", places[i].index, c->values[places[i].at]);
  }
  return DM_OK;
}

dm_status dm_line_check_open(dm_line_check *c) {
  c->least = c->most = c->before = c->after = NAN; /* which fmax leaves out */
  if (!line_lists(c)) return DM_OK;
  if (c->what->kind == DM_REDUCE_TOP) line_cut_filling(c);
  for (int64_t i = 0; i < c->count; i++) line_look_at_entry(c, i);
  return line_order(c);
}

void dm_line_check_close(dm_line_check *c) {
  free(c->order);
  c->order = NULL;
}

/* ---- elements ---- */

static const char other_number[] = "is another number in C";

/* STORED stands for VALUE, which is known to be within BOUND. */
static void line_compare(dm_line_check *c, int64_t index, double stored, double value, double bound,
                         const char *wrong) {
  if (stored == value || (isnan(stored) && isnan(value))) return;
  const double off = fabs(stored - value), ratio = bound > 0.0 ? off / bound : (double)INFINITY;
  if (isfinite(ratio) && ratio > c->residual) c->residual = ratio;
  if (!(ratio <= 1.0)) line_wrong(c, wrong, index, stored);
}

/* An element that is not listed has no place there. */
static void line_miss(dm_line_check *c, int64_t index, double value, double bound) {
  const dm_reduction *what = c->what;
  if (isnan(value)) return;
  const double score = line_score(what, value), least = score - (isfinite(score) ? bound : 0.0);
  if (what->kind == DM_REDUCE_BEYOND) {
    if (least > line_threshold(what))
      line_wrong(c, "is beyond the threshold, and is missing", index, value);
    return;
  }
  if (c->count < dm_min(what->top, c->length)) {
    line_wrong(c, "is missing in a line that is not full", index, value);
    return;
  }
  const double worst = line_score(what, c->values[c->count - 1]);
  if (least > worst || (bound == 0.0 && score == worst && index < c->indices[c->count - 1]))
    line_wrong(c, "is better than those that are kept, and is missing", index, value);
}

static void line_add_listed(dm_line_check *c, int64_t index, double value, double bound) {
  const int64_t at = c->next < c->count ? c->order[c->next] : -1;
  const bool listed = at >= 0 && c->indices[at] == index;
  if (listed) c->next++;
  if (isinf(bound)) {
    c->unchecked++;
  } else if (listed) {
    line_compare(c, index, c->values[at], value, bound, other_number);
  } else if (!c->what->no_self || index != c->line) {
    line_miss(c, index, value, bound);
  }
}

static void line_add_extreme(dm_line_check *c, int64_t index, double value, double bound) {
  const double score = line_score(c->what, value), off = isfinite(score) ? bound : 0.0;
  c->least = fmax(c->least, score - off);
  c->most = fmax(c->most, score + off);
  if (!c->indices) return;
  if (index == c->indices[0]) {
    c->own_most = score + off;
    c->own_met = true;
  } else if (index < c->indices[0]) {
    /* an equal one before it would be the first */
    c->before = fmax(c->before, off == 0.0 ? score : nextafter(score - off, -(double)INFINITY));
  } else {
    c->after = fmax(c->after, score - off);
  }
}

static void line_add_term(dm_line_check *c, double value, double bound) {
  c->sum += value;
  c->sizes += fabs(value);
  c->squares += (long double)value * value;
  c->off += bound;
  c->off_squares += (long double)bound * bound;
}

static void line_add_number(dm_line_check *c, int64_t index, double value, double bound) {
  const dm_reduction_kind kind = c->what->kind;
  if (c->what->no_self && index == c->line) return;
  if (kind == DM_REDUCE_DIAGONAL && index != c->line) return;
  if (isinf(bound)) {
    c->unchecked++;
    return;
  }
  c->numbers += !isnan(value);
  if (kind == DM_REDUCE_DIAGONAL || kind == DM_REDUCE_NONE)
    line_compare(c, index, c->values[kind == DM_REDUCE_NONE ? index : 0], value, bound,
                 other_number);
  else if (kind == DM_REDUCE_SUM || kind == DM_REDUCE_MEAN || kind == DM_REDUCE_NORM)
    line_add_term(c, value, bound);
  else if (!isnan(value) && kind != DM_REDUCE_COUNT)
    line_add_extreme(c, index, value, bound);
}

void dm_line_check_add(dm_line_check *c, int64_t first, int64_t count, const double *values,
                       const double *bounds) {
  const bool lists = line_lists(c);
  for (int64_t i = 0; i < count; i++)
    if (lists)
      line_add_listed(c, first + i, values[i], bounds[i]);
    else
      line_add_number(c, first + i, values[i], bounds[i]);
}

/* ---- the end ---- */

static void line_end_place(dm_line_check *c) {
  const bool none = c->numbers == 0;
  if (none ? c->indices[0] != -1 : !c->own_met)
    line_wrong(c, "its index is not that of a number", -1, 0.0);
  else if (!none && (c->before >= c->own_most || c->after > c->own_most))
    line_wrong(c, "another element is the extreme one, or the first of these", -1, 0.0);
}

static void line_end_extreme(dm_line_check *c) {
  const double stored = line_score(c->what, c->values[0]);
  if (c->numbers == 0 ? !isnan(stored) : !(stored >= c->least && stored <= c->most))
    line_wrong(c, "another number is the extreme one", -1, 0.0);
}

static void line_end_sum(dm_line_check *c) {
  const dm_reduction_kind kind = c->what->kind;
  const int64_t length = c->length - c->what->no_self;
  double value = (double)c->sum, bound = (double)(c->off + 0x1p-50L * c->sizes);
  if (kind == DM_REDUCE_MEAN) {
    value = (double)(c->sum / length);
    bound /= (double)length;
  } else if (kind == DM_REDUCE_NORM) {
    value = (double)sqrtl(c->squares);
    bound = (double)(sqrtl(c->off_squares) + 0x1p-50L * value);
  }
  line_compare(c, -1, c->values[0], value, bound + 0x1p-1074, "its number is another one");
}

void dm_line_check_end(dm_line_check *c) {
  const dm_reduction_kind kind = c->what->kind;
  if (line_lists(c) || kind == DM_REDUCE_NONE || kind == DM_REDUCE_DIAGONAL || c->unchecked > 0)
    return;
  if (kind == DM_REDUCE_COUNT) {
    if (c->indices[0] != c->numbers)
      line_wrong(c, "another number of elements is not NaN", -1, 0.0);
  } else if (kind == DM_REDUCE_SUM || kind == DM_REDUCE_MEAN || kind == DM_REDUCE_NORM) {
    line_end_sum(c);
  } else if (kind == DM_REDUCE_ARGMAX || kind == DM_REDUCE_ARGMIN) {
    line_end_place(c);
  } else {
    line_end_extreme(c);
  }
}
