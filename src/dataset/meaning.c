#include "dataset/meaning.h"

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/copy.h"

enum { MEANING_RUN = 256 };

dm_dtype dm_meaning_number(const dm_meaning *meaning, dm_dtype dtype) {
  static const dm_dtype pairs[][2] = {
      {DM_I8, DM_U8}, {DM_I16, DM_U16}, {DM_I32, DM_U32}, {DM_I64, DM_U64}};
  for (int i = 0; i < 4 && meaning->other_sign; i++)
    for (int j = 0; j < 2; j++)
      if (pairs[i][j] == dtype) return pairs[i][1 - j];
  return dtype;
}

void dm_meaning_point(dm_meaning *meaning, const uint64_t *words) {
  meaning->slices.pair = (const double *)(words + meaning->slices.at);
  meaning->mask.bits = words + meaning->mask.at;
}

void dm_meaning_free(dm_meaning *meaning) {
  free((void *)meaning->slices.pair);
  free((void *)meaning->mask.bits);
  meaning->slices = (dm_slices){.count = 0};
  meaning->mask = (dm_mask){.words = 0};
}

const char *dm_missing_name(dm_missing missing) {
  static const char *const names[DM_MISSING_END] = {"refuse", "nan",      "zero",
                                                    "mean",   "pairwise", "complete"};
  return names[missing];
}

/* f64 does not hold all of them. */
static bool is_long(dm_dtype dtype) {
  return dtype == DM_I64 || dtype == DM_U64;
}

/* How many numbers are outside of [LOW, HIGH]. */
static int64_t count_outside(const double *numbers, int64_t count, double low, double high) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) found += (numbers[i] < low) | (numbers[i] > high);
  return found;
}

/* Whether any of COUNT numbers may be missing. These loops are what reading usually takes. */
static bool may_miss(const dm_meaning *m, const double *numbers, const int64_t *whole,
                     int64_t count) {
  int64_t found = 0;
  for (int v = 0; v < m->count; v++) {
    const double real = m->real[v];
    const int64_t number = m->integers[v];
    if (whole)
      for (int64_t i = 0; i < count; i++) found += whole[i] == number;
    else
      for (int64_t i = 0; i < count; i++) found += numbers[i] == real;
  }
  if (m->nan)
    for (int64_t i = 0; i < count; i++) found += numbers[i] != numbers[i];
  if (m->ranged) found += count_outside(numbers, count, m->low, m->high);
  return found > 0;
}

/* The same for COUNT complex numbers, of which only NaN is missing. */
static bool mark_complex(const double *numbers, int64_t count, uint8_t *bad) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++)
    found += bad[i] = isnan(numbers[2 * i]) || isnan(numbers[2 * i + 1]);
  return found > 0;
}

/* Marks the missing ones of COUNT numbers. */
static void meaning_mark(const dm_meaning *m, const double *numbers, const int64_t *whole,
                         int64_t count, uint8_t *bad) {
  memset(bad, 0, MEANING_RUN);
  for (int v = 0; v < m->count; v++)
    for (int64_t i = 0; i < count; i++)
      bad[i] |= whole ? whole[i] == m->integers[v] : numbers[i] == m->real[v];
  for (int64_t i = 0; i < count; i++) {
    bad[i] |= m->nan && isnan(numbers[i]);
    if (m->ranged) bad[i] |= (numbers[i] < m->low) | (numbers[i] > m->high);
  }
}

static void unpack_numbers(const dm_meaning *m, const double *pairs, double *values,
                           int64_t count) {
  const double scale = m->scale, offset = m->offset;
  if (pairs)
    for (int64_t i = 0; i < count; i++) values[i] = values[i] * pairs[2 * i] + pairs[2 * i + 1];
  else if (m->shifted)
    for (int64_t i = 0; i < count; i++) values[i] = (values[i] + offset) * scale;
  else
    for (int64_t i = 0; i < count; i++) values[i] = values[i] * scale + offset;
}

static void meaning_note(dm_missed *missed, int64_t count, int64_t first) {
  atomic_fetch_add(&missed->count, count);
  int64_t known = atomic_load(&missed->first);
  while (first < known && !atomic_compare_exchange_weak(&missed->first, &known, first)) {
  }
}

