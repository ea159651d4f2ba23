/* foreign: files and folders of other formats, recognised by their first bytes, and what to do with
 * them. */
#ifndef DM_INSPECT_FOREIGN_H
#define DM_INSPECT_FOREIGN_H

#include "dataset/dataset.h"

/* DM_E_INPUT: names the format of the file AT, which is no .npy file, with a remedy; DM_OK: it
 * holds HDF5's signature where HDF5 looks for it, or cannot be read. */
dm_status dm_foreign_file(const dm_location *at);

/* The same for the folder AT, such as one of Zarr. */
dm_status dm_foreign_folder(const dm_location *at);

#endif
