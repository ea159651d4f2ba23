/* The 16-bit formats: every bit pattern compared with the definition, and every tie of rounding. */
#include "checks.h"
#include "core/elementary.h"

typedef struct format {
  int fraction, exponent; /* bits */
  float (*widen)(uint16_t);
  uint16_t (*narrow)(double);
} format;

static float f16_to_f32(uint16_t h) {
  return dm_f16_to_f32(h);
}

static float bf16_to_f32(uint16_t h) {
  return dm_bf16_to_f32(h);
}

static uint16_t to_f16(double x) {
  return dm_f64_to_f16(x);
}

static uint16_t to_bf16(double x) {
  return dm_f64_to_bf16(x);
}

static const format formats[] = {{10, 5, f16_to_f32, to_f16}, {7, 8, bf16_to_f32, to_bf16}};

/* The value of BITS, by ldexp. */
static double meaning(const format *f, unsigned bits) {
  const int bias = (1 << (f->exponent - 1)) - 1, top = (1 << f->exponent) - 1;
  int exponent = (int)(bits >> f->fraction) & top;
  double fraction = bits & ((1u << f->fraction) - 1), sign = bits & 0x8000u ? -1.0 : 1.0;
  if (exponent == top) return fraction != 0.0 ? (double)NAN : sign * INFINITY;
  if (exponent == 0) return sign * ldexp(fraction, 1 - bias - f->fraction);
  return sign * ldexp(fraction + (1 << f->fraction), exponent - bias - f->fraction);
}

static unsigned infinity_of(const format *f) {
  return ((1u << f->exponent) - 1) << f->fraction;
}

TEST(widening_is_exact) {
  for (int i = 0; i < 2; i++) {
    for (unsigned bits = 0; bits < 65536; bits++) {
      double want = meaning(&formats[i], bits), got = (double)formats[i].widen((uint16_t)bits);
      if (isnan(want) ? !isnan(got) : got != want || signbit(got) != signbit(want))
        fail_msg("format %d, %04x is %a, wanted %a", i, bits, got, want);
    }
  }
}

TEST(there_and_back) {
  for (int i = 0; i < 2; i++) {
    for (unsigned bits = 0; bits < 65536; bits++) {
      double value = (double)formats[i].widen((uint16_t)bits);
      unsigned back = formats[i].narrow(value);
      if (isnan(value))
        assert_true(isnan(formats[i].widen((uint16_t)back)));
      else if (back != bits)
        fail_msg("format %d: %04x comes back as %04x", i, bits, back);
    }
  }
}

static void expect(const format *f, double value, unsigned want) {
  unsigned got = f->narrow(value), negative = f->narrow(-value);
  if (got != want || negative != (want | 0x8000u))
    fail_msg("%a becomes %04x and %04x, wanted %04x", value, got, negative, want);
}

/* The midpoint of any two neighbours, and one f64 to either side; also subnormal ones. */
TEST(ties_go_to_even) {
  for (int i = 0; i < 2; i++) {
    const format *f = &formats[i];
    for (unsigned bits = 0; bits + 1 < infinity_of(f); bits++) {
      double low = meaning(f, bits), high = meaning(f, bits + 1), tie = low + (high - low) / 2;
      expect(f, tie, bits & 1 ? bits + 1 : bits);
      expect(f, nextafter(tie, 0.0), bits);
      expect(f, nextafter(tie, INFINITY), bits + 1);
    }
  }
}

TEST(overflow_and_underflow) {
  for (int i = 0; i < 2; i++) {
    const format *f = &formats[i];
    const unsigned infinity = infinity_of(f);
    double largest = meaning(f, infinity - 1), step = largest - meaning(f, infinity - 2);
    expect(f, largest + step / 2,
           infinity); /* the midpoint above the largest number rounds to even */
    expect(f, nextafter(largest + step / 2, 0.0), infinity - 1);
    expect(f, 1e300, infinity);
    expect(f, INFINITY, infinity);
    expect(f, meaning(f, 1) / 2, 0);
    expect(f, nextafter(meaning(f, 1) / 2, 1.0), 1);
    expect(f, 0x1p-1074, 0);
    expect(f, 0x1p-1022, 0);
    expect(f, 0.0, 0);
  }
}

/* Rounding through f32 would round this up: just above a midpoint of f16, a midpoint of f32 below
 * it. */
TEST(rounds_once) {
  expect(&formats[0], 1.0 + 0x1p-11 + 0x1p-40, 0x3c01);
  expect(&formats[0], 1.0 + 0x1p-11 - 0x1p-40, 0x3c00);
  expect(&formats[1], 1.0 + 0x1p-8 + 0x1p-50, 0x3f81);
}

RUN_ALL(test_core_half)
