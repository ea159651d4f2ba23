/* file_queue: moves rectangles from datasets to host memory, or from there to an output file, in
 * threads while the caller does something else.
 *
 * One thread, the one that uses HDF5, calls all functions. The queue's threads read (pread), unpack
 * chunks, convert and write; they use neither HDF5 nor MPI. Rectangles are moved in the order of
 * posting. A chunk that several of them need is unpacked once if they are posted before it is
 * dropped: post everything whose destination exists, in the order in which it will be needed. */
#ifndef DM_IO_FILE_QUEUE_H
#define DM_IO_FILE_QUEUE_H

#include "io/output.h"
#include "io/read.h"

typedef struct dm_file_queue dm_file_queue;
typedef struct dm_transfer dm_transfer; /* one rectangle being moved */

/* With 0 THREADS, every dm_transfer_test moves one piece itself. MEMORY: bytes for chunks that may
 * be needed again, and as many again for running threads (a single chunk may be larger); writing
 * needs none. */
dm_status dm_file_queue_open(int threads, int64_t memory, dm_file_queue **queue);

/* On return nothing is being moved; nothing can be posted afterwards. */
void dm_file_queue_cancel(dm_file_queue *queue);

/* Cancels everything: on return no destination is being written and all transfers are freed. Call
 * before closing readers and outputs. NULL is allowed. */
void dm_file_queue_close(dm_file_queue *queue);

/* Starts what dm_reader_read would do (read.h). VIEWS are copied; their memory belongs to the
 * transfer until it is done. From its first transfer READER is used only with this QUEUE. */
dm_status dm_file_queue_read(dm_file_queue *queue, dm_reader *reader, int64_t row, int64_t col,
                             const dm_view *views, int64_t count, bool conjugate,
                             dm_transfer **transfer);

/* Starts what dm_output_write does; VIEW's memory, and PREPARE's inputs, belong to the transfer
 * until it is done. */
dm_status dm_file_queue_write(dm_file_queue *queue, dm_output *output, int64_t row, int64_t col,
                              dm_view view, dm_prepare prepare, dm_transfer **transfer);

/* *done: every element is in its place (written data has been passed to the system, but not synced:
 * dm_output_sync), and TRANSFER is freed. An error is the first of any transfer of the queue; all
 * later tests and waits return it, too: close the queue then. */
dm_status dm_transfer_test(dm_transfer *transfer, bool *done);

/* The same, waiting; KEEPALIVE (or NULL) beats whenever something was moved. */
dm_status dm_transfer_wait(dm_transfer *transfer, const dm_keepalive *keepalive);

/* Bytes moved so far, as stored in memory; shows progress. */
int64_t dm_file_queue_moved(dm_file_queue *queue);

/* Number of chunks unpacked; a chunk dropped in between counts again. */
int64_t dm_file_queue_unpacked(dm_file_queue *queue);

#endif
