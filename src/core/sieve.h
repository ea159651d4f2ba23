/* sieve: finds, in a finished tile of C, the few elements that a reduction may keep: those whose
 * score is above the limit of their row or of their column. */
#ifndef DM_CORE_SIEVE_H
#define DM_CORE_SIEVE_H

#include <stdbool.h>
#include <stdint.h>

/* An element that may be kept; its place counts from the tile's first element. */
typedef struct dm_candidate {
  uint32_t row, col;
  double value;
} dm_candidate;

/* The score of a value. */
typedef struct dm_score {
  bool magnitude; /* of its magnitude, */
  bool negative;  /* negated */
} dm_score;

/* The diagonal of C in the tile, if that is left out: column = row + AHEAD. */
typedef struct dm_left_out {
  bool self;
  int64_t ahead;
} dm_left_out;

/* Elements pass if their score is not at most the limit of their row, or of their column. A limit
 * that is NaN is at most nothing: all of its line pass. NaN itself is counted, and does not pass.
 */
typedef struct dm_sieve {
  dm_score score;
  dm_left_out left_out;
  const float *rows, *cols; /* in host memory; NULL: none. Both NULL: LIMIT for all elements */
  float limit;
} dm_sieve;

#endif
