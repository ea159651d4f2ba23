/* checksum: checksums of records and of samples of a file; for elements of C see
 * core/element_sum.h.
 */
#ifndef DM_FILE_CHECKSUM_H
#define DM_FILE_CHECKSUM_H

#include "file/dataset.h"

/* XXH3-64. */
uint64_t dm_checksum_bytes(const void *data, int64_t bytes, uint64_t seed);

/* Checksum of the current file of DATASET: pieces of 4 KiB at up to 64 places, including the first
 * and last bytes; for datasets made of others also the sources. Distinguishes files of the same
 * size and time. DM_E_IO. */
dm_status dm_checksum_sample(const dm_dataset *dataset, uint64_t *sum);

#endif
