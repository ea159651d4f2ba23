/* npy: NumPy's file of one array: a magic number, a header that reads as a Python dictionary, and
 * the elements, one after the other.  As a dataset it has no name. */
#ifndef DM_IO_NPY_H
#define DM_IO_NPY_H

#include "io/inspect.h"

/* What the first bytes of a file say that it is; anything else is left to HDF5. */
typedef enum dm_npy_kind { DM_NPY_NONE, DM_NPY_ARRAY, DM_NPY_ARCHIVE } dm_npy_kind;

/* Of the open file FD. */
dm_npy_kind dm_npy_kind_of(int fd);

/* Fills FIND, whose location and file are known, from the open file FD, which may be anybody's.
 * DM_E_INPUT says what is wrong with it, or not read. */
dm_status dm_npy_examine(int fd, const dm_trust *trust, dm_dataset *find);

enum { DM_NPY_HEADER = 256 };

/* Writes the header of a matrix by rows to TEXT; its *LENGTH is a multiple of 64.  DM_E_USAGE:
 * NumPy has no such type. */
dm_status dm_npy_header(dm_dtype dtype, int64_t rows, int64_t cols, char text[DM_NPY_HEADER],
                        int64_t *length);

#endif
