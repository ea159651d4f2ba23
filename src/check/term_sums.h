/* term_sums: sums of products of two numbers as verification takes them again: exactly, and as
 * BLAS libraries round them, in one chain and in blocks. Of each sum the vectors below have an
 * element; those before DM_TERMS_JOINED, finished, may be added up over parts of the terms.
 *
 * Exact sums are pairs of doubles, by the products and sums without error of Dekker (1971) and
 * Knuth, as in Ogita, Rump, Oishi, "Accurate sum and dot product" (2005). */
#ifndef DM_CHECK_TERM_SUMS_H
#define DM_CHECK_TERM_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"

enum {
  DM_TERMS_HIGH, /* the sum, and ... */
  DM_TERMS_LOW,  /* ... what is missing of it */
  DM_TERMS_CHAIN,
  DM_TERMS_BLOCKS,
  DM_TERMS_SQUARES, /* for each term that of the largest partial sum of its block, or chain, so far;
                     * and those of the sums of blocks */
  DM_TERMS_SIZES,   /* sums of |terms| */
  DM_TERMS_SAMPLED, /* how many terms other than 0 were looked at, ... */
  DM_TERMS_FAMILIAR, /* ... and how many of them were like one of the last ones */
  DM_TERMS_JOINED,
  DM_TERMS_BLOCK = DM_TERMS_JOINED, /* the sum of the present one */
  DM_TERMS_MOST,                    /* its largest partial sum */
  DM_TERMS_RECENT,                  /* terms that were looked at */
  DM_TERMS_VECTORS = DM_TERMS_RECENT + 4
};

typedef struct dm_term_sums {
  bool narrow;         /* sums are rounded to f32, else f64 */
  bool one_chain;      /* all terms may be in one chain: blocks tell nothing */
  int64_t count, room; /* ROOM: more than COUNT */
  double *vectors;     /* DM_TERMS_VECTORS of ROOM each, owned */
} dm_term_sums;

/* All sums are 0. Fails if there is not enough memory. */
dm_status dm_term_sums_open(dm_term_sums *sums, int64_t count);

void dm_term_sums_close(dm_term_sums *sums);

/* Sums that are added to together are followed by so many that nothing else is in. */
enum { DM_TERMS_PADDING = 4 };

/* Of ROWS terms each, from number FIRST on: A[l a_step] B[l b_row + j b_step] is added to sum
 * AT + j, for COUNT of them. Terms come in order. */
typedef struct dm_term_operands {
  int64_t first, rows, at, count;
  const double *a, *b;
  int64_t a_step, b_row, b_step;
  bool negative; /* times -1 */
} dm_term_operands;
void dm_term_sums_add(dm_term_sums *sums, const dm_term_operands *terms);

/* After the last term. */
void dm_term_sums_finish(dm_term_sums *sums);

static inline double *dm_term_sums_of(const dm_term_sums *sums, int vector) {
  return sums->vectors + vector * sums->room;
}

#endif
