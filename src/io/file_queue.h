/* file_queue: rectangles on their way from datasets into host memory, or from there into an output
 * file, moved by threads while the caller does something else.
 *
 * All functions are called by one thread, the one that uses HDF5.  The threads behind them read
 * (pread), unpack chunks, convert and write; they know neither HDF5 nor MPI.  Rectangles are moved
 * in the order in which they were posted.  A chunk that several of them need is unpacked once, if
 * they are posted before it is dropped: post everything whose destination is there already, in the
 * order in which it will be needed. */
#ifndef DM_IO_FILE_QUEUE_H
#define DM_IO_FILE_QUEUE_H

#include "io/output.h"
#include "io/read.h"

enum { DM_READ_MEMORY = 1 << 26 }; /* bytes: what is usual */

typedef struct dm_file_queue dm_file_queue;
typedef struct dm_transfer dm_transfer; /* one rectangle on its way */

/* With 0 THREADS, which builds without helper threads need, every dm_transfer_test moves one piece
 * itself.  MEMORY: bytes that chunks which may be needed again may take, and again as many that
 * threads may use at a time (a single chunk may be larger); writing needs none. */
dm_status dm_file_queue_open(int threads, int64_t memory, dm_file_queue **queue);

/* When it returns nothing is moved any more; nothing can be posted after that. */
void dm_file_queue_cancel(dm_file_queue *queue);

/* Cancels what is under way: when it returns, no destination is written any more and all transfers
 * are gone.  Before readers and outputs are closed.  NULL is allowed. */
void dm_file_queue_close(dm_file_queue *queue);

/* Starts what dm_reader_read would do (read.h).  VIEWS are copied; the memory behind them belongs
 * to the transfer until it is done.  READER is used with this QUEUE alone, from its first transfer
 * on. */
dm_status dm_file_queue_read(dm_file_queue *queue, dm_reader *reader, int64_t row, int64_t col,
                             const dm_view *views, int64_t count, bool conjugate,
                             dm_transfer **transfer);

/* What a thread does with some rows of a view before it writes them; CONTEXT is the caller's.  Rows
 * are counted from the view's first; threads call it at the same time, each row comes once. */
typedef struct dm_prepare {
  dm_status (*rows)(void *context, int64_t first, int64_t count); /* NULL: nothing */
  void *context;
} dm_prepare;

/* Starts what dm_output_write does; VIEW's memory, and what PREPARE reads, belong to the transfer
 * until it is done. */
dm_status dm_file_queue_write(dm_file_queue *queue, dm_output *output, int64_t row, int64_t col,
                              dm_view view, dm_prepare prepare, dm_transfer **transfer);

/* *done: every element is in its place (what was written is with the system, though not yet on the
 * disk: dm_output_sync), and TRANSFER is freed.  An error is the first of any transfer of the
 * queue, and all later tests and waits have it too: close it then. */
dm_status dm_transfer_test(dm_transfer *transfer, bool *done);

/* The same, waiting; KEEPALIVE (or NULL) beats whenever something was moved. */
dm_status dm_transfer_wait(dm_transfer *transfer, const dm_keepalive *keepalive);

/* Bytes moved so far, as stored in memory: whether it moves. */
int64_t dm_file_queue_moved(dm_file_queue *queue);

/* Chunks that were unpacked, a chunk twice where it was dropped in between. */
int64_t dm_file_queue_unpacked(dm_file_queue *queue);

#endif
