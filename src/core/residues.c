#include "core/residues.h"

#include <string.h>

const int32_t dm_moduli_numbers[DM_MODULI_MOST] = {256, 255, 253, 251, 247, 241, 239,
                                                   233, 229, 227, 223, 217, 211, 199,
                                                   197, 193, 191, 181, 179, 173};

static void times_small(uint32_t limb[DM_LIMBS], uint32_t by) {
  uint64_t carry = 0;
  for (int l = 0; l < DM_LIMBS; l++) {
    carry += (uint64_t)limb[l] * by;
    limb[l] = (uint32_t)carry;
    carry >>= 32;
  }
}

/* Divides LIMB by BY in place; returns the remainder. */
static uint32_t divide_small(uint32_t limb[DM_LIMBS], uint32_t by) {
  uint64_t rest = 0;
  for (int l = DM_LIMBS - 1; l >= 0; l--) {
    rest = rest << 32 | limb[l];
    limb[l] = (uint32_t)(rest / by);
    rest %= by;
  }
  return (uint32_t)rest;
}

static double approximately(const uint32_t limb[DM_LIMBS]) {
  double value = 0.0;
  for (int l = DM_LIMBS - 1; l >= 0; l--) value = value * 0x1p32 + limb[l];
  return value;
}

/* A multiple of P / p_x that is 1 modulo p_x. */
static void residues_weight_of(const uint32_t product[DM_LIMBS], uint32_t number,
                               uint32_t weight[DM_LIMBS]) {
  uint32_t copy[DM_LIMBS], by = 1;
  memcpy(weight, product, sizeof copy);
  divide_small(weight, number);
  memcpy(copy, weight, sizeof copy);
  const uint32_t rest = divide_small(copy, number);
  while (rest * by % number != 1) by++;
  times_small(weight, by);
}

void dm_moduli_make(int count, dm_moduli *moduli) {
  memset(moduli, 0, sizeof *moduli);
  moduli->count = count;
  moduli->product[0] = 1;
  for (int x = 0; x < count; x++) times_small(moduli->product, (uint32_t)dm_moduli_numbers[x]);
  moduli->limbs = DM_LIMBS;
  while (moduli->product[moduli->limbs - 1] == 0) moduli->limbs--;
  memcpy(moduli->half, moduli->product, sizeof moduli->half);
  divide_small(moduli->half, 2);
  for (int x = 0; x < count; x++) {
    const int32_t number = dm_moduli_numbers[x];
    moduli->number[x] = number;
    moduli->inverse[x] = 1.0 / number;
    const int64_t rest = ((int64_t)1 << 39) % number;
    moduli->high[x] = (double)(2 * rest < number ? rest : rest - number);
    residues_weight_of(moduli->product, (uint32_t)number, moduli->weight[x]);
  }
  const double product = approximately(moduli->product);
  moduli->per_product = ldexp(1.0, 32 * (moduli->limbs - 1)) / product;
  moduli->squares = product / 2.0 * (1.0 - 0x1p-20) - 1.0;
}

double dm_moduli_bits(const dm_moduli *moduli) {
  return log2(approximately(moduli->product));
}

int32_t dm_exponent(const dm_moduli *moduli, double largest, int64_t squares, int64_t count) {
  if (!(largest > 0.0)) return 0;
  int top, of_sum, of_bound;
  frexp(largest, &top);
  /* sum a^2 <= sum 2^(2 top - 30), as each square is less than 1 too small */
  const double sum = frexp((double)(squares + count) * (1.0 + 0x1p-50), &of_sum);
  const double bound = frexp(moduli->squares, &of_bound);
  const int room = of_bound - of_sum - (bound < sum ? 1 : 0) + DM_SQUARE_BITS;
  return (room - (room & 1)) / 2 - top;
}
