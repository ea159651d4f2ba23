/* cache: the chunks of one dataset that readings want.  Each is unpacked by a thread, copied to all
 * who want it, and kept as long as there is room, unless all of it has been copied.  Private to io.
 */
#ifndef DM_IO_CHUNK_CACHE_H
#define DM_IO_CHUNK_CACHE_H

#include "io/read_ahead.h"
#include "io/reader.h"

/* Guarded by the pool's lock but for what a reading is about. */
struct dm_reading {
  dm_read_ahead *ahead;
  dm_reading *previous, *next; /* of the read-ahead's list */
  dm_reader *reader;
  dm_request request;
  dm_view *views;         /* its own copy */
  struct dm_piece *piece; /* of contiguous data */
  bool by_hdf5;           /* which only the caller's thread uses */
  int64_t left;           /* pieces or chunks that are not in place yet */
};

/* What threads share with their owner. */
typedef struct dm_arrivals {
  int64_t moved, unpacked;
  int64_t kept, limit; /* bytes of chunks on all shelves */
} dm_arrivals;

typedef struct dm_chunk_cache dm_chunk_cache;

dm_status dm_chunk_cache_open(dm_pool *pool, dm_arrivals *arrivals, dm_reader *reader,
                              dm_chunk_cache **cache);

/* After the pool was closed.  NULL is allowed. */
void dm_chunk_cache_close(dm_chunk_cache *cache);

/* Posts what READING wants of the cache's dataset. */
dm_status dm_chunk_cache_post(dm_chunk_cache *cache, dm_reading *reading);

#endif
