/* inspect: inspects an untrusted file in a child process with limits.
 *
 * Must run before MPI and CUDA are started, because it forks. */
#ifndef DM_FILE_INSPECT_H
#define DM_FILE_INSPECT_H

#include "file/dataset.h"

/* What is accepted beyond the safe default; the error for each names the option. */
typedef struct dm_trust {
  bool external; /* external storage and links into other files */
  bool virtual;  /* sources of virtual datasets outside of their folder */
  bool filters;  /* filters other than deflate, shuffle, fletcher32 and LZF, which may load plug-ins
                  */
  bool no_data;  /* a dataset without stored data reads as its fill value */
  bool swmr;     /* a file that is being written in SWMR mode */
  bool raw;      /* the stored numbers, whatever attributes say */
  dm_missing missing;                  /* what becomes of missing values */
  bool nan;                            /* NaN is one of them */
  char missing_value[DM_MISSING_TEXT]; /* the number that is one where a file does not say; or "" */
  double patience;              /* seconds that the storage may take to answer; 0: the default */
  dm_vector vectors;            /* how to read datasets of one dimension */
  int64_t row_axes;             /* the first axes, which are the rows; 0: of two, the first */
  dm_complex_axis complex_axis; /* of 2, of real and imaginary parts */
  dm_fold fold;                 /* a line of numbers is a matrix */
  bool batch;                   /* with more than two axes, it is many matrices: dm_leads */
  bool by_columns;              /* many files are stacked by columns */
  const char *replaced;         /* the file that C replaces, which is no list of a part; or NULL */
  bool any_shape;               /* inside file: a part of it is taken */
  bool literal;                 /* ... stars in names of datasets stand for themselves */
  int laid;                     /* ... then 1 + the axes that are its rows; 0: all but the last */
  bool alone;                   /* inside file: by no further process */
  struct dm_known_files *known; /* inside file: many files are examined; or NULL (known_files.h) */
  struct dm_h5_log *log;        /* inside file: of what HDF5 reads, or NULL (hdf5_driver.h) */
  const struct dm_nesting *nesting; /* inside file: the virtual dataset whose source is examined */
} dm_trust;

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

/* "HDF5 1.10.8 (loaded), built with 1.10.8", and a warning or "". */
void dm_h5_library(char *text, int64_t size);

/* "packed: value = 0.01 * stored, in f64; missing: -9999 (_FillValue)", and what is done about it;
 * "": DATASET's numbers are its values. */
void dm_dataset_describe_meaning(const dm_dataset *dataset, char *text, int64_t size);

/* "contiguous", "chunked 256 x 256, deflate". */
void dm_dataset_describe(const dm_dataset *dataset, char *text, int64_t size);

#endif
