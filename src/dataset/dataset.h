/* dataset: the properties of a matrix in an HDF5 file, found by inspection. */
#ifndef DM_DATASET_DATASET_H
#define DM_DATASET_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dtype.h"
#include "core/status.h"
#include "core/view.h"
#include "dataset/axes.h"
#include "dataset/compound.h"
#include "dataset/fold.h"
#include "dataset/meaning.h"

enum { DM_PATH = 1024, DM_ATTRIBUTES = 45, DM_ATTRIBUTE_NAME = 32, DM_ATTRIBUTE_TEXT = 1400 };

/* The axis of 2 that holds the real and imaginary parts of complex numbers, as the user states it;
 * AUTO: the last one, if the file says so. */
typedef enum dm_complex_axis {
  DM_COMPLEX_AUTO,
  DM_COMPLEX_LAST,
  DM_COMPLEX_FIRST,
  DM_COMPLEX_NONE
} dm_complex_axis;

/* What the members of complex numbers are called: r and i by h5py, re and im by PyTables, ... */
typedef enum dm_complex_names {
  DM_NAMES_R_I,
  DM_NAMES_RE_IM,
  DM_NAMES_REAL_IMAG,     /* MATLAB, Octave, Armadillo */
  DM_NAMES_REAL_IMAGINARY /* hdf5r */
} dm_complex_names;

/* FILE.h5:/path/to/dataset[PART]. An empty dataset means the only 2-D dataset of the file or, after
 * inspection, a NumPy file. */
typedef struct dm_location {
  char file[DM_PATH];
  char dataset[DM_PATH];
  char part[DM_PATH]; /* "[0:10, ::2]", or "": all of it */
  int64_t row_axes;   /* the first dimensions, which are the rows; 0: a matrix has two */
  dm_complex_axis complex_axis;
  dm_fold fold;           /* it is a line of numbers, read as a matrix */
  dm_complex_names names; /* of an output */
} dm_location;

/* DM_E_USAGE: TEXT names no file or is too long. */
dm_status dm_location_parse(const char *text, dm_location *location);

enum { DM_NAME = 3 * DM_PATH };

/* Writes "FILE:/dataset[PART]", or "FILE" without a dataset, to TEXT and returns it. */
const char *dm_location_name(const dm_location *at, char text[DM_NAME]);

typedef enum dm_layout { DM_CONTIGUOUS, DM_CHUNKED, DM_COMPACT, DM_VIRTUAL } dm_layout;

enum {
  DM_FILTER_DEFLATE = 1,
  DM_FILTER_SHUFFLE = 2,
  DM_FILTER_FLETCHER32 = 4,
  DM_FILTER_OTHER = 8,
  DM_FILTER_LZF = 16,
  DM_FILTER_ZSTD = 32, /* these as in codec.h */
  DM_FILTER_LZ4 = 64,
  DM_FILTER_BITSHUFFLE = 128,
  DM_FILTER_BLOSC = 256,
  DM_FILTER_BLOSC2 = 512,
  DM_FILTER_CODECS = 992,
  DM_FILTER_CRC32C = 1024,
  DM_FILTER_TRANSPOSE = 2048,
  DM_FILTER_SHARDS = 4096, /* many chunks are in one file */
  DM_FILTERS_END = 8192
};

/* How to read a dataset of one dimension; DM_NO_VECTOR: it has two. */
typedef enum dm_vector { DM_NO_VECTOR, DM_AS_COLUMN, DM_AS_ROW } dm_vector;

/* The leading dimensions of a stack of matrices, which are one below the other: 4 x 5 of 4 x 5 x 20
 * x 30 are those of 20 matrices, which count as one of 400 x 30. COUNT 0: a single matrix, which is
 * written as one dimension if it is a VECTOR. */
typedef struct dm_leads {
  int count;
  dm_vector vector;
  int64_t extent[DM_AXES];
} dm_leads;

int64_t dm_leads_entries(const dm_leads *leads); /* at least 1 */

