/* wide_sum: sums of f64 numbers, or of their squares, that are the same in every order.
 *
 * A sum holds three digits of 40 bits, the highest of which is that of the largest number added so
 * far. Of each number the bits of these places are added as integers, so nothing is rounded; bits
 * of lower places, less than 2^-80 of the largest number, are cut off, always the same ones. */
#ifndef DM_REDUCE_WIDE_SUM_H
#define DM_REDUCE_WIDE_SUM_H

#include <stdbool.h>
#include <stdint.h>

enum { DM_WIDE_DIGITS = 3 };

/* All zero: the empty sum. */
typedef struct dm_wide_sum {
  __int128 digits[DM_WIDE_DIGITS]; /* lowest first; what is carried stays where it is */
  int32_t lowest;                  /* the place of the first digit */
  uint32_t special;                /* which Inf, or NaN, were added */
} dm_wide_sum;

void dm_wide_add(dm_wide_sum *sum, double value);
void dm_wide_add_square(dm_wide_sum *sum, double value);
void dm_wide_join(dm_wide_sum *sum, const dm_wide_sum *other);

/* The sum, or its root, rounded. */
double dm_wide_value(const dm_wide_sum *sum);
double dm_wide_root(const dm_wide_sum *sum);

#endif
