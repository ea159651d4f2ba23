/* checksum: of records and of samples of a file; that of elements of C is core/element_sum.h. */
#ifndef DM_IO_CHECKSUM_H
#define DM_IO_CHECKSUM_H

#include "io/dataset.h"

/* XXH3-64. */
uint64_t dm_checksum_bytes(const void *data, int64_t bytes, uint64_t seed);

/* Of the file of DATASET as it is now: pieces of 4 KiB at up to 64 places, the first and the last
 * bytes among them.  Tells files apart whose size and time are the same.  DM_E_IO. */
dm_status dm_checksum_sample(const dm_dataset *dataset, uint64_t *sum);

#endif
