/* output_form: how the elements of C are stored in its file: one after the other, or in chunks. */
#ifndef DM_IO_OUTPUT_FORM_H
#define DM_IO_OUTPUT_FORM_H

#include "io/dataset.h"

/* All zero: contiguous, without filters. */
typedef struct dm_output_form {
  int64_t chunk_rows, chunk_cols;
  int deflate; /* level 1 to 9; 0: not deflated */
  bool shuffle;
  bool npy;            /* a file of NumPy, not of HDF5 */
  dm_dataset existing; /* where its file is named: the file that C is added to */
} dm_output_form;

bool dm_output_is_chunked(const dm_output_form *form);

/* Whether the finished file is made anew from the contiguous one: in chunks, by pack.h, or by
 * recast.h. */
bool dm_output_is_recast(const dm_output_form *form);

/* Whether AT's name is that of a .npy file. */
bool dm_output_is_npy(const dm_location *at);

/* Whether it is that of an archive of them, which is not written. */
bool dm_output_is_npz(const dm_location *at);

/* Completes FORM for a matrix of ROWS x COLS: filters without chunks get chunks of about 1 MiB, and
 * no chunk is larger than the matrix.  DM_E_USAGE for chunks that could not be read again, and for
 * what a .npy file cannot hold. */
dm_status dm_output_form_complete(dm_output_form *form, dm_dtype dtype, int64_t rows, int64_t cols);

/* Bytes that a chunked file takes at most, its index included. */
dm_status dm_output_form_bytes(const dm_output_form *form, dm_dtype dtype, int64_t rows,
                               int64_t cols, int64_t *bytes);

/* "chunked 256 x 512, shuffle, deflate 4": for people. */
void dm_output_form_text(const dm_output_form *form, char *text, int64_t size);

#endif
