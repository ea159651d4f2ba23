/* checksum: XXH3-64 of elements of C, of records, and of samples of a file. */
#ifndef DM_IO_CHECKSUM_H
#define DM_IO_CHECKSUM_H

#include "core/view.h"
#include "io/dataset.h"

/* The sum, modulo 2^64, of the XXH3-64 of every element's bytes, seeded with the element's place in
 * C, row * COLS + column; VIEW (host memory) begins at (row, col) of C, which has COLS columns.
 * Sums of parts add up to that of the whole, however it was cut, and in any order. */
uint64_t dm_checksum_view(dm_view view, int64_t row, int64_t col, int64_t cols);

uint64_t dm_checksum_bytes(const void *data, int64_t bytes, uint64_t seed);

/* Of the file of DATASET as it is now: pieces of 4 KiB at up to 64 places, the first and the last
 * bytes among them.  Tells files apart whose size and time are the same.  DM_E_IO. */
dm_status dm_checksum_sample(const dm_dataset *dataset, uint64_t *sum);

#endif
