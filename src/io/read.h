/* read: rectangles of an inspected dataset into host memory, converted on the way. */
#ifndef DM_IO_READ_H
#define DM_IO_READ_H

#include "core/keepalive.h"
#include "core/view.h"
#include "io/dataset.h"

typedef struct dm_reader dm_reader;

/* A reader is used by one thread at a time, and all readers of datasets whose offset is -1 by the
 * same thread: HDF5 is not safe in several.
 *
 * Opens DATASET read-only; the file must still be the one that was inspected.  Elements are first
 * rounded to type AS (DM_DTYPE_NONE: taken as they are). */
dm_status dm_reader_open(const dm_dataset *dataset, dm_dtype as, dm_reader **reader);
void dm_reader_close(dm_reader *reader); /* NULL is allowed */

/* From now on KEEPALIVE, which the caller keeps, beats with every piece that was read. */
void dm_reader_keepalive(dm_reader *reader, const dm_keepalive *keepalive);

/* From now on dm_reader_read lets the threads of AHEAD (file_queue.h) read, and waits for them;
 * before AHEAD is closed, NULL takes it away. */
struct dm_file_queue;
void dm_reader_lean_on(dm_reader *reader, struct dm_file_queue *ahead);

/* Rows and columns of a contiguous unit of the file: a chunk, or else a row, or a column if the
 * file is stored by columns. */
void dm_reader_grain(const dm_reader *reader, int64_t *rows, int64_t *cols);

/* Whether the dataset lies in its file as elements of DTYPE that need no conversion. */
bool dm_reader_may_map(const dm_reader *reader, dm_dtype dtype);

/* The whole of such a dataset as the page cache has it, read-only, until the reader is closed; a
 * view without base where the system does not map it.  Its pages are there, but a file that is cut
 * meanwhile ends the process by SIGBUS. */
void dm_reader_map(dm_reader *reader, dm_view *whole);

/* BYTES of it count as read. */
void dm_reader_note(dm_reader *reader, int64_t bytes);

/* The rectangle whose first element is (row, col) of the dataset.  The views lie side by side: each
 * takes its cols columns, and all have the same rows.  A view may be the transpose of memory, and
 * is converted to its type; CONJUGATE negates imaginary parts. */
dm_status dm_reader_read(dm_reader *reader, int64_t row, int64_t col, const dm_view *views,
                         int64_t count, bool conjugate);

/* Notes that INFO is that of DATASET's file. */
struct stat;
void dm_io_identify(const struct stat *info, dm_dataset *dataset);

/* Notes which file DATASET stands in now: for a file of the program's own, which needs no
 * inspection. */
dm_status dm_io_identity(dm_dataset *dataset);

/* DM_E_IO where the file is another one than was inspected, or was written since. */
dm_status dm_io_unchanged(const dm_dataset *dataset);

/* For benchmarks: seconds that this thread takes to undo the filters of all chunks of some rows,
 * from memory to memory; reading is not counted.  DM_E_BUG where READER has no chunks. */
dm_status dm_reader_time_unpacking(dm_reader *reader, int64_t row, int64_t rows, double *seconds);

/* Bytes read from the file so far, as stored in memory before conversion. */
int64_t dm_reader_bytes(const dm_reader *reader);

#endif
