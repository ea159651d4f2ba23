/* hdf5_type: damier's element types, and its attributes, in HDF5. */
#ifndef DM_FILE_HDF5_TYPE_H
#define DM_FILE_HDF5_TYPE_H

#include <hdf5.h>
#include <stddef.h>

#include "file/dataset.h"

enum { DM_TYPE_TEXT = 96 };

/* The element type of TYPE, and whether its bytes are SWAPPED; else false, and TEXT describes the
 * type. BFLOAT16: an attribute says that uint16 elements are bfloat16. */
bool dm_h5_read_type(hid_t type, bool bfloat16, dm_dtype *dtype, bool *swapped,
                     char text[DM_TYPE_TEXT]);

/* A new type for writing DTYPE in this machine's byte order; < 0: failed. */
hid_t dm_h5_make_type(dm_dtype dtype);

/* ---- text attributes of datasets, read from untrusted files and written to our own ---- */

/* Reads the single text or number NAME of OBJECT as TEXT of at most SIZE bytes, truncated and
 * sanitized; false if there is none. */
bool dm_h5_text_of(hid_t object, const char *name, char *text, size_t size);

/* Whether an attribute marks a dataset of uint16 as bfloat16, as software without that type
 * does. */
bool dm_h5_is_bfloat16(hid_t set);

/* Whether a dataset of damier is complete. */
bool dm_h5_is_whole(hid_t set);

/* Reads all single texts and numbers of OBJECT, as many as fit in ATTRIBUTES; none
 * if one of them is in a format of a newer HDF5. */
dm_status dm_h5_read_attributes(const dm_location *at, hid_t object, dm_attributes *attributes);

/* Writes or replaces NAME = TEXT on OBJECT. */
dm_status dm_h5_write_text(const dm_location *at, hid_t object, const char *name, const char *text);

#endif
