/* split: f32 as the sum of two f16, for products of f32 that are made of three products of f16 on
 * tensor cores (docs/precision.md; Ootomo and Yokota, arXiv 2203.03341).  Complex products are real
 * ones of twice the depth: A and C are seen as their parts, x + iy of B becomes x, y in one row and
 * -y, x in the next.
 *
 * The numbers of a line, a row of a panel of A or a column of one of B, are scaled by the power of
 * two 2^s that brings the largest just below the largest f16.  A scaled number x becomes
 * high = f16(x) and low = f16((x - high) 2^11), which leaves less than 2^-23 |x| for |x| >= 2^-13,
 * and 2^-36 below.  A line with NaN, Inf, or numbers so unlike that the small ones would lose more
 * than DM_SPLIT_LEAST says has no exponent: it is multiplied natively.
 *
 * The product of two numbers is high high + 2^-11 (high low + low high), without low low.  All of
 * this is exact but for the two roundings, so CPU and GPU split alike.  What element.h says of
 * compiling it holds here too. */
#ifndef DM_CORE_SPLIT_H
#define DM_CORE_SPLIT_H

#include <stdbool.h>

#include "core/half.h"

enum {
  DM_SPLIT_LOW = 11,    /* low parts are held multiplied by 2^11 */
  DM_SPLIT_LEAST = -18, /* scaled numbers other than 0 are not below 2^-18 */
  DM_SPLIT_NATIVE =
      1 << 20,   /* in place of the exponent of a line that is multiplied natively, ... */
  DM_SPLIT_MANY, /* ... and of one that GPUs found to be one of many */
  /* Of a GPU: */
  DM_SPLIT_DEPTH = 1 << 14, /* real k of a product, at most: a block holds a row in registers */
  DM_SPLIT_ROW = 64,        /* elements of rows of parts come in groups of so many */
  DM_SPLIT_COUNTS = 512,    /* bytes of what is counted, and of padding */
};

/* What the numbers of a line are like: bits of sizes, which order like them. */
typedef struct dm_split_line {
  uint32_t largest; /* 0: all are 0 */
  uint32_t least;   /* of those other than 0; UINT32_MAX: there are none */
} dm_split_line;

static inline DM_HOST_DEVICE dm_split_line dm_split_nothing(void) {
  const dm_split_line line = {0, UINT32_MAX};
  return line;
}

/* LINE with NUMBER. */
static inline DM_HOST_DEVICE dm_split_line dm_split_look(dm_split_line line, float number) {
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

/* By what numbers of a line with exponent S are multiplied: 0 where it is multiplied natively. */
static inline DM_HOST_DEVICE float dm_split_scale(int32_t s) {
  return s >= DM_SPLIT_NATIVE ? 0.0f : dm_split_power(s);
}

/* SUM, of a row and a column with exponents S and T, without their scales: rounded once. */
static inline DM_HOST_DEVICE float dm_split_unscaled(float sum, int32_t s, int32_t t) {
  const int32_t by = s >= DM_SPLIT_NATIVE || t >= DM_SPLIT_NATIVE ? 0 : -(s + t), half = by / 2;
  return sum * dm_split_power(half) * dm_split_power(by - half);
}

/* f: C is off by at most f u |A||B|, element by element, in real products of depth K, u = 2^-24.
 * Of lines that are multiplied natively, by K u |A||B|. */
static inline double dm_split_factor(int64_t k) {
  return 364.0 + (double)k / 32.0;
}

#endif
