#include "reduce/wide_sum.h"

#include <math.h>
#include <string.h>

#include "core/checked.h"

enum {
  BITS = 40,     /* of a digit */
  FLOOR = -2160, /* the power of two of place 0: below the square of every number */
  FRACTION = 52,
  SMALLEST = -1074,
  HALF_SQUARE = 43, /* bits of the square of a fraction that are cut off: 63 remain */
  CARRIES = 47      /* bits that a digit holds besides, for so many numbers */
};

enum { PLUS = 1, MINUS = 2, WIDE_SUM_NONE = 4 }; /* special: Inf, -Inf, NaN */

static const int64_t wide_mask = (INT64_C(1) << BITS) - 1;

/* What is below the new LOWEST place is dropped. */
static void wide_raise(dm_wide_sum *sum, int64_t lowest) {
  const int64_t by = lowest - sum->lowest;
  for (int64_t i = 0; i < DM_WIDE_DIGITS; i++)
    sum->digits[i] = i + by < DM_WIDE_DIGITS ? sum->digits[i + by] : 0;
  sum->lowest = (int32_t)lowest;
}

/* Adds SIZE, less than 2^64, times 2^EXPONENT. */
static void wide_add_scaled(dm_wide_sum *sum, uint64_t size, int exponent, bool negative) {
  if (size == 0) return;
  const int64_t position = exponent - FLOOR, place = position / BITS;
  const unsigned __int128 all = (unsigned __int128)size << (position % BITS);
  const int64_t digits[DM_WIDE_DIGITS] = {(int64_t)(all & (uint64_t)wide_mask),
                                          (int64_t)((all >> BITS) & (uint64_t)wide_mask),
                                          (int64_t)(all >> (2 * BITS))};
  const int64_t top = place + (digits[2] ? 2 : digits[1] ? 1 : 0), turn = -(int64_t)negative;
  if (top - 2 > sum->lowest) wide_raise(sum, top - 2);
  const int64_t first = place - sum->lowest; /* of the sum's digits */
  if (first == 0) {
    for (int64_t i = 0; i < DM_WIDE_DIGITS; i++) sum->digits[i] += (digits[i] ^ turn) - turn;
    return;
  }
  for (int64_t i = dm_max(0, -first); i < DM_WIDE_DIGITS && first + i < DM_WIDE_DIGITS; i++)
    sum->digits[first + i] += (digits[i] ^ turn) - turn;
}

/* A finite number is *SIZE * 2^*EXPONENT. */
static bool wide_take_apart(dm_wide_sum *sum, double value, uint64_t *size, int *exponent,
                            bool *negative) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const int stored = (int)(bits >> FRACTION & 0x7ff);
  const uint64_t fraction = bits & ((UINT64_C(1) << FRACTION) - 1);
  *negative = bits >> 63;
  if (stored == 0x7ff) {
    sum->special |= fraction ? WIDE_SUM_NONE : *negative ? MINUS : PLUS;
    return false;
  }
  *size = stored ? fraction | UINT64_C(1) << FRACTION : fraction;
  *exponent = SMALLEST + (stored ? stored - 1 : 0);
  return true;
}

void dm_wide_add(dm_wide_sum *sum, double value) {
  uint64_t size;
  int exponent;
  bool negative;
  if (wide_take_apart(sum, value, &size, &exponent, &negative))
    wide_add_scaled(sum, size, exponent, negative);
}

void dm_wide_add_square(dm_wide_sum *sum, double value) {
  uint64_t size;
  int exponent;
  bool negative;
  if (!wide_take_apart(sum, fabs(value), &size, &exponent, &negative)) return;
  const unsigned __int128 square = (unsigned __int128)size * size;
  const bool fits = square >> 64 == 0;
  wide_add_scaled(sum, (uint64_t)(fits ? square : square >> HALF_SQUARE),
                  2 * exponent + (fits ? 0 : HALF_SQUARE), false);
}

void dm_wide_join(dm_wide_sum *sum, const dm_wide_sum *other) {
  dm_wide_sum one = *other;
  const int64_t lowest = dm_max(sum->lowest, one.lowest);
  wide_raise(sum, lowest);
  wide_raise(&one, lowest);
  for (int i = 0; i < DM_WIDE_DIGITS; i++) sum->digits[i] += one.digits[i];
  sum->special |= one.special;
}

/* ---- the result ---- */

/* Passes carries on: all digits but the highest are less than 2^BITS then. */
static void wide_carry(__int128 digits[DM_WIDE_DIGITS]) {
  for (int i = 0; i + 1 < DM_WIDE_DIGITS; i++) {
    const __int128 carry = digits[i] >> BITS;
    digits[i] -= carry * ((__int128)1 << BITS);
    digits[i + 1] += carry;
  }
}

/* The sum is the number returned times 2^*EXPONENT; rounded once. */
static double wide_round(const dm_wide_sum *sum, int *exponent) {
  __int128 d[DM_WIDE_DIGITS];
  memcpy(d, sum->digits, sizeof d);
  wide_carry(d);
  const bool negative = d[2] < 0;
  for (int i = 0; negative && i < DM_WIDE_DIGITS; i++) d[i] = -sum->digits[i];
  if (negative) wide_carry(d);
  *exponent = FLOOR + BITS * sum->lowest;
  unsigned __int128 all = (unsigned __int128)d[2] << BITS | (unsigned __int128)d[1];
  if (d[2] >> CARRIES == 0) {
    all = all << BITS | (unsigned __int128)d[0];
  } else {
    all |= d[0] != 0; /* far below what is rounded */
    *exponent += BITS;
  }
  return negative ? -(double)all : (double)all;
}

/* Whether the sum is none that is finite; *VALUE then. */
static bool wide_is_special(const dm_wide_sum *sum, double *value) {
  *value = sum->special == PLUS ? INFINITY : sum->special == MINUS ? -INFINITY : NAN;
  return sum->special != 0;
}

double dm_wide_value(const dm_wide_sum *sum) {
  double value;
  int exponent;
  if (wide_is_special(sum, &value)) return value;
  value = wide_round(sum, &exponent);
  return ldexp(value, exponent);
}

double dm_wide_root(const dm_wide_sum *sum) {
  double value;
  int exponent;
  if (wide_is_special(sum, &value)) return value;
  value = wide_round(sum, &exponent);
  const int odd = exponent & 1;
  return ldexp(sqrt(odd ? 2.0 * value : value), (exponent - odd) / 2);
}