/* The number of missing values, noted in MISSED; PLACE is that of the first element. */
static int64_t count_bad(const uint8_t *bad, int64_t count, int64_t place, dm_missed *missed) {
  int64_t found = 0, first = 0;
  for (int64_t i = 0; i < count; i++) found += bad[i];
  if (found == 0) return 0;
  while (!bad[first]) first++;
  meaning_note(missed, found, place + first);
  return found;
}

static double replacement(const dm_meaning *m) {
  return m->missing == DM_MISSING_ZERO ? 0.0 : (double)NAN;
}

/* Adds those that are MASKED to the BAD ones, if there are ANY already; whether there are now. */
static bool mark_masked(const uint8_t *masked, int64_t count, bool any, uint8_t *bad) {
  if (!any) memset(bad, 0, MEANING_RUN);
  int64_t found = any;
  for (int64_t i = 0; i < count; i++) found += bad[i] |= masked[i];
  return found > 0;
}

/* The values of at most MEANING_RUN elements at SRC, as dm_meaning_apply. False: none is missing;
 * else BAD marks those that are. */
static bool meaning_interpret(const dm_meaning *m, const void *src, dm_dtype stored, int64_t stride,
                              dm_singled of, int64_t count, double *values, uint8_t *bad) {
  const dm_dtype number = dm_meaning_number(m, stored);
  int64_t whole[MEANING_RUN];
  const int64_t *const longs = is_long(number) ? whole : NULL;
  dm_load_wide(values, src, number, stride, count);
  if (dm_dtype_is_complex(number)) return mark_complex(values, count, bad);
  for (int64_t i = 0; longs && i < count; i++) whole[i] = ((const int64_t *)src)[i * stride];
  bool misses = may_miss(m, values, longs, count);
  if (misses) meaning_mark(m, values, longs, count, bad);
  if (of.masked) misses = mark_masked(of.masked, count, misses, bad);
  if (m->packed) unpack_numbers(m, of.pairs, values, count);
  return misses;
}

void dm_meaning_apply(const dm_meaning *m, dm_view stored, dm_singled of, double *dst,
                      dm_missed *missed) {
  const int64_t parts = dm_dtype_is_complex(stored.dtype) ? 2 : 1;
  uint8_t bad[MEANING_RUN];
  for (int64_t at = 0; at < stored.cols; at += MEANING_RUN) {
    const int64_t count = dm_min(MEANING_RUN, stored.cols - at);
    double *values = dst + at * parts;
    const dm_singled part = {of.pairs ? of.pairs + 2 * at : NULL,
                             of.masked ? of.masked + at : NULL};
    if (!meaning_interpret(m, dm_view_at(stored, 0, at), stored.dtype, stored.col_stride, part,
                           count, values, bad) ||
        count_bad(bad, count, at, missed) == 0)
      continue;
    for (int64_t i = 0; i < count * parts; i++)
      if (bad[i / parts]) values[i] = replacement(m);
  }
}

void dm_meaning_scan(const dm_meaning *m, dm_view part, int64_t row, int64_t col, int64_t cols,
                     dm_missed *missed) {
  const double instead[2] = {replacement(m), replacement(m)};
  const dm_singled none = {NULL, NULL};
  double values[2 * MEANING_RUN];
  uint8_t bad[MEANING_RUN];
  for (int64_t i = 0; i < part.rows; i++)
    for (int64_t at = 0; at < part.cols; at += MEANING_RUN) {
      const int64_t count = dm_min(MEANING_RUN, part.cols - at);
      if (!meaning_interpret(m, dm_view_at(part, i, at), part.dtype, part.col_stride, none, count,
                             values, bad) ||
          count_bad(bad, count, (row + i) * cols + col + at, missed) == 0)
        continue;
      if (dm_dtype_is_integer(part.dtype) && m->missing != DM_MISSING_ZERO) continue; /* refused */
      for (int64_t j = 0; j < count; j++)
        if (bad[j]) dm_store_wide(dm_view_at(part, i, at + j), part.dtype, 1, instead, 1);
    }
}
