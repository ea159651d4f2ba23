#include "core/checksum.h"

#include <stddef.h>
#include <xxhash.h>
#ifdef DAMIER_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

uint64_t dm_checksum_bytes(const void *data, int64_t bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(data, (size_t)bytes, seed);
}
