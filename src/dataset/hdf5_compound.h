/* hdf5_compound: finds the numbers inside of the elements of a dataset of HDF5 (compound.h). */
#ifndef DM_DATASET_HDF5_COMPOUND_H
#define DM_DATASET_HDF5_COMPOUND_H

#include <hdf5.h>

#include "dataset/trust.h"

/* Fills type and record of FIND from TYPE, or from its member that FIND's name ends with, of a
 * dataset of RANK dimensions. DM_E_INPUT: it holds no numbers, or others, too. */
dm_status dm_h5_read_compound(const dm_trust *trust, hid_t type, int rank, dm_dataset *find);

/* If FIND's name, which does not exist in FILE, is that of a dataset and of a member of its
 * elements, "/group/table.member": where the dataset's name ends, as FIND->compound.path.
 * Otherwise 0. */
dm_status dm_h5_split_member(hid_t file, hid_t access, dm_dataset *find);

/* The dataset's own name, without a member. */
const char *dm_h5_set_name(const dm_dataset *dataset, char name[DM_PATH]);

/* The dimensions of the matrix in SET, which is FIND: of the dataset, and of its elements. */
dm_status dm_h5_matrix_extents(const dm_dataset *find, hid_t set, dm_axes *axes);

/* Adds the chunks of creation list CREATION to AXES, those of FIND; false: they have other
 * dimensions. */
bool dm_h5_matrix_chunks(const dm_dataset *find, hid_t creation, dm_axes *axes);

/* Whether elements of FIND take other bytes in the file than in memory, where HDF5 would read them
 * as TYPE: they have strings of any length beside numbers. Only threads read such. */
bool dm_h5_compound_is_loose(const dm_dataset *find, hid_t type);

/* Writes "arrays of 30 f64", "c64" or "compounds with v (30 f64), t (i64)" to TEXT, which stays as
 * it is if TYPE, of a dataset of RANK dimensions, holds no numbers. */
void dm_h5_describe_compound(hid_t type, int rank, char *text, size_t size);

/* Writes "values_block_0 (30 f64), index (i64)" to TEXT: the members of the compound TYPE that hold
 * numbers. */
void dm_h5_list_members(hid_t type, char *text, size_t size);

#endif
