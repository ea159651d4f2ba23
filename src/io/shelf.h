/* shelf: the chunks of one dataset that readings want.  Each is unpacked by a thread, copied to all
 * who want it, and kept as long as there is room, unless all of it has been copied.  Private to io.
 */
#ifndef DM_IO_SHELF_H
#define DM_IO_SHELF_H

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

typedef struct dm_shelf dm_shelf;

dm_status dm_shelf_open(dm_pool *pool, dm_arrivals *arrivals, dm_reader *reader, dm_shelf **shelf);

/* After the pool was closed.  NULL is allowed. */
void dm_shelf_close(dm_shelf *shelf);

/* Posts what READING wants of the shelf's dataset. */
dm_status dm_shelf_post(dm_shelf *shelf, dm_reading *reading);

#endif
