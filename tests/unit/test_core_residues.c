/* Conversion to residues and back, for every number of moduli, compared with long division and
 * bitwise rounding. */
#include "checks.h"
#include "core/element.h"
#include "core/residues.h"

enum { BITS = 32 * DM_LIMBS };

/* An integer: its sign, and its magnitude with the lowest limb first. */
typedef struct big {
  bool negative;
  uint32_t limb[DM_LIMBS];
} big;

static bool bit_of(const big *number, int bit) {
  return bit >= 0 && number->limb[bit / 32] >> bit % 32 & 1;
}

static int bits_of(const big *number) {
  int bits = BITS;
  while (bits > 0 && !bit_of(number, bits - 1)) bits--;
  return bits;
}

static int compare(const big *a, const uint32_t b[DM_LIMBS]) {
  for (int l = DM_LIMBS - 1; l >= 0; l--)
    if (a->limb[l] != b[l]) return a->limb[l] > b[l] ? 1 : -1;
  return 0;
}

static void add_small(big *number, int64_t what) {
  for (int l = 0; l < DM_LIMBS; l++, what >>= 32) {
    what += number->limb[l];
    number->limb[l] = (uint32_t)what;
  }
}

/* In [-p/2, p/2). */
static int residue_of(const big *number, int p) {
  int64_t rest = 0;
  for (int l = DM_LIMBS - 1; l >= 0; l--) rest = (rest << 32 | number->limb[l]) % p;
  if (number->negative) rest = (p - rest) % p;
  return (int)(2 * rest >= p ? rest - p : rest);
}

/* Rounds to nearest even. */
static double rounded(const big *number) {
  const int bits = bits_of(number), drop = bits > 53 ? bits - 53 : 0;
  uint64_t kept = 0;
  bool sticky = false;
  for (int b = bits - 1; b >= drop; b--) kept = kept << 1 | bit_of(number, b);
  for (int b = 0; b < drop - 1; b++) sticky |= bit_of(number, b);
  if (bit_of(number, drop - 1) && (sticky || kept & 1)) kept++;
  return ldexp(number->negative ? -(double)kept : (double)kept, drop);
}

static void compare_value(const dm_moduli *m, const big *number, int exponent) {
  int8_t residues[3 * DM_MODULI_MOST];
  for (int x = 0; x < m->count; x++)
    residues[3 * x] = (int8_t)residue_of(number, dm_moduli_numbers[x]);
  const double got = dm_residues_value(m, residues, 3, exponent);
  const double want = ldexp(rounded(number), exponent);
  if (got != want) fail_msg("%d moduli, 2^%d: %a, wanted %a", m->count, exponent, got, want);
}

/* Within the range of M moduli. */
static bool within(const dm_moduli *m, const big *number) {
  const int order = compare(number, m->half);
  return order < 0 || (order == 0 && !number->negative);
}

TEST(products_of_moduli) {
  static const double bits[] = {55.7, 63.6, 110.2, 117.8, 125.4, 140.5, 155.4};
  static const int counts[] = {7, 8, 14, 15, 16, 18, 20};
  for (int i = 0; i < 7; i++) {
    dm_moduli m;
    dm_moduli_make(counts[i], &m);
    assert_true(fabs(dm_moduli_bits(&m) - bits[i]) < 0.06);
  }
}

TEST(random_values) {
  for (int count = DM_MODULI_LEAST; count <= DM_MODULI_MOST; count++) {
    dm_moduli m;
    dm_moduli_make(count, &m);
    for (int turn = 0, used = 0; used < 4000; turn++) {
      big number = {.negative = turn % 2};
      const int bits = 1 + (int)(dm_random_bits(1, count, turn, 0) % (uint64_t)(32 * m.limbs));
      for (int l = 0; l < DM_LIMBS; l++)
        number.limb[l] = (uint32_t)dm_random_bits(2, count, turn, l);
      for (int b = bits; b < BITS; b++) number.limb[b / 32] &= ~(1u << b % 32);
      if (!within(&m, &number)) continue;
      compare_value(&m, &number, (int)(dm_random_bits(3, count, turn, 0) % 601) - 300);
      used++;
    }
  }
}

TEST(ends_of_the_range) {
  for (int count = DM_MODULI_LEAST; count <= DM_MODULI_MOST; count++) {
    dm_moduli m;
    dm_moduli_make(count, &m);
    for (int less = 0; less < 300; less++)
      for (int negative = 0; negative < 2; negative++) {
        big number = {.negative = negative}, small = {.negative = negative};
        memcpy(number.limb, m.half, sizeof number.limb);
        add_small(&number, -less);
        add_small(&small, less);
        if (within(&m, &number)) compare_value(&m, &number, 0);
        compare_value(&m, &small, 0);
      }
  }
}

/* 53 bits, then exactly half of the last, and slightly more or less. */
TEST(ties) {
  for (int count = 8; count <= DM_MODULI_MOST; count++) {
    dm_moduli m;
    dm_moduli_make(count, &m);
    const int most = (int)dm_moduli_bits(&m) - 2;
    for (int turn = 0; turn < 400; turn++) {
      big number = {.negative = turn % 2};
      const int top = 55 + (int)(dm_random_bits(4, count, turn, 0) % (uint64_t)(most - 55 + 1));
      const uint64_t kept = dm_random_bits(5, count, turn, 0) >> 12 | 1ull << 52;
      for (int b = 0; b < 53; b++)
        if (kept >> b & 1) number.limb[(top - 53 + b) / 32] |= 1u << (top - 53 + b) % 32;
      number.limb[(top - 54) / 32] |= 1u << (top - 54) % 32;
      for (int more = -1; more <= 1; more++) {
        big near = number;
        add_small(&near, more);
        compare_value(&m, &near, -40);
      }
    }
  }
}

