/* A number for each line. Sums keep what rounding loses (Neumaier 1974); squares are summed times a
 * power of two, so that no norm overflows or vanishes that a number of f64 can be. */
#include <math.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "reduce/reduction_impl.h"

typedef struct number {
  double value; /* the extreme; the sum, or that of squares times 2 to the power of -2 EXPONENT */
  double lost;  /* by rounding */
  int64_t index, count; /* of the extreme; of what is not NaN */
  int64_t exponent;
} number;

typedef struct numbers {
  number *of;
  void *result;
} numbers;

static bool is_extreme(dm_reduction_kind kind) {
  return kind == DM_REDUCE_MAX || kind == DM_REDUCE_MIN || kind == DM_REDUCE_ARGMAX ||
         kind == DM_REDUCE_ARGMIN;
}

static dm_status number_open(dm_reducer *r, int64_t room) {
  numbers *n;
  DM_TRY(dm_buffer_table(1, &n));
  r->kept = n;
  if (r->lines > room / (int64_t)sizeof *n->of)
    return dm_fail(DM_E_FIT, "the numbers of %lld lines do not fit in memory", (long long)r->lines);
  DM_TRY(dm_buffer_table(r->lines, &n->of));
  for (int64_t i = 0; i < r->lines; i++) n->of[i].index = -1;
  return DM_OK;
}

static void number_close(dm_reducer *r) {
  numbers *n = r->kept;
  if (!n) return;
  free(n->of);
  free(n->result);
  free(n);
}

/* ---- adding ---- */

static void number_add_extreme(dm_reduction_kind kind, number *to, double value, int64_t index) {
  const bool largest = kind == DM_REDUCE_MAX || kind == DM_REDUCE_ARGMAX;
  const bool better = to->index < 0 || (largest ? value > to->value : value < to->value) ||
                      (value == to->value && index < to->index);
  if (!better) return;
  to->value = value;
  to->index = index;
}

static void number_add_term(number *to, double value) {
  const double sum = to->value + value;
  if (isfinite(sum)) /* Inf is the sum, whatever is lost */
    to->lost += fabs(to->value) >= fabs(value) ? to->value - sum + value : value - sum + to->value;
  to->value = sum;
}

/* Changes the scale of a sum of squares to EXPONENT. */
static void rescale(number *to, int64_t exponent) {
  to->value = ldexp(to->value, (int)(2 * (to->exponent - exponent)));
  to->lost = ldexp(to->lost, (int)(2 * (to->exponent - exponent)));
  to->exponent = exponent;
}

/* Squares of such magnitudes can be summed as they are. */
static const double small = 0x1p-480, large = 0x1p480;

static void number_add_square(number *to, double value) {
  const double size = fabs(value);
  if (size == 0.0) return;
  const bool plain = (size >= small && size <= large) || !isfinite(size);
  if (plain && to->exponent == 0) {
    number_add_term(to, size * size);
    return;
  }
  const int64_t exponent = plain ? 0 : ilogb(size);
  const bool empty = to->value == 0.0;
  if (empty || exponent > to->exponent) rescale(to, exponent);
  const double scaled = ldexp(size, (int)-to->exponent);
  number_add_term(to, scaled * scaled);
}

static dm_status number_add(dm_reducer *r, const dm_piece *p, int64_t *nans) {
  numbers *n = r->kept;
  const dm_reduction_kind kind = r->what.kind;
  for (int64_t i = 0; i < p->count; i++) {
    if (kind == DM_REDUCE_DIAGONAL && dm_piece_line(p, i) != dm_piece_index(p, i)) continue;
    number *to = &n->of[dm_piece_line(p, i)];
    const double value = p->values[i];
    const bool nan = isnan(value);
    *nans += nan;
    to->count += !nan;
    if (is_extreme(kind)) {
      if (!nan) number_add_extreme(kind, to, value, dm_piece_index(p, i));
    } else if (kind == DM_REDUCE_NORM) {
      number_add_square(to, value);
    } else if (kind != DM_REDUCE_COUNT) {
      number_add_term(to, value);
    }
  }
  return DM_OK;
}

/* ---- ranks ---- */

static dm_status number_settle(dm_reducer *r) {
  (void)r;
  return DM_OK;
}

static int number_states(dm_reducer *r, dm_reduce_state list[DM_REDUCE_STATES]) {
  list[0] = (dm_reduce_state){((numbers *)r->kept)->of, r->lines * (int64_t)sizeof(number)};
  return 1;
}

static dm_status number_absorb(dm_reducer *r, const dm_reduce_state list[DM_REDUCE_STATES]) {
  numbers *n = r->kept;
  for (int64_t i = 0; i < r->lines; i++) {
    number *to = &n->of[i], one = ((const number *)list[0].data)[i];
    to->count += one.count;
    if (is_extreme(r->what.kind)) {
      if (one.index >= 0) number_add_extreme(r->what.kind, to, one.value, one.index);
      continue;
    }
    if (to->value == 0.0) to->exponent = one.exponent;
    const int64_t exponent = one.value == 0.0 ? to->exponent : dm_max(to->exponent, one.exponent);
    rescale(to, exponent);
    rescale(&one, exponent);
    number_add_term(to, one.value);
    number_add_term(to, one.lost);
  }
  return DM_OK;
}

/* ---- the result ---- */

static int64_t number_kept(const dm_reducer *r) {
  return r->lines;
}

static int64_t number_bytes(const dm_reducer *r) {
  return r->lines * (int64_t)sizeof(number);
}

static double number_value(const dm_reducer *r, const number *of) {
  const dm_reduction_kind kind = r->what.kind;
  const double sum = isfinite(of->value) ? of->value + of->lost : of->value;
  if (is_extreme(kind)) return of->index < 0 ? (double)NAN : of->value;
  if (kind == DM_REDUCE_NORM) return ldexp(sqrt(sum), (int)of->exponent);
  const int64_t length = r->length - r->what.no_self;
  return kind == DM_REDUCE_MEAN ? sum / (double)length : sum;
}

static dm_status number_result(dm_reducer *r, dm_dtype type,
                               dm_reduced_array arrays[DM_REDUCED_ARRAYS]) {
  numbers *n = r->kept;
  const bool counts = dm_reduction_counts(r->what.kind);
  DM_TRY(dm_buffer_alloc(dm_max(1, r->lines) * 8, &n->result));
  for (int64_t i = 0; i < r->lines; i++) {
    if (counts)
      ((int64_t *)n->result)[i] = r->what.kind == DM_REDUCE_COUNT ? n->of[i].count : n->of[i].index;
    else
      ((double *)n->result)[i] = number_value(r, &n->of[i]);
  }
  (void)type; /* sums of f32 have more digits than f32 */
  arrays[0] = (dm_reduced_array){
      .dtype = counts ? DM_DTYPE_NONE : DM_F64, .rows = r->lines, .data = n->result};
  return DM_OK;
}

const dm_reduce_ops dm_reduce_number = {number_open,   number_close,  NULL,          number_add,
                                        number_settle, number_states, number_absorb, number_kept,
                                        number_bytes,  number_result};
