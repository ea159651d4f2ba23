/* inspect: inspects an untrusted file in a child process with limits.
 *
 * Must run before MPI and CUDA are started, because it forks. */
#ifndef DM_INSPECT_INSPECT_H
#define DM_INSPECT_INSPECT_H

#include "dataset/dataset.h"
#include "dataset/trust.h"

/* Whether AT names many files, by a pattern or a list. */
bool dm_location_is_stack(const dm_location *at);

/* Fills DATASET, and PROVENANCE unless NULL, from LOCATION. DM_E_INPUT, in one line: why the file
 * or dataset was rejected; DM_E_IO: it cannot be opened. */
dm_status dm_file_inspect(const dm_location *location, const dm_trust *trust, dm_dataset *dataset,
                          dm_attributes *provenance);

/* Fills ATTRIBUTES with the texts of the group AT, or /c if AT names nothing in its file; none: it
 * is no group of an HDF5 file that can be read. PATIENCE as in dm_trust. */
dm_status dm_group_inspect(const dm_location *at, double patience, dm_attributes *attributes);

/* Adds the values that the user says are missing to the meaning of FIND, which is otherwise
 * complete, or all zero for a matrix in memory. (examine_meaning.c) */
dm_status dm_examine_stated(const dm_trust *trust, dm_dataset *find);

/* The same in this process, for a file of this program. */
dm_status dm_file_inspect_own(const dm_location *location, dm_dataset *dataset);

#endif