/* Several files that HDF5 wrote as one (members.h). */
typedef enum dm_members_kind {
  DM_MEMBERS_NONE,
  DM_MEMBERS_FAMILY, /* offsets are those of its files one after the other */
  DM_MEMBERS_SPLIT   /* offsets are those of the file of elements */
} dm_members_kind;

/* Programs in which the first index runs fastest: their matrices are those of the file transposed.
 */
typedef enum dm_origin {
  DM_ORIGIN_UNKNOWN,
  DM_ORIGIN_MATLAB,
  DM_ORIGIN_OCTAVE,
  DM_ORIGIN_R,
  DM_ORIGIN_SCILAB,
  DM_ORIGIN_CGNS,
  DM_ORIGIN_ARMADILLO, /* perhaps: only the name of its dataset says so */
  DM_ORIGINS_END
} dm_origin;

const char *dm_origin_name(dm_origin origin); /* "MATLAB"; "": not known */

/* Where the parts of complex numbers are in a file. */
typedef enum dm_parts {
  DM_PARTS_TOGETHER, /* in elements of a complex type, or the numbers are real */
  DM_PARTS_PAIRED,   /* in neighbouring reals: the last axis of 2, of which AXES have 1 */
  DM_PARTS_LAST,     /* apart, along a last axis of 2 that AXES leave out, ... */
  DM_PARTS_FIRST     /* ... or a first one; read as reals (dm_dataset_reals) */
} dm_parts;

const char *dm_parts_text(dm_parts parts); /* for people; "": together */

/* "folded into 30 x 30, row after row"; "": it is not */
enum { DM_FOLD_TEXT = 100 };
const char *dm_fold_text(const dm_fold *fold, char text[DM_FOLD_TEXT]);

enum { DM_FEW_CHUNKS = 16, DM_FEW_STEPS = 3 };

/* Where the chunks of one of many datasets are, and their filters (chunk_filter.h), if they are
 * few: then reading needs no HDF5. Row by row; all are written. */
typedef struct dm_few_chunks {
  int chunks; /* 0: not known */
  int steps;
  int step[DM_FEW_STEPS];
  int32_t shuffled_size[DM_FEW_STEPS];
  int64_t offset[DM_FEW_CHUNKS];
  int32_t bytes[DM_FEW_CHUNKS];
  uint32_t skipped[DM_FEW_CHUNKS];
} dm_few_chunks;

/* Plain data, but for COMPOSITE and CENTERING: sent from a child process and to other ranks. */
typedef struct dm_dataset {
  dm_location at; /* with the dataset's name filled in */
  /* Its elements, if they are in host memory instead of a file (dm_dataset_set_memory); base NULL:
   * they are not. */
  dm_view memory;
  int64_t rows, cols;
  dm_dtype dtype;
  bool swapped; /* opposite byte order to this machine's */
  bool bits;    /* bit fields of 8 bits, often booleans, read as u8 */
  dm_vector vector;
  dm_complex_names names; /* if it is complex */
  bool genotypes;         /* packed ones of PLINK (genotypes.h), read as i8 */
  bool by_columns;        /* column-major, only in files of NumPy and PLINK */
  dm_layout layout;
  dm_members_kind members; /* its file is one of several, that which describes them */
  bool zarr;               /* an array of Zarr in a folder, whose chunks are files (zarr.h) */
  int64_t offset; /* of the data in the file, user block included; -1: only HDF5 can read it */
  int64_t chunk_rows, chunk_cols; /* 0: not chunked; of the largest chunks of all sources */
  dm_few_chunks few;
  dm_compound
      compound; /* its numbers are inside of the file's elements; all zero: they are these */
  dm_axes axes; /* count 0: the dataset's axes are rows and columns, or VECTOR */
  dm_origin origin;
  dm_parts parts;
  int64_t parts_offset,
      parts_chunk;  /* if apart: offset of the reals, their chunks along the axis */
  dm_leads leads;   /* of its matrices, if it has more than two dimensions */
  int64_t batch;    /* how many operands it holds (entries.h); 0: one */
  unsigned filters; /* DM_FILTER_... */
  bool elsewhere;   /* the user allowed links into other files, and data there */
  bool stack;       /* its name states many files: those of its sources */
  bool no_data;     /* ... missing data, which reads as the fill value */
  bool swmr;        /* ... a file that a writer in SWMR mode goes on changing */
  int64_t stored_bytes;
  /* Of the file when inspected (members.h: of several); of Zarr, of the metadata, with the bytes
   * and the latest change of all files. */
  uint64_t device, inode;
  int64_t file_bytes, modified_ns; /* to detect changes */
  dm_meaning meaning;
  /* The datasets it is made of, if its layout is DM_VIRTUAL (composite.h); else NULL. Copies of
   * the dataset share it; the owner of the first one calls dm_dataset_free. */
  struct dm_composite *composite;
  /* How its lines are centered, known when they have been read once; NULL: they are not. */
  const dm_centering *centering;
} dm_dataset;

