/* trust: how an untrusted file is to be read, and what is accepted in it. */
#ifndef DM_DATASET_TRUST_H
#define DM_DATASET_TRUST_H

#include "dataset/dataset.h"

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
  struct dm_kept_child *inspector; /* the child that inspects (child.h), or NULL: a new one */
  bool any_shape;                  /* inside inspect: a part of it is taken */
  bool literal;                    /* ... stars in names of datasets stand for themselves */
  int laid;   /* ... then 1 + the axes that are its rows; 0: all but the last */
  bool alone; /* inside inspect: by no further process */
  struct dm_known_files
      *known;            /* inside inspect: many files are examined; or NULL (known_files.h) */
  struct dm_h5_log *log; /* inside inspect: of what HDF5 reads, or NULL (hdf5_driver.h) */
  const struct dm_nesting
      *nesting; /* inside inspect: the virtual dataset whose source is examined */
} dm_trust;

#endif
