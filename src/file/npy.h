/* npy: NumPy's format for one array: a magic number, a header that is a Python dictionary, and the
 * packed elements. As a dataset it has no name. */
#ifndef DM_FILE_NPY_H
#define DM_FILE_NPY_H

#include "file/inspect_impl.h"

extern const dm_format dm_format_npy;

enum { DM_NPY_HEADER = 256, DM_NPY_TYPE = 8 };

/* TEXT: as NumPy writes DTYPE, with its byte order. DM_E_USAGE: NumPy has no such type. */
dm_status dm_npy_type(dm_dtype dtype, char text[DM_NPY_TYPE]);

/* Writes the header of a row-major array of TYPE to TEXT; SHAPE: "", "3," or "3, 4". Returns its
 * length, a multiple of 64. */
int64_t dm_npy_header_of(const char *type, const char *shape, char text[DM_NPY_HEADER]);

/* Writes the header of a row-major matrix to TEXT; its *LENGTH is a multiple of 64. DM_E_USAGE:
 * NumPy has no such type. */
dm_status dm_npy_header(dm_dtype dtype, int64_t rows, int64_t cols, const dm_leads *leads,
                        char text[DM_NPY_HEADER], int64_t *length);

#endif