/* DATASET, which has VIEW's shape and type and no file, is read from VIEW. */
void dm_dataset_set_memory(dm_dataset *dataset, dm_view view);

/* Whether it has no elements: rows or columns are 0. As the k of a product it is one row or column
 * of zeros, which is what readers read: the product is 0. */
static inline bool dm_dataset_is_empty(const dm_dataset *dataset) {
  return dataset->rows == 0 || dataset->cols == 0;
}

/* The type of DATASET's values, which may differ from the stored one. */
static inline dm_dtype dm_dataset_type(const dm_dataset *dataset) {
  const dm_dtype type = dataset->meaning.active ? dataset->meaning.type : dataset->dtype;
  return dataset->centering && dm_dtype_is_integer(type) ? DM_F64 : type;
}

/* Whether A and B are the same part of one dataset, read alike. */
bool dm_dataset_is_same(const dm_dataset *a, const dm_dataset *b);

/* The axes of DATASET, also of a plain matrix or vector. */
dm_axes dm_dataset_axes(const dm_dataset *dataset);

/* Lays DATASET's matrix: the first OF_ROWS of AXES are its rows. Fills in axes, vector, rows,
 * columns and chunks; false: 64 bits cannot count its elements. */
bool dm_dataset_lay(dm_dataset *dataset, const dm_axes *axes, int of_rows);

/* Makes REALS the dataset of the reals that the complex numbers of DATASET, whose parts are apart,
 * consist of. */
void dm_dataset_reals(const dm_dataset *dataset, dm_dataset *reals);

/* "1000 x 20 x 30"; of a dataset with its leading dimensions */
enum { DM_SHAPE_TEXT = 21 * DM_AXES + 4 };
const char *dm_axes_text(const dm_axes *axes, char text[DM_SHAPE_TEXT]);
const char *dm_dataset_text(const dm_dataset *dataset, char text[DM_SHAPE_TEXT]);

/* Frees what copies of DATASET share; once for all copies. */
void dm_dataset_free(dm_dataset *dataset);

/* Bytes of the elements of DATASET, which is no composite, in its file. */
int64_t dm_dataset_bytes(const dm_dataset *dataset);

/* Numbers in an element of its file: 1, but for compounds and arrays. */
int64_t dm_dataset_each(const dm_dataset *dataset);

/* Bytes of ROWS x COLS numbers of DATASET, which fill whole elements, in its file: *bytes; false:
 * 64 bits cannot count them. */
bool dm_dataset_stored(const dm_dataset *dataset, int64_t rows, int64_t cols, int64_t *bytes);

/* Chunks in the file, or in all sources; 0: it has none. */
int64_t dm_dataset_chunks(const dm_dataset *dataset);

/* Text attributes of a dataset: provenance. */
typedef struct dm_attribute {
  char name[DM_ATTRIBUTE_NAME];
  char text[DM_ATTRIBUTE_TEXT];
} dm_attribute;

typedef struct dm_attributes {
  int count;
  dm_attribute list[DM_ATTRIBUTES];
} dm_attributes;

/* Adds NAME = printf(FORMAT); DM_E_BUG: the table is full, or the text too long. */
dm_status dm_attributes_add(dm_attributes *attributes, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The text of NAME, or NULL. */
const char *dm_attributes_find(const dm_attributes *attributes, const char *name);

#endif
