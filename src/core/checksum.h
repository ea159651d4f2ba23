/* checksum: of bytes (XXH3-64); of elements of C see core/element_sum.h. */
#ifndef DM_CORE_CHECKSUM_H
#define DM_CORE_CHECKSUM_H

#include <stdint.h>

uint64_t dm_checksum_bytes(const void *data, int64_t bytes, uint64_t seed);

#endif
