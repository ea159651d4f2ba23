/* output_form: the layout of C's elements in its file: contiguous or chunked. */
#ifndef DM_IO_OUTPUT_FORM_H
#define DM_IO_OUTPUT_FORM_H

#include "dataset/dataset.h"

/* All zero: contiguous, without filters. */
typedef struct dm_output_form {
  int64_t chunk_rows, chunk_cols;
  int deflate; /* level 1 to 9; 0: not deflated */
  int zstd;    /* level 1 to 22; 0: not so */
  bool shuffle;
  dm_leads leads;      /* C's leading dimensions, in each of which a chunk has one index */
  bool npy;            /* a NumPy file instead of HDF5 */
  bool zarr;           /* an array of Zarr in a folder */
  dm_dataset existing; /* the file that C is added to; no file name: none */
  bool replaces;       /* a dataset of C's name, which that file has */
} dm_output_form;

bool dm_output_is_chunked(const dm_output_form *form);

/* Whether the finished file is created from the contiguous one, by pack.h or output_recast.c. */
bool dm_output_is_recast(const dm_output_form *form);

/* Whether AT's name ends in .npy, .npz or .zarr. */
bool dm_output_is_npy(const dm_location *at);
bool dm_output_is_npz(const dm_location *at);
bool dm_output_is_zarr(const dm_location *at);

/* Whether C has no name in its file: it is all that is there. */
bool dm_output_is_alone(const dm_location *at);

/* Completes FORM for a matrix of ROWS x COLS: filters without chunks get chunks of about 1 MiB, and
 * chunks are at most as large as the matrix. DM_E_USAGE: chunks that could not be read again, and
 * what .npy files do not support. */
dm_status dm_output_form_complete(dm_output_form *form, dm_dtype dtype, int64_t rows, int64_t cols);

/* Largest size in bytes of a chunked file, including its index. */
dm_status dm_output_form_bytes(const dm_output_form *form, dm_dtype dtype, int64_t rows,
                               int64_t cols, int64_t *bytes);

/* "chunked 256 x 512, shuffle, deflate 4". */
void dm_output_form_text(const dm_output_form *form, char *text, int64_t size);

#endif
