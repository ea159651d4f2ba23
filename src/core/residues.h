/* residues: whole numbers as residues modulo M pairwise coprime numbers of at most 256, for f64
 * products made of int8 products (docs/emulated_int8.md).
 *
 * A row of A and a column of B are scaled by powers of two, 2^s and 2^t, and truncated to whole
 * numbers a' and b' with 2 sum |a'| |b'| < P, the product of the moduli: the residues of the sum
 * then determine it exactly. Everything is exact except the truncation and one rounding at the end,
 * so CPU and GPU agree in every bit. Compile as element.h requires. */
#ifndef DM_CORE_RESIDUES_H
#define DM_CORE_RESIDUES_H

#include <math.h>
#include <stdint.h>

#include "core/elementary.h"

enum {
  DM_MODULI_LEAST = 2,
  DM_MODULI_MOST = 20,
  DM_LIMBS = 5,                /* of 32 bits; enough for the product of all moduli */
  DM_RESIDUES_DEPTH = 1 << 16, /* largest k of one product of residues: its sums fit int32 */
  DM_SQUARE_BITS = 30,         /* bits of a square in sums of squares */
  /* On a GPU, where the residues of parts of A and B are stored in planes: */
  DM_RESIDUES_SPLIT = 1 << 14, /* approximate k of one part, of complex numbers half of it */
  DM_RESIDUES_PLANES = 3,      /* planes per modulus of complex numbers, and products of these */
  DM_RESIDUES_ROWS = 64,       /* rows (or columns) are padded to a multiple of this, ... */
  DM_RESIDUES_ROW = 128,       /* ... and rows along k to a multiple of this many bytes */
  DM_RESIDUES_SUMS = 32 << 20, /* bytes of sums computed at a time; at least one row */
};

/* Plain data, passed to kernels as an argument; initialised by dm_moduli_make. */
typedef struct dm_moduli {
  int32_t count;                              /* M */
  int32_t limbs;                              /* of P */
  double number[DM_MODULI_MOST];              /* p_x, ... */
  double inverse[DM_MODULI_MOST];             /* ... 1 / p_x, ... */
  double high[DM_MODULI_MOST];                /* ... and the residue of 2^39 */
  uint32_t weight[DM_MODULI_MOST][DM_LIMBS];  /* less than P; 1 modulo p_x, 0 modulo the others */
  uint32_t product[DM_LIMBS], half[DM_LIMBS]; /* P, P / 2; lowest limb first */
  double per_product;                         /* 2^(32 (limbs - 1)) / P */
  double squares;                             /* (P - 1) / 2 rounded down: see dm_exponent */
} dm_moduli;

/* p_x = 256, 255, 253, ... */
extern const int32_t dm_moduli_numbers[DM_MODULI_MOST];

/* Initialises MODULI; COUNT is DM_MODULI_LEAST to DM_MODULI_MOST. */
void dm_moduli_make(int count, dm_moduli *moduli);

/* log2 P. */
double dm_moduli_bits(const dm_moduli *moduli);

/* The scale s of a row (or column). LARGEST is the largest |a| in it, SQUARES the sum of
 * dm_square(a, ...) over its COUNT elements. 0 for a row of zeros. */
int32_t dm_exponent(const dm_moduli *moduli, double largest, int64_t squares, int64_t count);

/* ---- scaling by powers of two ---- */

/* 2^e for any exponent used here, as two factors that do not overflow. */
typedef struct dm_power {
  double by, then;
} dm_power;

static inline DM_HOST_DEVICE double dm_two_to(int exponent) { /* from -1022 to 1023 */
  return dm_double_of_bits((uint64_t)(exponent + 1023) << 52);
}

static inline DM_HOST_DEVICE dm_power dm_power_of(int exponent) {
  const int half = exponent / 2;
  const dm_power power = {dm_two_to(half), dm_two_to(exponent - half)};
  return power;
}

/* VALUE 2^EXPONENT, rounded once: ldexp, faster for exponents of usual size. */
static inline DM_HOST_DEVICE double dm_times_two_to(double value, int exponent) {
  return exponent > -1000 && exponent < 1000 ? value * dm_two_to(exponent) : ldexp(value, exponent);
}

/* The scale that dm_square needs for a row with LARGEST > 0. */
static inline dm_power dm_square_power(double largest) {
  int top;
  frexp(largest, &top);
  return dm_power_of(DM_SQUARE_BITS / 2 - top);
}

/* The square of A in units of 2^(2 top - 30), |A| < 2^top; truncated, so less than 1 too small. */
static inline DM_HOST_DEVICE int64_t dm_square(double a, dm_power power) {
  const double scaled = a * power.by * power.then;
  return (int64_t)(scaled * scaled);
}

/* ---- residues ---- */

/* A whole number below 2^78: HIGH 2^39 + LOW, both whole and with its sign. */
typedef struct dm_long_integer {
  double high, low;
} dm_long_integer;

