/* A number for each line: its extreme, sum, mean, norm, count, or element of the diagonal. */
#include <math.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "reduce/reduction_impl.h"
#include "reduce/wide_sum.h"

/* The extreme, or the element of the diagonal, and where it is, or -1; or what is not NaN. */
typedef struct reduction_number {
  double value;
  int64_t index, count;
} reduction_number;

typedef struct reduction_numbers {
  reduction_number *of;
  dm_wide_sum *sums; /* of SUM, MEAN and NORM, which have no others */
  void *result;
} reduction_numbers;

static bool is_extreme(dm_reduction_kind kind) {
  return kind == DM_REDUCE_MAX || kind == DM_REDUCE_MIN || kind == DM_REDUCE_ARGMAX ||
         kind == DM_REDUCE_ARGMIN;
}

static bool is_sum(dm_reduction_kind kind) {
  return kind == DM_REDUCE_SUM || kind == DM_REDUCE_MEAN || kind == DM_REDUCE_NORM;
}

/* Bytes for a line. */
static int64_t number_size(const dm_reducer *r) {
  return is_sum(r->what.kind) ? (int64_t)sizeof(dm_wide_sum) : (int64_t)sizeof(reduction_number);
}

static dm_status number_open(dm_reducer *r, int64_t room) {
  reduction_numbers *n;
  DM_TRY(dm_buffer_table(1, &n));
  r->kept = n;
  if (r->lines > room / number_size(r))
    return dm_fail(DM_E_FIT, "the numbers of %lld lines do not fit in memory", (long long)r->lines);
  if (is_sum(r->what.kind)) return dm_buffer_table(r->lines, &n->sums);
  DM_TRY(dm_buffer_table(r->lines, &n->of));
  for (int64_t i = 0; i < r->lines; i++) n->of[i].index = -1;
  return DM_OK;
}

static void number_close(dm_reducer *r) {
  reduction_numbers *n = r->kept;
  if (!n) return;
  free(n->of);
  free(n->sums);
  free(n->result);
  free(n);
}

/* ---- adding ---- */

static void number_add_extreme(dm_reduction_kind kind, reduction_number *to, double value,
                               int64_t index) {
  const bool largest = kind == DM_REDUCE_MAX || kind == DM_REDUCE_ARGMAX;
  const bool better = to->index < 0 || (largest ? value > to->value : value < to->value) ||
                      (value == to->value && index < to->index);
  if (!better) return;
  to->value = value;
  to->index = index;
}

static void number_add_sums(const dm_reducer *r, const dm_piece *p, int64_t *nans) {
  const reduction_numbers *n = r->kept;
  const bool squares = r->what.kind == DM_REDUCE_NORM;
  for (int64_t i = 0; i < p->count; i++) {
    dm_wide_sum *to = &n->sums[dm_piece_line(p, i)];
    *nans += isnan(p->values[i]);
    if (squares)
      dm_wide_add_square(to, p->values[i]);
    else
      dm_wide_add(to, p->values[i]);
  }
}

static dm_status number_add(dm_reducer *r, const dm_piece *p, int64_t *nans) {
  reduction_numbers *n = r->kept;
  const dm_reduction_kind kind = r->what.kind;
  if (is_sum(kind)) {
    number_add_sums(r, p, nans);
    return DM_OK;
  }
  for (int64_t i = 0; i < p->count; i++) {
    const int64_t line = dm_piece_line(p, i), index = dm_piece_index(p, i);
    if (kind == DM_REDUCE_DIAGONAL && line != index) continue;
    reduction_number *to = &n->of[line];
    const bool nan = isnan(p->values[i]);
    *nans += nan;
    to->count += !nan;
    if (kind == DM_REDUCE_DIAGONAL)
      *to = (reduction_number){.value = p->values[i], .index = index};
    else if (is_extreme(kind) && !nan)
      number_add_extreme(kind, to, p->values[i], index);
  }
  return DM_OK;
}

/* ---- ranks ---- */

static dm_status number_settle(dm_reducer *r) {
  (void)r;
  return DM_OK;
}

static int number_states(dm_reducer *r, dm_reduce_state list[DM_REDUCE_STATES]) {
  const reduction_numbers *n = r->kept;
  list[0] = (dm_reduce_state){n->sums ? (void *)n->sums : n->of, r->lines * number_size(r)};
  return 1;
}

static dm_status number_absorb(dm_reducer *r, const dm_reduce_state list[DM_REDUCE_STATES]) {
  const reduction_numbers *n = r->kept;
  for (int64_t i = 0; i < r->lines; i++) {
    if (n->sums) {
      dm_wide_join(&n->sums[i], &((const dm_wide_sum *)list[0].data)[i]);
      continue;
    }
    reduction_number *to = &n->of[i];
    const reduction_number one = ((const reduction_number *)list[0].data)[i];
    to->count += one.count;
    if (one.index < 0) continue;
    if (r->what.kind == DM_REDUCE_DIAGONAL)
      *to = one;
    else
      number_add_extreme(r->what.kind, to, one.value, one.index);
  }
  return DM_OK;
}

/* ---- the result ---- */

static int64_t number_kept(const dm_reducer *r) {
  return r->lines;
}

static int64_t number_bytes(const dm_reducer *r) {
  return r->lines * number_size(r);
}

static double number_value(const dm_reducer *r, int64_t line) {
  const reduction_numbers *n = r->kept;
  const dm_reduction_kind kind = r->what.kind;
  if (!n->sums) return n->of[line].index < 0 ? (double)NAN : n->of[line].value;
  if (kind == DM_REDUCE_NORM) return dm_wide_root(&n->sums[line]);
  const double sum = dm_wide_value(&n->sums[line]);
  const int64_t length = r->length - r->what.no_self;
  return kind == DM_REDUCE_MEAN ? sum / (double)length : sum;
}

static dm_status number_result(dm_reducer *r, dm_dtype type, dm_array arrays[DM_REDUCED_ARRAYS]) {
  reduction_numbers *n = r->kept;
  const bool counts = dm_reduction_counts(r->what.kind);
  DM_TRY(dm_buffer_alloc(dm_max(1, r->lines) * 8, &n->result));
  for (int64_t i = 0; i < r->lines; i++) {
    if (counts)
      ((int64_t *)n->result)[i] = r->what.kind == DM_REDUCE_COUNT ? n->of[i].count : n->of[i].index;
    else
      ((double *)n->result)[i] = number_value(r, i);
  }
  (void)type; /* sums of f32 have more digits than f32 */
  arrays[0] =
      (dm_array){.dtype = counts ? DM_DTYPE_NONE : DM_F64, .rows = r->lines, .data = n->result};
  return DM_OK;
}

const dm_reduce_ops dm_reduce_number = {.open = number_open,
                                        .close = number_close,
                                        .add = number_add,
                                        .settle = number_settle,
                                        .states = number_states,
                                        .absorb = number_absorb,
                                        .kept = number_kept,
                                        .bytes = number_bytes,
                                        .result = number_result};

bool dm_reduction_counts(dm_reduction_kind kind) {
  return kind == DM_REDUCE_ARGMAX || kind == DM_REDUCE_ARGMIN || kind == DM_REDUCE_COUNT;
}
