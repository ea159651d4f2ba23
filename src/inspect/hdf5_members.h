/* hdf5_members: files that are a part of what HDF5 wrote with its drivers "family" (x0.h5, x1.h5,
 * ...) and "multi" or "split" (x-m.h5, x-r.h5), which no file shows as a whole. */
#ifndef DM_INSPECT_HDF5_MEMBERS_H
#define DM_INSPECT_HDF5_MEMBERS_H

#include "dataset/dataset.h"

/* DM_E_INPUT: AT's file, which HDF5 cannot open or which does not exist, is such a part, or names
 * them as a family does ("x%d.h5"), and how they become one file; DM_OK: it is none. */
dm_status dm_members_name(const dm_location *at);

#endif