TEST(huge_and_small_results) {
  dm_moduli m;
  dm_moduli_make(15, &m);
  big number = {.limb = {0x9abcdef1, 0x12345678, 0x87654321, 0x000edcba}};
  for (int negative = 0; negative < 2; negative++) {
    number.negative = negative;
    for (int exponent = -2400; exponent <= 2100; exponent++)
      compare_value(&m, &number, exponent); /* subnormal, 0, infinite */
  }
  compare_value(&m, &(big){0}, 2000);
  compare_value(&m, &(big){0}, -2000);
}

/* The part that dm_long_integer_of truncates, in integers. */
static void compare_existing(const dm_moduli *m, double a, int exponent) {
  int of_a;
  const double fraction = frexp(fabs(a), &of_a);
  const int shift = of_a + exponent - 53;
  uint64_t bits = (uint64_t)ldexp(fraction, 53);
  big number = {.negative = a < 0};
  if (shift <= 0) bits = shift > -64 ? bits >> -shift : 0;
  for (int b = 0; b < 64; b++)
    if (bits >> b & 1) {
      const int to = b + (shift > 0 ? shift : 0);
      number.limb[to / 32] |= 1u << to % 32;
    }
  const dm_long_integer whole = dm_long_integer_of(a, dm_power_of(exponent));
  for (int x = 0; x < m->count; x++) {
    const int got = dm_long_integer_residue(m, x, whole);
    const int want = residue_of(&number, dm_moduli_numbers[x]);
    if (got != want)
      fail_msg("%a 2^%d modulo %d: %d, wanted %d", a, exponent, dm_moduli_numbers[x], got, want);
  }
}

TEST(residues_of_doubles) {
  dm_moduli m;
  dm_moduli_make(DM_MODULI_MOST, &m);
  for (int turn = 0; turn < 200000; turn++) {
    const double unit = 1.0 + dm_unit(dm_random_bits(6, turn, 0, 0));
    const int of_a = (int)(dm_random_bits(6, turn, 0, 1) % 2098) - 1074; /* a may be subnormal */
    const int of_whole = (int)(dm_random_bits(6, turn, 0, 2) % 82) - 5;  /* |a'| < 2^77 */
    const double a = ldexp(turn % 2 ? -unit : unit, of_a);
    if (a != 0.0 && isfinite(a)) compare_existing(&m, a, of_whole - of_a - 1);
  }
  for (int whole = -70000; whole <= 70000; whole++) compare_existing(&m, whole, 0);
  for (int bit = 0; bit < 77; bit++) {
    compare_existing(&m, 1.0, bit);
    compare_existing(&m, -0x1.fffffffffffffp0, bit);
  }
  compare_existing(&m, 0.0, 0);
  compare_existing(&m, 0x1p-1074, 1074 + 60);
  compare_existing(&m, -0x1.fffffffffffffp1023, -1023 + 60);
  compare_existing(&m, 0x1p-500, -1100);
}

/* Sums of residues and products, of the largest allowed size. */
TEST(residues_of_sums) {
  dm_moduli m;
  dm_moduli_make(DM_MODULI_MOST, &m);
  for (int x = 0; x < DM_MODULI_MOST; x++) {
    const int64_t p = dm_moduli_numbers[x];
    for (int turn = 0; turn < 20000; turn++) {
      const int64_t any = (int64_t)(dm_random_bits(7, x, turn, 0) % ((uint64_t)1 << 46));
      const int64_t value = turn < 2000 ? turn - 1000 : turn % 2 ? any : -any;
      const int got = dm_residue(&m, x, (double)value);
      if ((value - got) % p != 0 || 2 * got < -p || 2 * got >= p)
        fail_msg("%lld modulo %lld: %d", (long long)value, (long long)p, got);
    }
  }
}

/* The bound 2 sum |a'| |b'| < P holds, and the next exponent would almost violate it. */
TEST(exponents) {
  for (int count = DM_MODULI_LEAST; count <= DM_MODULI_MOST; count++) {
    dm_moduli m;
    dm_moduli_make(count, &m);
    for (int turn = 0; turn < 300; turn++) {
      const int numbers = 1 + turn % 97, of_row = turn * 7 - 1070;
      double a[97], largest = 0.0;
      for (int i = 0; i < numbers; i++) {
        a[i] = ldexp(dm_normal(8, turn, i, 0), of_row);
        largest = fmax(largest, fabs(a[i]));
      }
      int64_t squares = 0;
      long double true_squares = 0.0L; /* of a 2^s */
      if (!isfinite(largest)) continue;
      for (int i = 0; i < numbers && largest > 0.0; i++)
        squares += dm_square(a[i], dm_square_power(largest));
      const int s = dm_exponent(&m, largest, squares, numbers);
      for (int i = 0; i < numbers; i++) {
        const long double scaled = ldexpl((long double)a[i], s);
        true_squares += scaled * scaled;
      }
      const long double bound = exp2l((long double)dm_moduli_bits(&m) - 1.0L);
      if (largest == 0.0) continue;
      if (true_squares > bound || true_squares * 4.001L < bound)
        fail_msg("%d moduli, turn %d: %Lg of %Lg", count, turn, true_squares, bound);
    }
  }
  dm_moduli m;
  dm_moduli_make(15, &m);
  assert_int_equal(dm_exponent(&m, 0.0, 0, 1000), 0);
}

RUN_ALL(test_core_residues)
