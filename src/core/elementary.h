/* elementary: logarithm and exponential with the same bits on CPU and GPU, unlike those of
 * libraries. Compile as element.h requires. */
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

#endif
