/* encoding: groups that stand for one matrix or table in several datasets, such as sparse matrices
 * of anndata, MATLAB and Octave, and tables of pandas. */
#ifndef DM_FILE_ENCODING_H
#define DM_FILE_ENCODING_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct dm_encoding {
  bool table;       /* else a sparse matrix, or another that is not stored element by element */
  const char *what; /* "a sparse matrix of MATLAB" */
  const char *hint;
} dm_encoding;

/* The encoding that GROUP is stored in, or NULL. */
const dm_encoding *dm_encoding_of(hid_t group);

/* Writes "60 x 30" to TEXT, or "" if it is unknown, for the group of a sparse matrix. */
void dm_encoding_describe(hid_t group, char *text, size_t size);

#endif
