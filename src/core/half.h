/* half: the two 16-bit float formats, bit by bit; rounding is to nearest, ties to even. */
#ifndef DM_CORE_HALF_H
#define DM_CORE_HALF_H

#include <stdint.h>
#include <string.h>

#include "core/elementary.h" /* defines: DM_HOST_DEVICE */

static inline DM_HOST_DEVICE float dm_float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline DM_HOST_DEVICE uint32_t dm_bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline DM_HOST_DEVICE uint64_t dm_bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline DM_HOST_DEVICE float dm_bf16_to_f32(uint16_t half) {
  return dm_float_of_bits((uint32_t)half << 16);
}

/* A multiplication moves the exponent, which also normalises subnormal numbers. */
static inline DM_HOST_DEVICE float dm_f16_to_f32(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13;
  float scaled = dm_float_of_bits(magnitude) * 0x1p112f;
  uint32_t special = (half & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return dm_float_of_bits(dm_bits_of_float(scaled) | special | sign);
}

/* Rounds directly from f64: going through f32 would round twice. */
static inline DM_HOST_DEVICE uint16_t dm_half_of_f64(double value, int significand_bits,
                                                     int exponent_bits) {
  const uint64_t bits = dm_bits_of_double(value);
  const int fraction_bits = significand_bits - 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000u);
  const uint16_t infinity = (uint16_t)(((1 << exponent_bits) - 1) << fraction_bits);
  const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  uint64_t fraction = bits & 0xfffffffffffffull;

  if (exponent == 1024)
    return (uint16_t)(sign | infinity | (fraction ? 1u << (fraction_bits - 1) : 0u));
  if (exponent > bias) return (uint16_t)(sign | infinity);
  if (exponent == -1023) return sign; /* zero, or far below the smallest 16-bit number */

  fraction |= 1ull << 52;
  int drop = 52 - fraction_bits;
  int biased = exponent + bias;
  if (biased < 1) { /* subnormal: more bits are dropped, and the exponent field is 0 */
    drop += 1 - biased;
    biased = 0;
  }
  if (drop > 54) return sign;
  uint64_t kept = fraction >> drop;
  uint64_t rest = fraction & ((1ull << drop) - 1), tie = 1ull << (drop - 1);
  if (rest > tie || (rest == tie && (kept & 1))) kept++;
  /* A carry out of the fraction increments the exponent, up to infinity. */
  if (biased > 0) kept += (uint64_t)(biased - 1) << fraction_bits;
  return (uint16_t)(sign | (uint16_t)kept);
}

static inline DM_HOST_DEVICE uint16_t dm_f64_to_f16(double value) {
  return dm_half_of_f64(value, 11, 5);
}

static inline DM_HOST_DEVICE uint16_t dm_f64_to_bf16(double value) {
  return dm_half_of_f64(value, 8, 8);
}

#endif
