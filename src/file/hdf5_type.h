/* hdf5_type: damier's element types in HDF5. */
#ifndef DM_FILE_HDF5_TYPE_H
#define DM_FILE_HDF5_TYPE_H

#include <hdf5.h>

#include "file/dataset.h"

enum { DM_TYPE_TEXT = 96 };

/* The element type of TYPE, and whether its bytes are SWAPPED; else false, and TEXT describes the
 * type. BFLOAT16: an attribute says that uint16 elements are bfloat16. */
bool dm_h5_read_type(hid_t type, bool bfloat16, dm_dtype *dtype, bool *swapped,
                     char text[DM_TYPE_TEXT]);

/* A new type for writing DTYPE in this machine's byte order; < 0: failed. */
hid_t dm_h5_make_type(dm_dtype dtype);

#endif
