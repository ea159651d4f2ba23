/* chunk_cache: the chunks of one dataset that transfers need. A thread unpacks each chunk and
 * copies it to all transfers that need it; it is kept while there is room, unless all of it has
 * been copied. Private to src/file. */
#ifndef DM_FILE_CHUNK_CACHE_H
#define DM_FILE_CHUNK_CACHE_H

#include "file/output.h"
#include "file/read_impl.h"

typedef struct dm_file_queue dm_file_queue;
typedef struct dm_transfer dm_transfer;

/* LEFT is guarded by the pool's lock. */
struct dm_transfer {
  dm_file_queue *queue;
  dm_transfer *previous, *next; /* of the queue's list */
  dm_request request;           /* for writes: one view */
  dm_view *views;               /* copies of the caller's views */
  int64_t element;              /* bytes of an element in the file */
  struct dm_piece *piece;       /* pieces of contiguous data */
  int64_t left;                 /* pieces or chunks not in place yet, with those of its parts */
  dm_transfer *whole; /* it is a part of this, which is read from several files; or NULL */
  dm_transfer *parts, *sibling; /* its parts, and the next part of the same whole */

  dm_reader *reader;         /* NULL: a write */
  bool by_hdf5;              /* read by HDF5, in the caller's thread */
  dm_transfer *by_hdf5_next; /* the next part of the same whole that is; of the whole: the first */

  dm_output *output; /* NULL: a read */
  dm_prepare prepare;
};

/* Shared by threads and their owner. */
typedef struct dm_arrivals {
  int64_t moved, unpacked;
  int64_t kept, limit;              /* bytes of chunks in all caches */
  struct dm_chunk *oldest, *newest; /* list of chunks kept, of all caches */
} dm_arrivals;

typedef struct dm_chunk_cache dm_chunk_cache;

/* Expects COUNT more pieces, before they are posted; notes that one is in place, after which the
 * transfer may be freed. The pool's lock is held. */
static inline void dm_transfer_expect(dm_transfer *transfer, int64_t count) {
  for (dm_transfer *t = transfer; t; t = t->whole) t->left += count;
}

static inline void dm_transfer_arrived(dm_transfer *transfer) {
  dm_transfer_expect(transfer, -1);
}

dm_status dm_chunk_cache_open(dm_pool *pool, dm_arrivals *arrivals, dm_reader *reader,
                              dm_chunk_cache **cache);

/* Call after the pool was closed. NULL is allowed. */
void dm_chunk_cache_close(dm_chunk_cache *cache);

/* Posts the chunks that TRANSFER needs. */
dm_status dm_chunk_cache_post(dm_chunk_cache *cache, dm_transfer *transfer);

#endif
