/* hdf5_type: damier's element types, and its attributes, in HDF5. */
#ifndef DM_DATASET_HDF5_TYPE_H
#define DM_DATASET_HDF5_TYPE_H

#include <hdf5.h>
#include <stddef.h>

#include "dataset/dataset.h"

enum { DM_TYPE_TEXT = 96 };

/* The element type of TYPE, and whether its bytes are SWAPPED; else false, and TEXT describes the
 * type. BFLOAT16: an attribute says that uint16 elements are bfloat16. */
bool dm_h5_read_type(hid_t type, bool bfloat16, dm_dtype *dtype, bool *swapped,
                     char text[DM_TYPE_TEXT]);

/* A new type for writing DTYPE in this machine's byte order; < 0: failed. */
hid_t dm_h5_make_type(dm_dtype dtype);

/* The same, with these names for the members of complex numbers. */
hid_t dm_h5_make_named_type(dm_dtype dtype, dm_complex_names names);

/* How the members of TYPE, of complex numbers, are called. */
dm_complex_names dm_h5_complex_names(hid_t type);

/* ---- text attributes of datasets, read from untrusted files and written to our own ---- */

/* Reads the single text or number NAME of OBJECT as TEXT of at most SIZE bytes, truncated and
 * sanitized. *is_text false: there is no such attribute, or it is of another kind. DM_E_IO: it
 * cannot be looked up or read. AT is the dataset in question, for messages. */
dm_status dm_h5_text_of(const dm_location *at, hid_t object, const char *name, char *text,
                        size_t size, bool *is_text);

/* The class of its elements; H5T_NO_CLASS: there is no such attribute. */
dm_status dm_h5_attribute_class(const dm_location *at, hid_t object, const char *name,
                                H5T_class_t *kind);

/* Whether it is WANTED, which has fewer than DM_ATTRIBUTE_TEXT - 1 bytes. */
dm_status dm_h5_text_is(const dm_location *at, hid_t object, const char *name, const char *wanted,
                        bool *is);

/* The single text of fixed length in the dataset SET, truncated to SIZE bytes; "": it has none, or
 * one of more than 250 bytes. */
dm_status dm_h5_text_in(const dm_location *at, hid_t set, char *text, size_t size);

/* The same of the dataset NAME of GROUP; "": there is no such dataset, too. */
dm_status dm_h5_member_text(const dm_location *at, hid_t group, const char *name, char *text,
                            size_t size);

/* Whether an attribute marks a dataset of TYPE, uint16 or two opaque bytes, as bfloat16, as
 * software without that type does. DM_E_INPUT: the attribute is not text. */
dm_status dm_h5_is_bfloat16(const dm_location *at, hid_t set, hid_t type, bool *is);

/* Whether a dataset of damier is complete. */
dm_status dm_h5_is_complete(const dm_location *at, hid_t set, bool *is);

/* Reads all single texts and numbers of OBJECT, as many as fit in ATTRIBUTES. */
dm_status dm_h5_read_attributes(const dm_location *at, hid_t object, dm_attributes *attributes);

/* Writes or replaces NAME = TEXT on OBJECT. */
dm_status dm_h5_write_text(const dm_location *at, hid_t object, const char *name, const char *text);

#endif
