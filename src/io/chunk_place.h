/* chunk_place: where in the file the chunks of a dataset stand, so that threads can read them.
 *
 * HDF5 1.10 tells that by going through all chunks for each one.  What it looks up at once is what
 * it reads itself: a file driver of our own, in front of HDF5's, hears what that would be. */
#ifndef DM_IO_CHUNK_PLACE_H
#define DM_IO_CHUNK_PLACE_H

#include <hdf5.h>

#include "io/dataset.h"

typedef struct dm_chunk_place {
  int64_t row, col;      /* of its first element in the dataset */
  int64_t offset, bytes; /* in the file, user block included; bytes 0: it was never written */
  uint32_t skipped;      /* bit i: filter i was not applied */
} dm_chunk_place;

/* What the driver hears; FD comes first, as HDF5's H5Fget_vfd_handle promises. */
typedef struct dm_chunk_ear {
  int fd; /* of HDF5's own driver */
  bool listening, heard;
  int64_t offset, bytes;
  hid_t driver;
} dm_chunk_ear;

/* Opens AT's file read-only as dm_h5_open_file does, through the driver.  *ear lives as long as the
 * file. */
dm_status dm_chunk_open_file(const dm_location *at, hid_t *file, dm_chunk_ear **ear);

/* Closes FILE; EAR is what came with it, or NULL where it was opened without the driver. */
void dm_chunk_close_file(hid_t file, const dm_chunk_ear *ear);

/* Fills offset, bytes and skipped of PLACE, a chunk of DATASET, which is open as SET in the file
 * that EAR hears; bytes is 0 where the file has no chunk there.  EAR may be NULL: only bytes is
 * filled. */
dm_status dm_chunk_find(const dm_dataset *dataset, hid_t set, dm_chunk_ear *ear,
                        dm_chunk_place *place);

#endif
