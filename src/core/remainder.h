/* remainder: recovers the whole number from its residues (residues.h) by the Chinese remainder
 * theorem, in limbs of 32 bits. Exact except for one rounding at the end, so every processor gets
 * the same bits. */
#ifndef DM_CORE_REMAINDER_H
#define DM_CORE_REMAINDER_H

#include "core/residues.h"

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
  exponent += by;
  const double scaled =
      exponent > -1000 && exponent < 1000 ? value * dm_two_to(exponent) : ldexp(value, exponent);
  return negative ? -scaled : scaled;
}

#endif
