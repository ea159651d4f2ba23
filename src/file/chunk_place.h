/* chunk_place: finds the places of a dataset's chunks in the file, so that threads can read them.
 *
 * HDF5 1.10 reports places by visiting all chunks for each request. Its reads, however, find their
 * chunk at once: a file driver of our own, in front of HDF5's, observes which bytes HDF5 would
 * read. */
#ifndef DM_FILE_CHUNK_PLACE_H
#define DM_FILE_CHUNK_PLACE_H

#include <hdf5.h>

#include "file/dataset.h"

typedef struct dm_chunk_place {
  int64_t row, col;      /* first element in the dataset */
  int64_t offset, bytes; /* in the file, including the user block; bytes 0: never written */
  uint32_t skipped;      /* bit i: filter i was not applied */
} dm_chunk_place;

/* What the driver observes; FD comes first, as H5Fget_vfd_handle requires. */
typedef struct dm_chunk_ear {
  int fd; /* descriptor of HDF5's own driver */
  bool listening, heard;
  int64_t offset, bytes;
  hid_t driver;
} dm_chunk_ear;

/* Opens AT's file read-only like dm_h5_open_as, through the driver. *ear lives as long as the
 * file. */
dm_status dm_chunk_open_file(const dm_location *at, bool swmr, hid_t *file, dm_chunk_ear **ear);

/* Closes FILE; EAR is from dm_chunk_open_file, or NULL if FILE was opened without the driver. */
void dm_chunk_close_file(hid_t file, const dm_chunk_ear *ear);

/* Fills offset, bytes and skipped of PLACE, a chunk of DATASET, open as SET in the file that EAR
 * observes; bytes is 0 if the file has no such chunk. With EAR NULL only bytes is set. */
dm_status dm_chunk_find(const dm_dataset *dataset, hid_t set, dm_chunk_ear *ear,
                        dm_chunk_place *place);

#endif
