/* Sums of products that are taken again, compared with one number after the other in long double.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/term_sums.h"
#include "checks.h"
#include "core/element.h"

enum { BLOCK_TERMS = 512, SAMPLE_TERMS = 64, MEMORY_OF_TERMS = 4 };

typedef struct plain_sum {
  long double exact;
  double chain, block, blocks, most, squares, sizes, sampled, familiar;
  double last[MEMORY_OF_TERMS];
} plain_sum;

static double to_sum(long double x, bool narrow) {
  const volatile double wide = (double)x;
  const volatile float one = (float)wide;
  return narrow ? (double)one : wide;
}

static void plain_add(plain_sum *s, const dm_term_sums *as, int64_t l, long double a,
                      long double b) {
  const long double term = a * b;
  if (l % BLOCK_TERMS == 0) {
    s->blocks = to_sum((long double)s->blocks + s->block, as->narrow);
    s->block = 0.0;
    if (!as->one_chain) s->squares += s->blocks * s->blocks;
    if (!as->one_chain) s->most = 0.0;
  }
  s->exact += term;
  s->chain = to_sum(s->chain + term, as->narrow);
  s->block = to_sum(s->block + term, as->narrow);
  s->most = fmax(s->most, fabs(as->one_chain ? s->chain : s->block));
  if (term != 0.0L) s->squares += s->most * s->most;
  s->sizes += fabs((double)term);
  if (l % BLOCK_TERMS >= SAMPLE_TERMS || term == 0.0L) return;
  bool known = false;
  for (int i = 0; i < MEMORY_OF_TERMS; i++) known |= s->last[i] == (double)term;
  s->sampled++;
  s->familiar += known;
  if (known) return;
  memmove(s->last + 1, s->last, sizeof s->last - sizeof s->last[0]);
  s->last[0] = (double)term;
}

/* Numbers of f32, so that products are exact in f64; WHOLE: few different ones, and zeros. */
static double short_number(int stream, int64_t i, bool whole) {
  const volatile float x = (float)dm_normal(3, stream, i, 0);
  return whole ? rint(2.0 * (double)x) : (double)x;
}

static void compare_vector(const dm_term_sums *s, int vector, int64_t at, double expected) {
  const double got = dm_term_sums_of(s, vector)[at];
  if (got != expected)
    fail_msg("vector %d, sum %lld: %.17g, expected %.17g", vector, (long long)at, got, expected);
}

static void compare_terms(int64_t k, int64_t n, bool narrow, bool one_chain, bool whole,
                          bool negative) {
  dm_term_sums sums = {.narrow = narrow, .one_chain = one_chain};
  double *a = calloc((size_t)(2 * k), sizeof *a), *b = calloc((size_t)(k * n * 2), sizeof *b);
  const int64_t at = 3, cut = k / 3;
  assert_null(dm_term_sums_open(&sums, n + at));
  for (int64_t l = 0; l < k; l++) a[2 * l] = short_number(0, l, whole);
  for (int64_t i = 0; i < k * n; i++) b[2 * i] = short_number(1, i, whole);
  for (int part = 0; part < 2; part++) { /* in two calls */
    const int64_t first = part == 0 ? 0 : cut;
    dm_term_sums_add(&sums, &(dm_term_operands){.first = first,
                                                .rows = (part == 0 ? cut : k) - first,
                                                .at = at,
                                                .count = n,
                                                .a = a + 2 * first,
                                                .b = b + 2 * first * n,
                                                .a_step = 2,
                                                .b_row = 2 * n,
                                                .b_step = 2,
                                                .negative = negative});
  }
  dm_term_sums_finish(&sums);
  for (int64_t j = 0; j < n; j++) {
    plain_sum s = {0};
    for (int64_t l = 0; l < k; l++)
      plain_add(&s, &sums, l, negative ? -a[2 * l] : a[2 * l], b[2 * (l * n + j)]);
    compare_vector(&sums, DM_TERMS_HIGH, at + j, (double)s.exact);
    compare_vector(&sums, DM_TERMS_CHAIN, at + j, s.chain);
    compare_vector(&sums, DM_TERMS_BLOCKS, at + j, s.blocks + s.block);
    compare_vector(&sums, DM_TERMS_SQUARES, at + j, s.squares);
    compare_vector(&sums, DM_TERMS_SIZES, at + j, s.sizes);
    compare_vector(&sums, DM_TERMS_SAMPLED, at + j, s.sampled);
    compare_vector(&sums, DM_TERMS_FAMILIAR, at + j, s.familiar);
  }
  for (int vector = 0; vector < DM_TERMS_VECTORS; vector++)
    for (int64_t j = 0; j < at; j++) compare_vector(&sums, vector, j, 0.0); /* not one of these */
  dm_term_sums_close(&sums);
  free(a);
  free(b);
}

TEST(as_one_number_after_the_other) {
  const int64_t lengths[] = {1, 5, 64, 65, 511, 513, 2000}, widths[] = {1, 4, 7};
  for (size_t x = 0; x < sizeof lengths / sizeof lengths[0]; x++)
    for (size_t y = 0; y < sizeof widths / sizeof widths[0]; y++)
      for (int bits = 0; bits < 16; bits++)
        compare_terms(lengths[x], widths[y], bits & 1, bits & 2, bits & 4, bits & 8);
}

/* The parts of a product that f64 has no room for are not lost: of (1 + 2^-40)^2 and of 2^20 + 1.
 */
TEST(nothing_is_lost) {
  const double x = 1.0 + 0x1p-40, a[3] = {x, 0x1p20, -0x1p20}, b[3] = {x, 1.0, 1.0};
  dm_term_sums sums = {0};
  assert_null(dm_term_sums_open(&sums, 1));
  dm_term_sums_add(
      &sums, &(dm_term_operands){
                 .rows = 3, .count = 1, .a = a, .b = b, .a_step = 1, .b_row = 1, .b_step = 1});
  dm_term_sums_finish(&sums);
  compare_vector(&sums, DM_TERMS_HIGH, 0, 1.0 + 0x1p-39);
  compare_vector(&sums, DM_TERMS_LOW, 0, 0x1p-80);
  dm_term_sums_close(&sums);
}

RUN_ALL(test_check_term_sums)
