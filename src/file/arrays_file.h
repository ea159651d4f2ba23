/* arrays_file: an HDF5 file with a group of arrays, which gets its name when it is complete. */
#ifndef DM_FILE_ARRAYS_FILE_H
#define DM_FILE_ARRAYS_FILE_H

#include "file/dataset.h"

/* An array in host memory, row-major. */
typedef struct dm_file_array {
  const char *name;
  dm_dtype dtype;     /* DM_DTYPE_NONE: int64_t */
  int64_t rows, cols; /* COLS 0: of one dimension */
  const void *data;
} dm_file_array;

/* Attributes of the group that other software reads: how the arrays form one object, as anndata
 * states it, and its shape. NULL: none. */
typedef struct dm_file_encoding {
  const char *type, *version; /* "csr_matrix", "0.1.0" */
  int64_t shape[2];
} dm_file_encoding;

/* Writes COUNT ARRAYS to the group AT, with ATTRIBUTES. AT was checked by dm_output_check; FORCE:
 * it may replace a file. KEEPALIVE, or NULL, beats while the disk is waited for. DM_E_FIT: no
 * space; DM_E_IO. */
dm_status dm_arrays_write(const dm_location *at, bool force, const dm_file_array *arrays, int count,
                          const dm_file_encoding *encoding, const dm_attributes *attributes,
                          const dm_keepalive *keepalive);

#endif
