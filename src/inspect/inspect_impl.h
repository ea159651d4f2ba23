/* inspect_impl: the work of the inspecting child: opens the dataset and accepts or rejects it. */
#ifndef DM_INSPECT_INSPECT_IMPL_H
#define DM_INSPECT_INSPECT_IMPL_H

#include "inspect/inspect.h"

typedef struct dm_inspection {
  dm_location at;
  dm_trust trust;
  bool provenance; /* whether provenance is wanted */
} dm_inspection;

typedef struct dm_finding {
  dm_dataset dataset;
  dm_attributes provenance;
} dm_finding;

/* A dm_child_work: dm_inspection -> dm_finding. */
dm_status dm_examine(const void *question, void *finding);

/* A format besides HDF5: a file that holds one packed array. */
typedef struct dm_format {
  const char *name;
  bool (*is)(int fd); /* whether the open file FD is one, by its first bytes */
  /* Fills FIND, whose location and file are set, from the untrusted open file FD: shape, type, byte
   * order, layout, offset and bytes. DM_E_INPUT says what is invalid or unsupported. */
  dm_status (*examine)(int fd, const dm_trust *trust, dm_dataset *find);
} dm_format;

extern const dm_format *const dm_formats[]; /* NULL at the end (formats.c) */

/* Opens the file of AT if it is a regular one: others may block or have side effects. */
dm_status dm_examine_open_regular(const dm_location *at, int *fd);

/* Opens AT's file if it is a regular file, notes its identity in FIND, and starts HDF5. *file is an
 * HDF5 identifier, or negative for a file of another format, for which FIND is then complete. Of a
 * folder of Zarr it is a mirror (zarr_mirror.h); if the folder is an array, NAME is that in *file,
 * else "". */
dm_status dm_examine_open(const dm_location *at, const dm_trust *trust, dm_dataset *find,
                          int64_t *file, char name[DM_PATH]);

/* Opens FIND->at, or the only matrix of the file, and fills FIND; PROVENANCE may be NULL. */
dm_status dm_examine_at(const dm_trust *trust, dm_dataset *find, dm_attributes *provenance);

/* Fills FIND from the open object SET. */
dm_status dm_examine_dataset(const dm_trust *trust, int64_t file, int64_t set, dm_dataset *find);

/* Fills AT->dataset with the only matrix of FILE (an open HDF5 identifier). */
dm_status dm_find_dataset(int64_t file, const dm_trust *trust, dm_location *at);

/* DM_E_INPUT: why the open OBJECT, which is no dataset, cannot be multiplied. */
dm_status dm_no_dataset(const dm_location *at, const dm_trust *trust, int64_t file, int64_t object);

/* DM_E_INPUT: why AT->dataset could not be opened in FILE with the list ACCESS, and what there is
 * instead. HDF5's error stack must be that of the attempt. */
struct dm_h5_exit;
dm_status dm_not_there(const dm_location *at, const dm_trust *trust, int64_t file, int64_t access,
                       const struct dm_h5_exit *leave);

/* Lays FIND's matrix in a dataset with AXES as the user wishes; if its parts are paired, the last
 * of AXES has an extent of 1 and is not the user's. DM_E_INPUT: it has too few or too
 * many dimensions. (examine_storage.c) */
dm_status dm_examine_lay(const dm_trust *trust, const dm_axes *axes, dm_dataset *find);

/* Finds the program that wrote FIND, the open dataset SET of FILE. (origin.c) */
dm_status dm_examine_origin(const dm_trust *trust, int64_t file, int64_t set, dm_dataset *find);

/* ---- complex numbers along an axis of 2 (complex_axis.c) ---- */

/* Which axis of the open dataset SET (negative: a file without marks) with AXES, and elements of
 * FIND's type, holds the parts of complex numbers: *axis. DM_E_INPUT: it cannot be the one that the
 * user or the file states. */
