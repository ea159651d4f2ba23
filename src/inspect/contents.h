/* contents: visits the objects of an open, untrusted HDF5 file, and recognises groups that encode a
 * matrix. */
#ifndef DM_INSPECT_CONTENTS_H
#define DM_INSPECT_CONTENTS_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

#include "inspect/inspect.h"

/* ---- groups that stand for one matrix or table in several datasets, such as sparse matrices of
 * anndata, MATLAB and Octave, and tables of pandas ---- */

typedef struct dm_encoding {
  bool table;       /* else a sparse matrix, or another that is not stored element by element */
  const char *what; /* "a sparse matrix of MATLAB" */
  const char *hint;
} dm_encoding;

/* *ENCODING is that which GROUP is stored in, or NULL. DM_E_IO: HDF5 cannot say what it has. AT is
 * the dataset in question, for messages. */
dm_status dm_encoding_of(const dm_location *at, hid_t group, const dm_encoding **encoding);

/* Writes "60 x 30" to TEXT, or "" if it is unknown, for the group of a sparse matrix. */
void dm_encoding_describe(hid_t group, char *text, size_t size);

/* Special values instead of an open object. */
enum {
  DM_UNOPENED = -1,     /* it cannot be opened; HDF5's error stack says why */
  DM_NOT_FOLLOWED = -2, /* it is behind a link into another file */
  DM_TOO_LONG = -3,     /* its name does not fit in DM_PATH */
};

/* What the walk meets: a dataset, the group of a sparse matrix, or what a link leads to. */
typedef struct dm_met {
  const char *name;            /* "/group/a" */
  int64_t object;              /* open, or one of the special values */
  const dm_encoding *encoding; /* the sparse matrix that it is, or the table that it belongs to */
  const dm_error *failed;      /* why it cannot be examined, unless HDF5's error stack says that */
} dm_met;

/* Returns true to stop. */
typedef bool dm_visit(void *context, const dm_met *met);

/* Calls VISIT once for each dataset that hard links of FILE, which AT names, reach and each group
 * of a sparse matrix (not for what that holds), and for each link whose target is not met
 * otherwise: because it lies in another file, where TRUST decides whether it is followed, or
 * because there is none. Objects that cannot be read do not end the walk; VISIT is called for them,
 * too. False: not even the root can be read. */
bool dm_each_dataset(const dm_location *at, hid_t file, const dm_trust *trust, dm_visit *visit,
                     void *context);

/* Whether SET's shape may be defined in other files, which must not be opened. */
bool dm_is_virtual(hid_t set);

/* The number of dimensions of SET, whose sizes are written to DIMS, without opening other files;
 * 0: none; -1: unknown. */
int dm_rank_of(hid_t set, hsize_t dims[H5S_MAX_RANK]);

/* "60 x 30", "single value" or "", and "f64" or "": what is known about MET. */
void dm_describe_shape(const dm_met *met, char *text, size_t size);
void dm_describe_type(const dm_met *met, char *text, size_t size);

#endif
