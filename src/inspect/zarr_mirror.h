/* zarr_mirror: what a store of Zarr holds, as a file of HDF5 in memory: groups, arrays without
 * their elements, and attributes. So the code for files of HDF5 also finds the matrix of a store,
 * lists what else is there, and applies masks and factors beside the numbers.
 *
 * Call in the inspecting child, with the lock of hdf5_use.h. */
#ifndef DM_INSPECT_ZARR_MIRROR_H
#define DM_INSPECT_ZARR_MIRROR_H

#include "inspect/inspect.h"

/* Mirrors AT's folder as *file, which the caller closes, and sets FIND's identity to that of the
 * folder's own metadata. If the folder is an array, so is its group, if it is in one; NAME is then
 * the array's path in *file, else "". Only what matters to the array that AT names is there, if it
 * names one. DM_E_INPUT: invalid metadata. */
dm_status dm_zarr_mirror(const dm_location *at, const dm_trust *trust, int64_t *file,
                         char name[DM_PATH]);

#endif
