/* residues: whole numbers as their residues modulo M pairwise coprime numbers of at most 256, for
 * products of f64 that are made of products of int8 (docs/precision.md).
 *
 * A row of A and a column of B are scaled by powers of two, 2^s and 2^t, and cut off to whole
 * numbers a' and b' with 2 sum |a'| |b'| < P, the product of the moduli: then the residues of the
 * sum tell it exactly.  All of this is exact but for the cut and one rounding at the end, so CPU
 * and GPU agree in every bit.  What element.h says of compiling it holds here too. */
#ifndef DM_CORE_RESIDUES_H
#define DM_CORE_RESIDUES_H

#include <math.h>
#include <stdint.h>

#include "core/elementary.h"

enum {
  DM_MODULI_LEAST = 2,
  DM_MODULI_MOST = 20,
  DM_LIMBS = 5,                /* of 32 bits: what the product of all moduli takes */
  DM_RESIDUES_DEPTH = 1 << 16, /* k of one product of residues: its sums fit int32 */
  DM_SQUARE_BITS = 30,         /* of a square in sums of squares */
  /* Of a GPU, whose residues of parts of A and B lie in planes: */
  DM_RESIDUES_SPLIT = 1 << 14, /* of k at a time, about */
  DM_RESIDUES_ROWS = 64,       /* rows (or columns) come in groups of so many, ... */
  DM_RESIDUES_ROW = 128,       /* ... and bytes of a row along k */
  DM_RESIDUES_SUMS = 32 << 20, /* bytes of sums that are made at a time, or one row */
};

/* Plain data, for a kernel's argument; made by dm_moduli_make. */
typedef struct dm_moduli {
  int32_t count;                              /* M */
  int32_t limbs;                              /* of P */
  double number[DM_MODULI_MOST];              /* p_x, ... */
  double inverse[DM_MODULI_MOST];             /* ... 1 / p_x, ... */
  double high[DM_MODULI_MOST];                /* ... and the residue of 2^39 */
  uint32_t weight[DM_MODULI_MOST][DM_LIMBS];  /* below P: 1 modulo p_x, 0 modulo the others */
  uint32_t product[DM_LIMBS], half[DM_LIMBS]; /* P, P / 2; lowest limb first */
  double per_product;                         /* 2^(32 (limbs - 1)) / P */
  double squares;                             /* (P - 1) / 2 rounded down: see dm_exponent */
} dm_moduli;

/* p_x = 256, 255, 253, ... */
extern const int32_t dm_moduli_numbers[DM_MODULI_MOST];

/* COUNT from DM_MODULI_LEAST to DM_MODULI_MOST. */
void dm_moduli_make(int count, dm_moduli *moduli);

/* log2 P. */
double dm_moduli_bits(const dm_moduli *moduli);

/* The s of a row (or column): LARGEST is the largest |a| in it, SQUARES the sum of
 * dm_square(a, ...) over its COUNT elements.  0 for a row of zeros. */
int32_t dm_exponent(const dm_moduli *moduli, double largest, int64_t squares, int64_t count);

/* ---- numbers by a power of two ---- */

/* 2^e for every exponent that occurs here, as two factors that do not overflow. */
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

/* By which dm_square wants the numbers of a row whose LARGEST is above 0. */
static inline dm_power dm_square_power(double largest) {
  int top;
  frexp(largest, &top);
  return dm_power_of(DM_SQUARE_BITS / 2 - top);
}

/* The square of A in units of 2^(2 top - 30), |A| < 2^top; less than 1 short. */
static inline DM_HOST_DEVICE int64_t dm_square(double a, dm_power power) {
  const double scaled = a * power.by * power.then;
  return (int64_t)(scaled * scaled);
}

/* ---- residues ---- */

/* A whole number below 2^78: HIGH 2^39 + LOW, both whole and of its sign. */
typedef struct dm_whole {
  double high, low;
} dm_whole;

/* trunc(a 2^s), power = dm_power_of(s): exact. */
static inline DM_HOST_DEVICE dm_whole dm_whole_of(double a, dm_power power) {
  const double scaled = a * power.by * power.then;
  const double high = (double)(int64_t)(scaled * 0x1p-39);
  const dm_whole whole = {high, (double)(int64_t)(scaled - high * 0x1p39)};
  return whole;
}

/* r = VALUE modulo p_x, -p/2 <= r < p/2; VALUE is whole and below 2^47. */
static inline DM_HOST_DEVICE int8_t dm_residue(const dm_moduli *moduli, int x, double value) {
  const double shift = 0x1.8p52; /* rounds to whole numbers; for an odd p never near a half */
  const double times = (value * moduli->inverse[x] + shift) - shift;
  return (int8_t)(int32_t)(value - times * moduli->number[x]);
}

static inline DM_HOST_DEVICE int8_t dm_whole_residue(const dm_moduli *moduli, int x,
                                                     dm_whole whole) {
  return dm_residue(moduli, x, whole.high * moduli->high[x] + whole.low);
}

#endif
