/* inspect: looks at a file that nobody has reason to trust, in a child process with limits.
 *
 * Must run before MPI and CUDA are started, because it forks. */
#ifndef DM_IO_INSPECT_H
#define DM_IO_INSPECT_H

#include "io/dataset.h"

/* What is accepted beyond the safe default; each is named in the refusal that it lifts. */
typedef struct dm_trust {
  bool external; /* external storage and links into other files */
  bool virtual;  /* virtual datasets */
  bool filters;  /* filters other than deflate, shuffle, fletcher32 and LZF, which may load plug-ins
                  */
  bool no_data;  /* a dataset without stored data reads as its fill value */
  double patience;   /* seconds that the storage has to answer; 0: what is usual */
  dm_vector vectors; /* what datasets of one dimension are taken as, if they are wanted */
} dm_trust;

/* Fills DATASET, and PROVENANCE unless that is NULL, from LOCATION.  DM_E_INPUT with one line that
 * says why the file or dataset was rejected; DM_E_IO where it cannot be opened at all. */
dm_status dm_io_inspect(const dm_location *location, const dm_trust *trust, dm_dataset *dataset,
                        dm_attributes *provenance);

/* "HDF5 1.10.8 (loaded), built with 1.10.8", and a warning or "". */
void dm_io_library(char *text, int64_t size);

/* "contiguous", "chunked 256 x 256, deflate": for people. */
void dm_io_describe(const dm_dataset *dataset, char *text, int64_t size);

#endif
