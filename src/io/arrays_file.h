/* arrays_file: an HDF5 file with groups of arrays, or an archive of NumPy with the arrays of all
 * groups, which gets its name when it is complete. */
#ifndef DM_IO_ARRAYS_FILE_H
#define DM_IO_ARRAYS_FILE_H

#include "core/array.h"
#include "dataset/dataset.h"

/* Attributes of the group that other software reads: how the arrays form one object, as anndata
 * states it, and its shape. NULL: none. */
typedef struct dm_file_encoding {
  const char *type, *version; /* "csr_matrix", "0.1.0" */
  int64_t shape[2];
} dm_file_encoding;

typedef struct dm_file_group {
  const char *name; /* below the location; NULL: that is the group, the only one */
  const dm_array *arrays;
  int count;
  const dm_file_encoding *encoding; /* or NULL */
  const dm_attributes *attributes;
} dm_file_group;

/* The attribute of a location with several groups: their names, separated by spaces. */
#define DM_GROUPS_ATTRIBUTE "groups"

/* Writes COUNT GROUPS to AT, which was checked by dm_output_check_arrays; FORCE: it may replace a
 * file. In an archive no two arrays have one name, and at most one group an encoding.
 * KEEPALIVE, or NULL, beats while the disk is waited for. DM_E_FIT: no space; DM_E_IO. */
dm_status dm_arrays_write(const dm_location *at, bool force, const dm_file_group *groups, int count,
                          const dm_keepalive *keepalive);

#endif