/* trunc(a 2^s), power = dm_power_of(s): exact. */
static inline DM_HOST_DEVICE dm_long_integer dm_long_integer_of(double a, dm_power power) {
  const double scaled = a * power.by * power.then;
  const double high = (double)(int64_t)(scaled * 0x1p-39);
  const dm_long_integer whole = {high, (double)(int64_t)(scaled - high * 0x1p39)};
  return whole;
}

/* r = VALUE modulo p_x, -p/2 <= r < p/2; VALUE is whole and below 2^47. */
static inline DM_HOST_DEVICE int8_t dm_residue(const dm_moduli *moduli, int x, double value) {
  const double shift = 0x1.8p52; /* rounds to whole numbers; for an odd p never near a half */
  const double times = (value * moduli->inverse[x] + shift) - shift;
  return (int8_t)(int32_t)(value - times * moduli->number[x]);
}

static inline DM_HOST_DEVICE int8_t dm_long_integer_residue(const dm_moduli *moduli, int x,
                                                            dm_long_integer whole) {
  return dm_residue(moduli, x, whole.high * moduli->high[x] + whole.low);
}

/* ---- the whole number from its residues ----
 *
 * By the Chinese remainder theorem, in limbs of 32 bits; exact but for one rounding at the end. */

/* Propagates carries: all limbs become less than 2^32; the highest has the sign. */
static inline DM_HOST_DEVICE void dm_limbs_carry(int64_t limb[DM_LIMBS], int limbs) {
  for (int l = 0; l + 1 < limbs; l++) {
    limb[l + 1] += limb[l] >> 32;
    limb[l] &= 0xffffffff;
  }
}

/* 1, 0 or -1 if LIMB, after dm_limbs_carry, is greater than, equal to or less than WHAT. */
static inline DM_HOST_DEVICE int dm_limbs_compare(const int64_t limb[DM_LIMBS],
                                                  const uint32_t what[DM_LIMBS], int limbs) {
  for (int l = limbs - 1; l >= 0; l--)
    if (limb[l] != (int64_t)what[l]) return limb[l] > (int64_t)what[l] ? 1 : -1;
  return 0;
}

/* LIMB, carried and not negative, rounded once to nearest even; the result counts 2^*exponent. */
static inline DM_HOST_DEVICE double dm_limbs_round(const int64_t limb[DM_LIMBS], int limbs,
                                                   int *exponent) {
  int top = limbs - 1;
  while (top > 0 && limb[top] == 0) top--;
  const int64_t next = top > 0 ? limb[top - 1] : 0, last = top > 1 ? limb[top - 2] : 0;
  int64_t rest = 0;
  for (int l = 0; l < top - 2; l++) rest |= limb[l];
  /* Both parts are exact; anything below them sets a lowest bit, which rounding drops. */
  const double upper = (double)(limb[top] << 21 | next >> 11);
  const double lower = (double)((next & 0x7ff) << 32 | last | (rest != 0));
  *exponent = 32 * (top - 2);
  return upper * 0x1p43 + lower;
}

/* LIMB = X in (-P/2, P/2] whose residues are RESIDUES[x * plane]; returns whether X is negative. */
static inline DM_HOST_DEVICE int dm_residues_limbs(const dm_moduli *moduli, const int8_t *residues,
                                                   int64_t plane, int64_t limb[DM_LIMBS]) {
  const int limbs = moduli->limbs;
  int negative = 0;
  for (int l = 0; l < limbs; l++) limb[l] = 0;
  for (int x = 0; x < moduli->count; x++)
    for (int l = 0; l < limbs; l++)
      limb[l] += (int64_t)residues[x * plane] * (int64_t)moduli->weight[x][l];
  const double below = limbs > 1 ? (double)limb[limbs - 2] * 0x1p-32 : 0.0;
  const int64_t times =
      (int64_t)floor(((double)limb[limbs - 1] + below) * moduli->per_product + 0.5);
  for (int l = 0; l < limbs; l++) limb[l] -= times * (int64_t)moduli->product[l];
  dm_limbs_carry(limb, limbs);
  if (limb[limbs - 1] < 0) {
    for (int l = 0; l < limbs; l++) limb[l] = -limb[l];
    dm_limbs_carry(limb, limbs);
    negative = 1;
  }
  const int order = dm_limbs_compare(limb, moduli->half, limbs);
  if (order > 0) { /* the quotient was off by one */
    for (int l = 0; l < limbs; l++) limb[l] = (int64_t)moduli->product[l] - limb[l];
    dm_limbs_carry(limb, limbs);
    negative = !negative;
  }
  return order == 0 ? 0 : negative;
}

/* X 2^EXPONENT, rounded once to f64. */
static inline DM_HOST_DEVICE double
dm_residues_value(const dm_moduli *moduli, const int8_t *residues, int64_t plane, int exponent) {
  int64_t limb[DM_LIMBS];
  int by;
  const int negative = dm_residues_limbs(moduli, residues, plane, limb);
  const double value = dm_limbs_round(limb, moduli->limbs, &by);
  const double scaled = dm_times_two_to(value, exponent + by);
  return negative ? -scaled : scaled;
}

#endif
