/* element_sum: a checksum of a matrix, the same on CPU and GPU: the sum of a hash of every element
 * and its place. The checksums of parts add up to that of the matrix. */
#ifndef DM_CORE_ELEMENT_SUM_H
#define DM_CORE_ELEMENT_SUM_H

#include "core/elementary.h"
#include "core/view.h"

/* The definition of the tiles' checksums, written to their file. */
#define DM_CHECKSUM                                                                                \
  "sum modulo 2^64 of low(y) * high(y) + x over the elements, x: bits of an element as unsigned "  \
  "number, y: 2^63 or (x xor (row * columns of C + column + 1) * 0x9e3779b97f4a7c15), low and "    \
  "high: 32 bits each; c128: two numbers, at twice the place"

/* Start of a part of a matrix with COLS columns. */
typedef struct dm_element_place {
  int64_t row, col, cols;
} dm_element_place;

/* The sum, modulo 2^64, of a hash (DM_CHECKSUM) of every element's bits and its index in C, that is
 * row * COLS + column. VIEW (host memory) starts at (row, col) of C, which has COLS columns. The
 * sums of parts add up to that of the whole for any partition, in any order. */
uint64_t dm_checksum_view(dm_view view, int64_t row, int64_t col, int64_t cols);

#define DM_HASH_STEP 0x9e3779b97f4a7c15ull /* odd, its bits mixed: 2^64 / golden ratio */

/* Key of the word at PLACE; the next word's key is DM_HASH_STEP more. */
static inline DM_HOST_DEVICE uint64_t dm_hash_key(uint64_t place) {
  return (place + 1) * DM_HASH_STEP;
}

/* The product of NH (Black et al., UMAC, CRYPTO 1999) as XXH3 uses it, plus WORD. One flipped bit
 * always changes the result: a low bit by at least 2^31 - 1 times its value, a high bit by at least
 * its value, as the low factor is less than 2^32. */
static inline DM_HOST_DEVICE uint64_t dm_hash_word(uint64_t word, uint64_t key) {
  const uint64_t mixed = (word ^ key) | 1ULL << 63;
  return (mixed & 0xffffffff) * (mixed >> 32) + word;
}

#endif
