/* read_ahead: rectangles of datasets on their way into host memory, brought by threads while the
 * caller does something else.
 *
 * All functions are called by one thread, the one that uses HDF5.  The threads behind them read
 * (pread), unpack chunks and convert; they know neither HDF5 nor MPI.  A chunk that several
 * readings need is unpacked once, if they are posted before it is dropped: post everything whose
 * destination is there already, in the order in which it will be needed. */
#ifndef DM_IO_READ_AHEAD_H
#define DM_IO_READ_AHEAD_H

#include "io/read.h"

enum { DM_READ_MEMORY = 1 << 26 }; /* bytes: what is usual */

typedef struct dm_read_ahead dm_read_ahead;
typedef struct dm_reading dm_reading; /* one rectangle on its way */

/* THREADS read; with 0, which builds without helper threads need, every dm_reading_test reads one
 * piece itself.  MEMORY: bytes that chunks which may be needed again may take, and again as many
 * that threads may use at a time (a single chunk may be larger). */
dm_status dm_read_ahead_open(int threads, int64_t memory, dm_read_ahead **ahead);

/* When it returns no destination is written any more; nothing can be read after that. */
void dm_read_ahead_cancel(dm_read_ahead *ahead);

/* Cancels what is under way: when it returns, no destination is written any more and all readings
 * are gone.  Before the readers are closed.  NULL is allowed. */
void dm_read_ahead_close(dm_read_ahead *ahead);

/* Starts what dm_reader_read would do (read.h).  VIEWS are copied; the memory behind them belongs
 * to the reading until it is done.  READER is used with this AHEAD alone, from its first reading
 * on. */
dm_status dm_read_ahead_post(dm_read_ahead *ahead, dm_reader *reader, int64_t row, int64_t col,
                             const dm_view *views, int64_t count, bool conjugate,
                             dm_reading **reading);

/* *done: every element is in its place, and READING is freed.  An error is the first of any reading
 * of the read-ahead, and all later tests and waits have it too: close it then. */
dm_status dm_reading_test(dm_reading *reading, bool *done);

/* The same, waiting; PULSE (or NULL) beats whenever something has arrived. */
dm_status dm_reading_wait(dm_reading *reading, const dm_keepalive *keepalive);

/* Bytes that have arrived, as stored in memory: whether it moves. */
int64_t dm_read_ahead_moved(dm_read_ahead *ahead);

/* Chunks that were unpacked, a chunk twice where it was dropped in between. */
int64_t dm_read_ahead_unpacked(dm_read_ahead *ahead);

#endif
