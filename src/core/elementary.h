/* elementary: numbers with the same bits on CPU and GPU, unlike those of libraries: logarithm,
 * exponential, and the two 16-bit floating-point formats. Compile as element.h requires. */
#ifndef DM_CORE_ELEMENTARY_H
#define DM_CORE_ELEMENTARY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define DM_HOST_DEVICE __host__ __device__
#else
#define DM_HOST_DEVICE
#endif

static inline DM_HOST_DEVICE double dm_double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Natural logarithm of a normal number > 0: x = 2^e f with f in [0.7, 1.42), and
 * log f = 2 artanh((f-1)/(f+1)) as a series. */
static inline DM_HOST_DEVICE double dm_ln(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int exponent = (int)(bits >> 52) - 1023;
  double f = dm_double_of_bits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (f >= 1.4142135623730951) {
    f = f * 0.5;
    exponent = exponent + 1;
  }
  double z = (f - 1.0) / (f + 1.0), q = z * z, sum = 0.0;
  for (int odd = 23; odd >= 1; odd -= 2) sum = fma(sum, q, 1.0 / (double)odd);
  return fma((double)exponent, 0.6931471805599453, 2.0 * z * sum);
}

/* e^x, x in [-700, 700]: x = n ln 2 + r, and a Taylor polynomial of r. */
static inline DM_HOST_DEVICE double dm_exponential(double x) {
  double clamped = x < -700.0 ? -700.0 : x > 700.0 ? 700.0 : x;
  double scaled = clamped * 1.4426950408889634;
  int64_t n = (int64_t)(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
  double r = fma((double)-n, 0.6931471805599453, clamped);
  r = fma((double)-n, 2.3190468138462996e-17, r);
  double sum = 1.0;
  for (int i = 14; i >= 1; i--) sum = fma(sum * (1.0 / (double)i), r, 1.0);
  return sum * dm_double_of_bits((uint64_t)(n + 1023) << 52);
}

/* ---- f16 and bf16, bit by bit; rounding is to nearest, ties to even ---- */

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
