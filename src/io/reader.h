/* reader: what the ways of reading share.  Private to io. */
#ifndef DM_IO_READER_H
#define DM_IO_READER_H

#include <hdf5.h>

#include "io/hdf5_use.h"
#include "io/read.h"

struct dm_reader {
  dm_dataset dataset;
  dm_dtype as;
  int64_t bytes; /* read so far */
  const dm_pulse *pulse;

  int fd;                /* -1: HDF5 reads */
  hid_t file, set, type; /* -1: fd is read */
  hid_t access;
  dm_h5_exit leave;
  struct dm_chunks *chunks; /* NULL: HDF5 reads with its own filters */

  void *staging, *rounded; /* pieces in the file's type and in AS */
  int64_t staging_bytes, rounded_bytes;
};

/* A part of the dataset. */
typedef struct dm_rectangle {
  int64_t row, col, rows, cols;
} dm_rectangle;

/* The elements of PART as they are in the file, row after row, into MEMORY. */
dm_status dm_reader_fetch_direct(dm_reader *reader, dm_rectangle part, void *memory);
dm_status dm_reader_fetch_hdf5(dm_reader *reader, dm_rectangle part, void *memory);
dm_status dm_reader_fetch_chunks(dm_reader *reader, dm_rectangle part, void *memory);

/* PART straight into VIEWS, which have the file's type and rows without gaps. */
dm_status dm_reader_scatter(dm_reader *reader, dm_rectangle part, const dm_view *views,
                            int64_t count);

dm_status dm_reader_open_direct(dm_reader *reader);
dm_status dm_reader_open_hdf5(dm_reader *reader);
void dm_reader_close_hdf5(dm_reader *reader);

/* After dm_reader_open_hdf5, where the dataset has chunks, and no filters but those of
 * chunk_filter.h.
 */
dm_status dm_reader_open_chunks(dm_reader *reader);
void dm_reader_close_chunks(dm_reader *reader);

/* That the open file FD is still the one that was inspected. */
dm_status dm_reader_same_file(const dm_dataset *dataset, int fd);

#endif
