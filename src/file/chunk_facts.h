/* chunk_facts: what HDF5 says of a dataset's chunks: their filters and, of a few chunks, their
 * places. */
#ifndef DM_FILE_CHUNK_FACTS_H
#define DM_FILE_CHUNK_FACTS_H

#include "file/chunk_filter.h"
#include "file/chunk_place.h"

/* Fills FILTER from the creation list CREATION of AT. DM_E_IO: they are not those that the
 * inspection accepted. */
dm_status dm_chunk_filters(const dm_location *at, hid_t creation, dm_chunk_filter *filter);

/* Fills in DATASET->few, if possible; DATASET is open as SET, with the creation list CREATION, in
 * the file that EAR observes. */
void dm_few_chunks_find(dm_dataset *dataset, hid_t set, hid_t creation, dm_h5_ear *ear);

/* Whether DATASET->few, which comes from a process that read an untrusted file, can be used. The
 * rest of DATASET is sane. */
bool dm_few_chunks_are_sane(const dm_dataset *dataset);

/* The filters, and the place of chunk NUMBER; chunks are numbered row by row. */
void dm_few_chunks_filter(const dm_few_chunks *few, dm_chunk_filter *filter);
void dm_few_chunks_place(const dm_few_chunks *few, int64_t number, dm_chunk_place *place);

#endif
