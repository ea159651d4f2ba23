/* dataset_source: op(A) or op(B), or both, from datasets; prefetch.h loads the shares. */
#ifndef DM_ENGINE_DATASET_SOURCE_H
#define DM_ENGINE_DATASET_SOURCE_H

#include "engine/dataset_input.h"
#include "engine/endpoint.h"
#include "engine/prefetch.h"

typedef struct dm_dataset_source {
  dm_dataset_input inputs[2]; /* of A and B; set by the caller, with the same read-ahead; without a
                                 reader: not from a dataset */
  bool copies;                /* read even what is in the page cache */
  dm_prefetch prefetch;
  dm_event *turned; /* of the matrix that is made of the other one: for each panel of the layer, the
                       transposition and, until it is posted, UINT64_MAX; or NULL */
  bool asked;       /* the other one is being loaded */
} dm_dataset_source;

extern const dm_source_ops dm_source_datasets; /* STATE: a dm_dataset_source */

/* Bytes that this rank has read. */
int64_t dm_dataset_source_bytes(const dm_dataset_source *source);

#endif
