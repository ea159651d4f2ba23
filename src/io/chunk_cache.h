/* chunk_cache: the chunks of one dataset that transfers need. A thread unpacks each chunk and
 * copies it to all transfers that need it; it is kept while there is room, unless all of it has
 * been copied. Private to src/io. */
#ifndef DM_IO_CHUNK_CACHE_H
#define DM_IO_CHUNK_CACHE_H

#include "io/transfer.h"

/* Shared by threads and their owner. */
typedef struct dm_arrivals {
  int64_t moved, unpacked;
  int64_t kept, limit;              /* bytes of chunks in all caches */
  struct dm_chunk *oldest, *newest; /* list of chunks kept, of all caches */
} dm_arrivals;

typedef struct dm_chunk_cache dm_chunk_cache;

dm_status dm_chunk_cache_open(dm_pool *pool, dm_arrivals *arrivals, dm_reader *reader,
                              dm_chunk_cache **cache);

/* Call after the pool was closed. NULL is allowed. */
void dm_chunk_cache_close(dm_chunk_cache *cache);

/* Posts the chunks that TRANSFER needs. */
dm_status dm_chunk_cache_post(dm_chunk_cache *cache, dm_transfer *transfer);

#endif
