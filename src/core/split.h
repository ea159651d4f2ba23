/* split: f32 as the sum of two f16, for products of f32 made of three products of f16 on tensor
 * cores (docs/emulated_f16.md; Ootomo and Yokota, arXiv 2203.03341). Complex products are real
 * ones of twice the depth: A and C are treated as real and imaginary parts, and x + iy of B becomes
 * x, y in one row and -y, x in the next.
 *
 * The numbers of a line, a row of a panel of A or a column of one of B, are scaled by the power of
 * two 2^s that brings the largest just below the largest f16. A scaled number x becomes high =
 * f16(x) and low = f16((x - high) 2^11), which leaves less than 2^-23 |x| for |x| >= 2^-13, and
 * 2^-36 below. A line with NaN or Inf, or with a nonzero scaled number below 2^DM_SPLIT_LEAST, has
 * no exponent: it is multiplied natively.
 *
 * The product of two numbers is high high + 2^-11 (high low + low high), without low low. All steps
 * are exact but for the two roundings, so CPU and GPU split alike. The rules of element.h for
 * compiling apply here too. */
#ifndef DM_CORE_SPLIT_H
#define DM_CORE_SPLIT_H

#include <stdbool.h>

#include "core/elementary.h"

enum {
  DM_SPLIT_LOW = 11,    /* low parts are stored multiplied by 2^11 */
  DM_SPLIT_LEAST = -18, /* nonzero scaled numbers are at least 2^-18 */
  DM_SPLIT_NATIVE =
      1 << 20,   /* stands for the exponent of a line that is multiplied natively, ... */
  DM_SPLIT_MANY, /* ... or, on GPUs, of one of many such lines */
  /* On a GPU: */
  DM_SPLIT_DEPTH = 1 << 14, /* largest real k of a product: a block holds a row in registers */
  DM_SPLIT_ROW = 64,        /* rows of parts are padded to a multiple of this many elements */
  DM_SPLIT_COUNTS = 512,    /* bytes of the counters, with padding */
};

/* Range of the numbers of a line: bits of magnitudes, which compare like the numbers. */
typedef struct dm_split_line {
  uint32_t largest; /* 0: all numbers are 0 */
  uint32_t least;   /* smallest nonzero; UINT32_MAX: none */
} dm_split_line;

static inline DM_HOST_DEVICE dm_split_line dm_split_nothing(void) {
  const dm_split_line line = {0, UINT32_MAX};
  return line;
}

/* Adds NUMBER to LINE. */
static inline DM_HOST_DEVICE dm_split_line dm_split_include(dm_split_line line, float number) {
  const uint32_t size = dm_bits_of_float(number) & 0x7fffffffu;
  if (size > line.largest) line.largest = size;
  if (size > 0 && size < line.least) line.least = size;
  return line;
}

/* The bits of 2^E, E from -149 to 127. */
static inline DM_HOST_DEVICE uint32_t dm_split_bits(int32_t e) {
  return e < -126 ? 1u << (e + 149) : (uint32_t)(127 + e) << 23;
}

/* The s of a line, from -113 to 126, or DM_SPLIT_NATIVE. */
static inline DM_HOST_DEVICE int32_t dm_split_exponent(dm_split_line line) {
  const uint32_t infinity = 0x7f800000u, tiny = (uint32_t)(127 - 111) << 23; /* 2^-111 */
  const uint32_t most = 0x7fe000u; /* fraction of 65504 = 2^15 1.999, the largest f16 */
  if (line.largest == 0) return 0;
  if (line.largest >= infinity || line.largest < tiny) return DM_SPLIT_NATIVE;
  const bool above = (line.largest & 0x7fffffu) > most;
  const int32_t s = 15 - ((int32_t)(line.largest >> 23) - 127) - (above ? 1 : 0);
  return line.least < dm_split_bits(DM_SPLIT_LEAST - s) ? DM_SPLIT_NATIVE : s;
}

/* 2^e, e from -126 to 127. */
static inline DM_HOST_DEVICE float dm_split_power(int32_t e) {
  return dm_float_of_bits((uint32_t)(127 + e) << 23);
}

/* The factor for numbers of a line with exponent S; 0: multiplied natively. */
static inline DM_HOST_DEVICE float dm_split_scale(int32_t s) {
  return s >= DM_SPLIT_NATIVE ? 0.0f : dm_split_power(s);
}

/* Removes the scales of a row and a column with exponents S and T from SUM; rounds once. */
static inline DM_HOST_DEVICE float dm_split_unscaled(float sum, int32_t s, int32_t t) {
  const int32_t by = s >= DM_SPLIT_NATIVE || t >= DM_SPLIT_NATIVE ? 0 : -(s + t), half = by / 2;
  return sum * dm_split_power(half) * dm_split_power(by - half);
}

/* f: the error of an element of C is at most f u |A||B| in real products of depth K, u = 2^-24; for
 * lines multiplied natively, K u |A||B|. */
static inline double dm_split_factor(int64_t k) {
  return 364.0 + (double)k / 32.0;
}

#endif
