/* virtual_slabs: mappings of virtual datasets with more than two dimensions. */
#ifndef DM_INSPECT_VIRTUAL_SLABS_H
#define DM_INSPECT_VIRTUAL_SLABS_H

#include "dataset/composite.h"
#include "inspect/hdf5_selection.h"

/* Reads what SPACE (of HDF5) selects, for the virtual dataset OF. DM_E_INPUT: no box with steps. */
dm_status dm_slab_read(const dm_location *of, int64_t space, dm_slab *slab);

/* Adds to MADE, the matrix of the virtual dataset OF whose first OF_ROWS axes are its rows, the
 * elements TO: those of FROM in SOURCE, which is laid anew. */
dm_status dm_slab_map(const dm_location *of, const dm_slab *to, int of_rows, dm_slab *from,
                      dm_dataset *source, dm_composer *made);

#endif
