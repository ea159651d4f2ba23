/* dataset_text: how a dataset is stored and what its numbers mean, in words. */
#ifndef DM_DATASET_DATASET_TEXT_H
#define DM_DATASET_DATASET_TEXT_H

#include "dataset/dataset.h"

/* "HDF5 1.10.8 (loaded), built with 1.10.8", and a warning or "". */
void dm_h5_library(char *text, int64_t size);

/* "packed: value = 0.01 * stored, in f64; missing: -9999 (_FillValue)", and what is done about it;
 * "": DATASET's numbers are its values. */
void dm_dataset_describe_meaning(const dm_dataset *dataset, char *text, int64_t size);

/* "contiguous", "chunked 256 x 256, deflate". */
void dm_dataset_describe(const dm_dataset *dataset, char *text, int64_t size);

#endif
