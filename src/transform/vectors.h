/* vectors: numbers of the user by which lines of A and B are changed. */
#ifndef DM_TRANSFORM_VECTORS_H
#define DM_TRANSFORM_VECTORS_H

#include "dataset/dataset.h"

/* Vectors in files, as matrices of one column or row, by which A and B are changed as their
 * dm_standard states; those that are not there have no name. */
typedef struct dm_vectors {
  dm_dataset center[2], scale[2], weights;
} dm_vectors;

#endif
