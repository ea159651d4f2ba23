/* hdf5_has: what an object of HDF5 has: attributes, and links to other objects. HDF5 fails where
 * one byte of its metadata is damaged; that something cannot be looked up does not mean that it is
 * not there. Other files do not call H5Aexists, H5Lexists and their like (tests/layers.py). */
#ifndef DM_DATASET_HDF5_HAS_H
#define DM_DATASET_HDF5_HAS_H

#include <hdf5.h>
#include <stdbool.h>

#include "dataset/dataset.h"

/* Each returns DM_E_IO, with the name of what could not be looked up or opened, if HDF5 fails; AT
 * is the dataset in question, for messages. OBJECT and GROUP may be a file: its root group. */

dm_status dm_h5_has_attribute(const dm_location *at, hid_t object, const char *name, bool *has);

/* NAME is that of a link in GROUP, or a path in it whose other components exist. ACCESS as in HDF5,
 * such as H5P_DEFAULT. */
dm_status dm_h5_has_link(const dm_location *at, hid_t group, const char *name, hid_t access,
                         bool *has);

/* *attribute is open, for the caller to close (DM_H5_HELD); negative: there is none. */
dm_status dm_h5_open_attribute(const dm_location *at, hid_t object, const char *name,
                               hid_t *attribute);

/* *member is the open object to which the link NAME leads, for the caller to close; negative: there
 * is no such link, or it leads nowhere. Links into other files are followed if ELSEWHERE; else they
 * are an error, DM_E_INPUT. */
dm_status dm_h5_open_member(const dm_location *at, hid_t group, const char *name, bool elsewhere,
                            hid_t *member);

/* *count is the number of OBJECT's attributes. */
dm_status dm_h5_count_attributes(const dm_location *at, hid_t object, int64_t *count);

/* An error ends the visits and is returned. */
typedef dm_status dm_h5_visit(void *context, hid_t object, const char *attribute);

/* Calls VISIT for each attribute of OBJECT. */
dm_status dm_h5_each_attribute(const dm_location *at, hid_t object, dm_h5_visit *visit,
                               void *context);

/* DM_E_IO: the attribute NAME of OBJECT, which is there, cannot be read; HDF5's error stack says
 * why. */
dm_status dm_h5_unreadable(const dm_location *at, hid_t object, const char *name);

#endif
