/* examine: what the inspecting child does: opens the dataset and accepts or refuses it. */
#ifndef DM_IO_EXAMINE_H
#define DM_IO_EXAMINE_H

#include "io/inspect.h"

typedef struct dm_question {
  dm_location at;
  dm_trust trust;
  bool provenance; /* wanted */
} dm_question;

typedef struct dm_finding {
  dm_dataset dataset;
  dm_attributes provenance;
} dm_finding;

/* A dm_child_work: dm_question -> dm_finding. */
dm_status dm_examine(const void *question, void *finding);

/* Fills AT->dataset with the only 2-D dataset of FILE (an open HDF5 identifier). */
dm_status dm_find_dataset(int64_t file, dm_location *at);

/* Shape, layout, filters, offset and sizes of the open dataset SET; FIND has its type. */
dm_status dm_examine_storage(int64_t file, int64_t set, const dm_trust *trust, dm_dataset *find);

#endif
