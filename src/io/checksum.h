/* checksum: checksums of elements of C, of records, and of samples of a file. */
#ifndef DM_IO_CHECKSUM_H
#define DM_IO_CHECKSUM_H

#include "core/view.h"
#include "io/dataset.h"

/* The definition of the checksums of tiles, stored in their file. */
#define DM_CHECKSUM                                                                                \
  "sum modulo 2^64 of low(y) * high(y) + x over the elements, x: bits of an element as unsigned "  \
  "number, y: 2^63 or (x xor (row * columns of C + column + 1) * 0x9e3779b97f4a7c15), low and "    \
  "high: 32 bits each; c128: two numbers, at twice the place"

/* The sum modulo 2^64, over all elements, of a hash (DM_CHECKSUM) of the element's bits and its
 * place in C, row * COLS + column. VIEW (host memory) starts at (row, col) of C, which has COLS
 * columns. Sums of parts add up to the sum of the whole, in any division and order. */
uint64_t dm_checksum_view(dm_view view, int64_t row, int64_t col, int64_t cols);

/* XXH3-64. */
uint64_t dm_checksum_bytes(const void *data, int64_t bytes, uint64_t seed);

/* Checksum of the current file of DATASET: pieces of 4 KiB at up to 64 places, including the first
 * and last bytes. Distinguishes files of the same size and time. DM_E_IO. */
dm_status dm_checksum_sample(const dm_dataset *dataset, uint64_t *sum);

#endif
