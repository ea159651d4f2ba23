/* zarr_attributes: attributes of a node of Zarr, as those of an object of HDF5. */
#ifndef DM_INSPECT_ZARR_ATTRIBUTES_H
#define DM_INSPECT_ZARR_ATTRIBUTES_H

#include "dataset/zarr.h"

/* Writes the attributes of NODE to the open HDF5 object OBJECT: numbers, truth values and texts,
 * and lists of them; others as the text of JSON. ZARR: what an array's metadata say; NULL: a group.
 * By xarray's rule the fill value of an array of version 2 that xarray has written is a missing
 * value; it becomes the attribute _FillValue. */
dm_status dm_zarr_attributes(const dm_location *at, const dm_zarr_node *node, const dm_zarr *zarr,
                             int64_t object);

#endif
