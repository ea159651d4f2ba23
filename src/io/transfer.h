/* transfer: a rectangle that is being read or written, and the pages of the memory that it is read
 * to. Private to src/io. */
#ifndef DM_IO_TRANSFER_H
#define DM_IO_TRANSFER_H

#include "io/output.h"
#include "io/read_impl.h"

typedef struct dm_file_queue dm_file_queue;
typedef struct dm_transfer dm_transfer;

/* LEFT is guarded by the pool's lock. */
struct dm_transfer {
  dm_file_queue *queue;
  dm_transfer *previous, *next;   /* of the queue's list */
  dm_read_request request;        /* for writes: one view */
  dm_view *views;                 /* copies of the caller's views */
  int64_t element;                /* bytes of an element in the file */
  struct file_queue_piece *piece; /* pieces of contiguous data */
  struct dm_page *page;           /* huge pages of the memory that is read to */
  int64_t pages, paged_rows;      /* posted, and for so many rows */
  int64_t left;                   /* pieces or chunks not in place yet, with those of its parts */
  dm_transfer *parent; /* it is a part of this, which is read from several files; or NULL */
  dm_transfer *parts, *sibling;   /* its parts, and the next part of the same whole */
  struct dm_read_gather *gathers; /* the picks of its parts, or NULL */

  dm_reader *reader;         /* NULL: a write */
  bool by_hdf5;              /* read by HDF5, in the caller's thread */
  dm_transfer *by_hdf5_next; /* the next part of the same whole that is; of the whole: the first */

  dm_output *output; /* NULL: a read */
  dm_prepare prepare;
};

/* Expects COUNT more pieces, before they are posted; notes that one is in place, after which the
 * transfer may be freed. The pool's lock is held. */
static inline void dm_transfer_expect(dm_transfer *transfer, int64_t count) {
  for (dm_transfer *t = transfer; t; t = t->parent) t->left += count;
}

static inline void dm_transfer_arrived(dm_transfer *transfer) {
  dm_transfer_expect(transfer, -1);
}

/* Posts tasks to POOL that make the pages which the first ROWS rows, and some more, are read to.
 * Threads that touch a new huge page at the same time clear one each, of which the kernel keeps
 * one; so call this before posting what is read to these rows. */
dm_status dm_transfer_make_pages(dm_transfer *transfer, dm_pool *pool, int64_t rows);

#endif
