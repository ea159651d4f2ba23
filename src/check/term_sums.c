#include "check/term_sums.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/wide_vectors.h"

enum {
  TERMS_LANES = DM_TERMS_PADDING,
  TERMS_RUN = 512,   /* terms of a block: kernels add no more in one chain */
  TERMS_SAMPLE = 64, /* of which so many are looked at */
  TERMS_TOGETHER = 128,
  TERMS_LAST = DM_TERMS_VECTORS - DM_TERMS_RECENT
};

/* Functions that take and return vectors are always inlined: no call has to agree on how. */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef double terms_four __attribute__((vector_size(TERMS_LANES * sizeof(double))));
typedef float terms_four_narrow __attribute__((vector_size(TERMS_LANES * sizeof(float))));
typedef int64_t terms_masks __attribute__((vector_size(TERMS_LANES * sizeof(int64_t))));

dm_status dm_term_sums_open(dm_term_sums *sums, int64_t count) {
  sums->count = count;
  sums->room = count + DM_TERMS_PADDING;
  return dm_buffer_table(DM_TERMS_VECTORS * sums->room, &sums->vectors);
}

void dm_term_sums_close(dm_term_sums *sums) {
  free(sums->vectors);
  sums->vectors = NULL;
}

/* ---- vectors ---- */

DM_INLINE terms_four terms_choose(terms_masks yes, terms_four a, terms_four b) {
  return (terms_four)((yes & (terms_masks)a) | (~yes & (terms_masks)b));
}

DM_INLINE terms_four terms_size(terms_four x) {
  return (terms_four)((terms_masks)x & INT64_MAX);
}

DM_INLINE terms_four terms_larger(terms_four a, terms_four b) {
  return terms_choose(a > b, a, b);
}

/* A + B and, in *REST, what rounding took from it. */
DM_INLINE terms_four terms_add(terms_four a, terms_four b, terms_four *rest) {
  const terms_four sum = a + b, of_b = sum - a;
  *rest = (a - (sum - of_b)) + (b - of_b);
  return sum;
}

/* The first half of the digits of X. */
DM_INLINE terms_four terms_half(terms_four x) {
  const terms_four shifted = x * 0x1.0000002p27;
  return shifted - (shifted - x);
}

/* A B and, in *REST, what rounding took from it. */
DM_INLINE terms_four terms_multiply(terms_four a, terms_four b, terms_four *rest) {
  const terms_four product = a * b, a1 = terms_half(a), b1 = terms_half(b), a2 = a - a1,
                   b2 = b - b1;
  *rest = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2;
  return product;
}

/* SUM + TERM + REST, rounded once. */
DM_INLINE terms_four terms_rounded(terms_four sum, terms_four term, terms_four rest, bool narrow) {
  terms_four lost;
  if (narrow) {
    const terms_four_narrow to = __builtin_convertvector(sum + term, terms_four_narrow);
    return __builtin_convertvector(to, terms_four);
  }
  const terms_four wide = terms_add(sum, term, &lost);
  return wide + (lost + rest);
}

/* ---- the loops ---- */

DM_INLINE terms_four terms_get(const double *sums) {
  terms_four x;
  memcpy(&x, sums, sizeof x);
  return x;
}

DM_INLINE void terms_put(double *sums, terms_four x) {
  memcpy(sums, &x, sizeof x);
}

/* Looks whether TERM is one of the last ones; vectors are ROOM apart. */
DM_INLINE void terms_look(double *sums, int64_t room, terms_four term) {
  const terms_four one = {1.0, 1.0, 1.0, 1.0}, none = {0};
  double *const recent = sums + DM_TERMS_RECENT * room,
                *const sampled = sums + DM_TERMS_SAMPLED * room,
                *const familiar = sums + DM_TERMS_FAMILIAR * room;
  terms_four last[TERMS_LAST];
  terms_masks known = {0};
  for (int i = 0; i < TERMS_LAST; i++) {
    last[i] = terms_get(recent + i * room);
    known |= last[i] == term;
  }
  const terms_masks some = term != 0.0, fresh = some & ~known;
  for (int i = 0; i < TERMS_LAST; i++)
    terms_put(recent + i * room, terms_choose(fresh, i > 0 ? last[i - 1] : term, last[i]));
  terms_put(sampled, terms_get(sampled) + terms_choose(some, one, none));
  terms_put(familiar, terms_get(familiar) + terms_choose(some & known, one, none));
}

