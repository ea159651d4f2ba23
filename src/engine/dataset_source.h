/* dataset_source: op(A) and op(B) from datasets: shares come by prefetch.h. */
#ifndef DM_ENGINE_DATASET_SOURCE_H
#define DM_ENGINE_DATASET_SOURCE_H

#include "engine/dataset_input.h"
#include "engine/prefetch.h"
#include "engine/source.h"

typedef struct dm_dataset_source {
  dm_dataset_input inputs[2];
  bool copies; /* whatever the page cache has */ /* of A and of B; set by the caller, all with the
                                                    same read-ahead */
  dm_prefetch prefetch;
} dm_dataset_source;

extern const dm_source_ops dm_source_datasets; /* of a dm_dataset_source */

/* Bytes that this rank has read. */
int64_t dm_dataset_source_bytes(const dm_dataset_source *source);

#endif