dm_status dm_complex_find(const dm_trust *trust, int64_t set, const dm_axes *axes,
                          const dm_dataset *find, dm_complex_axis *axis);

/* DM_E_INPUT: the user or the file says that SET, a virtual dataset or a source of one, is complex
 * along an axis. */
dm_status dm_complex_refuse_virtual(const dm_trust *trust, int64_t set, const dm_location *at);

/* Lays FIND, so far the reals of a dataset with AXES, as the complex numbers of AXIS. */
dm_status dm_complex_lay(const dm_trust *trust, const dm_axes *axes, dm_complex_axis axis,
                         dm_dataset *find);

/* Whether PART, "[...]", states something for the last of COUNT dimensions. (examine_part.c) */
bool dm_part_reaches(const char *part, int count);

/* Examines all files that FIND->at names, and makes FIND all of them. (examine_stack.c) */
dm_status dm_examine_stack(const dm_trust *trust, dm_dataset *find);

/* Makes FIND, all of a dataset, the part of it that its name states. (examine_part.c) */
dm_status dm_examine_part(const dm_trust *trust, dm_dataset *find);

/* Makes FIND the constant component of openPMD that GROUP is: *is. (examine_constant.c) */
dm_status dm_examine_constant(const dm_trust *trust, int64_t group, dm_dataset *find, bool *is);

/* Makes FIND, a line of numbers, the matrix that FOLD says. (examine_fold.c) */
dm_status dm_examine_fold(const dm_fold *fold, dm_dataset *find);

/* The n of n(n + 1)/2 = COUNT; 0: there is none. */
int64_t dm_fold_side(int64_t count);

/* How many of FIND's axes are the rows of the part that its name states; -1: it states none. */
int dm_examine_part_rows(const dm_trust *trust, const dm_dataset *find);

/* Examines all sources of the virtual dataset SET, whose creation list is CREATION; fills in shape
 * and FIND->composite. (examine_virtual.c) */
dm_status dm_examine_virtual(int64_t set, int64_t creation, const dm_trust *trust,
                             dm_dataset *find);

/* Fills in shape, layout, filters, offset and sizes of the open dataset SET; FIND has its type. */
dm_status dm_examine_storage(int64_t file, int64_t set, const dm_trust *trust, dm_dataset *find);

/* Fills in type, shape, layout, filters and sizes of FIND, an array of Zarr, whose mirror is SET.
 * (examine_zarr.c) */
dm_status dm_examine_zarr(const dm_trust *trust, int64_t set, dm_dataset *find);

/* Reads into FIND, which has type and shape, what stands beside the numbers of the open dataset
 * SET. DM_E_INPUT: the numbers are not the values. (examine_meaning.c) */
dm_status dm_examine_meaning(const dm_trust *trust, int64_t file, int64_t set, dm_dataset *find);

/* ---- examines many datasets at once, in several processes ----
 *
 * HDF5 serves one thread at a time, and opening a file may wait for storage far away. */

/* Fills *AT with the location of dataset I, below the number of datasets. */
typedef dm_status dm_ahead_name(const void *owner, int64_t i, dm_location *at);

/* All zero: nothing was examined. */
typedef struct dm_ahead {
  struct dm_ahead_work *work; /* in memory that the processes share */
  int64_t first, count, bytes;
} dm_ahead;

/* Examines datasets FIRST to FIRST + COUNT - 1. What fails, or is made of others, is left out: the
 * caller examines it again, for the error. Call in the inspecting child only. */
void dm_ahead_examine(dm_ahead *ahead, const dm_trust *trust, dm_ahead_name *name,
                      const void *owner, int64_t first, int64_t count);

/* Fills FIND with dataset I; false: not examined, or not as VECTOR though it has one dimension. */
bool dm_ahead_find(const dm_ahead *ahead, int64_t i, dm_vector vector, dm_dataset *find);

void dm_ahead_free(dm_ahead *ahead);

#endif
