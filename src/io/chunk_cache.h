/* chunk_cache: the chunks of one dataset that transfers want.  Each is unpacked by a thread, copied
 * to all transfers that want it, and kept as long as there is room, unless all of it has been
 * copied.  Private to io.
 */
#ifndef DM_IO_CHUNK_CACHE_H
#define DM_IO_CHUNK_CACHE_H

#include "io/file_queue.h"
#include "io/reader.h"

/* LEFT is guarded by the pool's lock. */
struct dm_transfer {
  dm_file_queue *queue;
  dm_transfer *previous, *next; /* of the queue's list */
  dm_request request;           /* also of what is written: one view */
  dm_view *views;               /* its own copy */
  int64_t element;              /* bytes, in the file */
  struct dm_piece *piece;       /* of contiguous data */
  int64_t left;                 /* pieces or chunks that are not in place yet */

  dm_reader *reader; /* NULL: it is written */
  bool by_hdf5;      /* which only the caller's thread uses */

  dm_output *output; /* NULL: it is read */
  dm_prepare prepare;
};

/* What threads share with their owner. */
typedef struct dm_arrivals {
  int64_t moved, unpacked;
  int64_t kept, limit; /* bytes of chunks in all caches */
} dm_arrivals;

typedef struct dm_chunk_cache dm_chunk_cache;

dm_status dm_chunk_cache_open(dm_pool *pool, dm_arrivals *arrivals, dm_reader *reader,
                              dm_chunk_cache **cache);

/* After the pool was closed.  NULL is allowed. */
void dm_chunk_cache_close(dm_chunk_cache *cache);

/* Posts what TRANSFER wants of the cache's dataset. */
dm_status dm_chunk_cache_post(dm_chunk_cache *cache, dm_transfer *transfer);

#endif
