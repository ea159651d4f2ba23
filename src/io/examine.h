/* examine: the work of the inspecting child: opens the dataset and accepts or rejects it. */
#ifndef DM_IO_EXAMINE_H
#define DM_IO_EXAMINE_H

#include "io/inspect.h"

typedef struct dm_question {
  dm_location at;
  dm_trust trust;
  bool provenance; /* whether provenance is wanted */
} dm_question;

typedef struct dm_finding {
  dm_dataset dataset;
  dm_attributes provenance;
} dm_finding;

/* A dm_child_work: dm_question -> dm_finding. */
dm_status dm_examine(const void *question, void *finding);

/* Special values instead of an open file or dataset. */
enum { DM_UNOPENED = -1, DM_NOT_FOLLOWED = -2 };

/* Opens AT's file if it is a regular file, notes its identity in FIND, and starts HDF5. *file is an
 * HDF5 identifier, or DM_UNOPENED for a NumPy file, for which FIND is then complete. */
dm_status dm_examine_open(const dm_location *at, const dm_trust *trust, dm_dataset *find,
                          int64_t *file);

/* Fills FIND from the open object SET. */
dm_status dm_examine_dataset(const dm_trust *trust, int64_t file, int64_t set, dm_dataset *find);

/* Calls VISIT with SET for each dataset of FILE that hard links reach, once each, and then for each
 * link into another file: with its target if TRUST allows external, unless that is no dataset. NAME
 * starts with a slash. VISIT returns true to stop. False: the file cannot be listed. */
typedef bool dm_visit(void *context, const char *name, int64_t set);
bool dm_each_dataset(int64_t file, const dm_trust *trust, dm_visit *visit, void *context);

/* Fills AT->dataset with the only matrix of FILE (an open HDF5 identifier). */
dm_status dm_find_dataset(int64_t file, const dm_trust *trust, dm_location *at);

/* Checks the filters of the creation list CREATION. (examine_filters.c) */
dm_status dm_examine_filters(int64_t creation, const dm_trust *trust, dm_dataset *find);

/* Whether SET's shape may be defined in other files, which must not be opened. */
bool dm_examine_is_virtual(int64_t set);

/* Fills in shape, layout, filters, offset and sizes of the open dataset SET; FIND has its type. */
dm_status dm_examine_storage(int64_t file, int64_t set, const dm_trust *trust, dm_dataset *find);

#endif