/* One term of each of TERMS_LANES sums. */
DM_INLINE void terms_add_lanes(double *sums, int64_t room, terms_four a, terms_four b, bool looks,
                               bool narrow, bool one_chain) {
  double *const
      high = sums + DM_TERMS_HIGH * room,
      *const low = sums + DM_TERMS_LOW * room, *const chain = sums + DM_TERMS_CHAIN * room,
      *const block = sums + DM_TERMS_BLOCK * room, *const most = sums + DM_TERMS_MOST * room,
      *const squares = sums + DM_TERMS_SQUARES * room, *const sizes = sums + DM_TERMS_SIZES * room;
  terms_four rest = {0}, lost;
  /* Products of two numbers of f32 are exact. */
  const terms_four term = narrow ? a * b : terms_multiply(a, b, &rest);
  terms_put(high, terms_add(terms_get(high), term, &lost));
  terms_put(low, terms_get(low) + (lost + rest));
  const terms_four of_chain = terms_rounded(terms_get(chain), term, rest, narrow),
                   of_block = terms_rounded(terms_get(block), term, rest, narrow),
                   largest =
                       terms_larger(terms_size(one_chain ? of_chain : of_block), terms_get(most));
  terms_put(chain, of_chain);
  terms_put(block, of_block);
  terms_put(most, largest);
  terms_put(squares,
            terms_get(squares) + terms_choose(term != 0.0, largest * largest, (terms_four){0}));
  terms_put(sizes, terms_get(sizes) + terms_size(term));
  if (looks) terms_look(sums, room, term);
}

/* Up to TERMS_LANES elements of B; the others are 0. */
DM_INLINE terms_four terms_load(const double *b, int64_t step, int64_t count) {
  terms_four x = {0};
  if (step == 1 && count >= TERMS_LANES)
    memcpy(&x, b, sizeof x);
  else
    for (int64_t i = 0; i < dm_min(count, TERMS_LANES); i++) x[i] = b[i * step];
  return x;
}

/* Terms of one block, all looked at or none; some sums at a time, which stay in the cache. */
DM_INLINE void terms_add_all(const dm_term_sums *sums, const dm_term_operands *t, bool looks,
                             bool narrow, bool one_chain) {
  for (int64_t begin = 0; begin < t->count; begin += TERMS_TOGETHER)
    for (int64_t l = 0; l < t->rows; l++) {
      const int64_t end = dm_min(t->count, begin + TERMS_TOGETHER);
      const double one = t->a[l * t->a_step], x = t->negative ? -one : one;
      const double *const row = t->b + l * t->b_row;
      for (int64_t j = begin; j < end; j += TERMS_LANES)
        terms_add_lanes(sums->vectors + t->at + j, sums->room, (terms_four){x, x, x, x},
                        terms_load(row + j * t->b_step, t->b_step, end - j), looks, narrow,
                        one_chain);
    }
}

DM_INLINE void terms_add_block_loop(const dm_term_sums *s, const dm_term_operands *t, bool looks) {
  if (looks)
    terms_add_all(s, t, true, s->narrow, s->one_chain);
  else if (s->narrow)
    s->one_chain ? terms_add_all(s, t, false, true, true) : terms_add_all(s, t, false, true, false);
  else
    s->one_chain ? terms_add_all(s, t, false, false, true)
                 : terms_add_all(s, t, false, false, false);
}
DM_BOTH_WIDTHS(terms_add_block, (const dm_term_sums *s, const dm_term_operands *t, bool looks),
               (s, t, looks))

static void terms_end_block(dm_term_sums *sums, int64_t from, int64_t count) {
  double *const block = dm_term_sums_of(sums, DM_TERMS_BLOCK),
                *const blocks = dm_term_sums_of(sums, DM_TERMS_BLOCKS),
                *const most = dm_term_sums_of(sums, DM_TERMS_MOST),
                *const squares = dm_term_sums_of(sums, DM_TERMS_SQUARES);
  for (int64_t j = from; j < from + count; j++) {
    /* Through memory: GCC 12 leaves out roundings that stand beside each other
     * (findings/gcc_two_roundings.sh). */
    const volatile float narrow = (float)(blocks[j] + block[j]);
    blocks[j] = sums->narrow ? (double)narrow : blocks[j] + block[j];
    block[j] = 0.0;
    if (sums->one_chain) continue;
    squares[j] += blocks[j] * blocks[j];
    most[j] = 0.0;
  }
}

void dm_term_sums_add(dm_term_sums *sums, const dm_term_operands *terms) {
  dm_term_operands some = *terms;
  for (int64_t l = 0; l < terms->rows; l += some.rows) {
    const int64_t of_block = (terms->first + l) % TERMS_RUN;
    const bool looks = of_block < TERMS_SAMPLE;
    some.rows = dm_min(terms->rows - l, (looks ? TERMS_SAMPLE : TERMS_RUN) - of_block);
    some.a = terms->a + l * terms->a_step;
    some.b = terms->b + l * terms->b_row;
    if (of_block == 0) terms_end_block(sums, terms->at, terms->count);
    terms_add_block(sums, &some, looks);
  }
}

void dm_term_sums_finish(dm_term_sums *sums) {
  double *const high = dm_term_sums_of(sums, DM_TERMS_HIGH), *const low = dm_term_sums_of(
                                                                 sums, DM_TERMS_LOW);
  for (int64_t j = 0; j < sums->count; j++) {
    const double sum = high[j] + low[j];
    dm_term_sums_of(sums, DM_TERMS_BLOCKS)[j] += dm_term_sums_of(sums, DM_TERMS_BLOCK)[j];
    low[j] -= sum - high[j];
    high[j] = sum;
  }
}
