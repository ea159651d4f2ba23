/* chunk_facts: what HDF5 says of a dataset's chunks: their filters and, of a few chunks, their
 * places. */
#ifndef DM_DATASET_CHUNK_FACTS_H
#define DM_DATASET_CHUNK_FACTS_H

#include "dataset/chunk_filter.h"
#include "dataset/hdf5_driver.h"

/* ---- places of chunks in the file, so that threads can read them ----
 *
 * HDF5 1.10 reports places by visiting all chunks for each request. Its reads, however, find their
 * chunk at once: the driver of hdf5_driver.h observes which bytes HDF5 would read. */

typedef struct dm_chunk_place {
  int64_t row, col;      /* first element in the dataset */
  int64_t offset, bytes; /* in the file, including the user block; bytes 0: never written */
  uint32_t skipped;      /* bit i: filter i was not applied */
} dm_chunk_place;

/* Fills offset, bytes and skipped of PLACE, a chunk of DATASET, open as SET in the file that
 * OBSERVER observes; bytes is 0 if the file has no such chunk. With OBSERVER NULL only bytes is
 * set. */
dm_status dm_chunk_find(const dm_dataset *dataset, hid_t set, dm_h5_observer *observer,
                        dm_chunk_place *place);

/* ---- filters, and a few chunks ---- */

/* A filter of HDF5's registry. */
typedef struct dm_filter {
  int id;
  const char *name;
  unsigned
      flag; /* DM_FILTER_... of one that readers of chunks undo, by a codec if the build has it */
  dm_chunk_step step;
} dm_filter;

extern const dm_filter dm_filters[]; /* those with a flag first; the last name is NULL */

const dm_filter *dm_filter_of(int id); /* NULL: it is not listed */

/* Fills FILTER from the creation list CREATION of AT. DM_E_IO: they are not those that the
 * inspection accepted. */
dm_status dm_chunk_filters(const dm_location *at, hid_t creation, dm_chunk_filter *filter);

/* Fills in DATASET->few, if possible; DATASET is open as SET, with the creation list CREATION, in
 * the file that OBSERVER observes. */
void dm_few_chunks_find(dm_dataset *dataset, hid_t set, hid_t creation, dm_h5_observer *observer);

/* Whether DATASET->few, which comes from a process that read an untrusted file, can be used. The
 * rest of DATASET is sane. */
bool dm_few_chunks_are_sane(const dm_dataset *dataset);

/* The filters, and the place of chunk NUMBER; chunks are numbered row by row. */
void dm_few_chunks_filter(const dm_few_chunks *few, dm_chunk_filter *filter);
void dm_few_chunks_place(const dm_few_chunks *few, int64_t number, dm_chunk_place *place);

#endif
