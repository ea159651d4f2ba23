/* chunk_place: finds the places of a dataset's chunks in the file, so that threads can read them.
 *
 * HDF5 1.10 reports places by visiting all chunks for each request. Its reads, however, find their
 * chunk at once: the driver of hdf5_driver.h observes which bytes HDF5 would read. */
#ifndef DM_FILE_CHUNK_PLACE_H
#define DM_FILE_CHUNK_PLACE_H

#include "file/hdf5_driver.h"

typedef struct dm_chunk_place {
  int64_t row, col;      /* first element in the dataset */
  int64_t offset, bytes; /* in the file, including the user block; bytes 0: never written */
  uint32_t skipped;      /* bit i: filter i was not applied */
} dm_chunk_place;

/* Fills offset, bytes and skipped of PLACE, a chunk of DATASET, open as SET in the file that EAR
 * observes; bytes is 0 if the file has no such chunk. With EAR NULL only bytes is set. */
dm_status dm_chunk_find(const dm_dataset *dataset, hid_t set, dm_h5_ear *ear,
                        dm_chunk_place *place);

#endif
