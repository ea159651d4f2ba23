/* read: reads rectangles of an inspected dataset into host memory, with conversion. */
#ifndef DM_IO_READ_H
#define DM_IO_READ_H

#include "core/status.h"
#include "core/view.h"
#include "dataset/dataset.h"

typedef struct dm_reader dm_reader;

enum { DM_READ_MEMORY = 1 << 26 }; /* bytes of a queue for reading (file_queue.h): the default */

/* A reader is used by one thread at a time, and all readers of datasets with offset -1 by the same
 * thread: HDF5 is not thread-safe.
 *
 * Opens DATASET read-only; the file must still be the inspected one. Elements are first rounded to
 * type AS (DM_DTYPE_NONE: not rounded). */
dm_status dm_reader_open(const dm_dataset *dataset, dm_dtype as, dm_reader **reader);
void dm_reader_close(dm_reader *reader); /* NULL is allowed */

/* From now on KEEPALIVE, which must stay valid, beats with every piece read. */
void dm_reader_keepalive(dm_reader *reader, const dm_keepalive *keepalive);

/* From now on dm_reader_read uses the threads of AHEAD (file_queue.h) and waits for them; pass NULL
 * before AHEAD is closed. */
struct dm_file_queue;
void dm_reader_share_threads(dm_reader *reader, struct dm_file_queue *ahead);

/* Whether columns are contiguous in the file, not rows. */
bool dm_reader_is_by_columns(const dm_reader *reader);

/* Rows of a dataset from ROW on. */
typedef struct dm_read_band {
  int64_t row;
  dm_view view;
} dm_read_band;

/* Whether the file stores the elements as DTYPE without need for conversion; or each source of a
 * virtual dataset some of its rows, LEAST on average. */
bool dm_reader_may_map(const dm_reader *reader, dm_dtype dtype, int64_t least);

/* Maps such a dataset as a whole, read-only: *bands, all rows in order, are valid until the reader
 * is closed. *count is 0 if the system does not map it. The pages are in memory, but if a file is
 * truncated meanwhile, SIGBUS ends the process. */
void dm_reader_map(dm_reader *reader, const dm_read_band **bands, int64_t *count);

/* Counts BYTES of the mapping as read. */
void dm_reader_note(dm_reader *reader, int64_t bytes);

/* Reads the rectangle whose first element is (row, col) of the dataset. The views are side by side:
 * each receives its cols columns, all have the same rows. A view may be a transpose; elements are
 * converted to its type; CONJUGATE negates imaginary parts. */
dm_status dm_reader_read(dm_reader *reader, int64_t row, int64_t col, const dm_view *views,
                         int64_t count, bool conjugate);

/* TO = FROM, elements in host memory of a matrix that SET describes (its location and what is
 * missing), rounded and refused as by a reader of it. */
dm_status dm_read_memory(const dm_dataset *set, dm_view from, dm_dtype as, dm_view to,
                         bool conjugate);

/* Stores the identity of the current file of DATASET, for a file of this program, which needs no
 * inspection. */
dm_status dm_dataset_identify(dm_dataset *dataset);

/* DM_E_IO: the file is not the inspected one, or was written since. */
dm_status dm_dataset_unchanged(const dm_dataset *dataset);

/* The missing values among elements that were read. */
typedef struct dm_missing_found {
  int64_t count;  /* -1: not known */
  int64_t source; /* of a composite: the first one with such values; else 0; INT64_MAX: none */
  int64_t first;  /* row * columns + column of the first of them, in the dataset or this source */
} dm_missing_found;

/* Those among all elements read so far. */
void dm_reader_missing(const dm_reader *reader, dm_missing_found *found);

/* DM_E_INPUT: values of DATASET are missing. */
dm_status dm_missing_refused(const dm_dataset *dataset, const dm_missing_found *found);

/* Bytes read from the file so far, after decompression and before conversion. */
int64_t dm_reader_bytes(const dm_reader *reader);

/* Calls of the system that read from its files so far, but for those of HDF5. */
int64_t dm_reader_calls(const dm_reader *reader);

#endif
