/* npy_header: the header that NumPy writes before the elements of an array: a magic number and a
 * Python dictionary, with the names of types. */
#ifndef DM_DATASET_NPY_HEADER_H
#define DM_DATASET_NPY_HEADER_H

#include "dataset/dataset.h"

enum { DM_NPY_MAGIC = 6 }; /* characters of the magic number */

/* The type that NumPy calls NAME, without its byte order; DM_DTYPE_NONE: none of damier's. */
dm_dtype dm_npy_dtype(const char *name);

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
