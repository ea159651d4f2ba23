/* dataset_source: op(A) or op(B), or both, from datasets, whose shares it loads ahead. */
#ifndef DM_ENGINE_DATASET_SOURCE_H
#define DM_ENGINE_DATASET_SOURCE_H

#include "engine/dataset_input.h"
#include "engine/endpoint.h"
#include "engine/execute.h"

/* ---- loads this rank's shares of A and B from the files in the background: directly into host
 * memory, or strip by strip to the device: threads read rows of the file into a few pinned
 * buffers, and the device's copy engines copy from there ----
 *
 * A panel of a row-major file consists of many short runs; so panels are read together until a
 * run is long enough, and both matrices in the order in which products need them. */

typedef struct dm_prefetch {
  dm_rank_state *local;
  dm_dataset_input *sources;         /* of A and of B, with the same read-ahead */
  struct dm_upload_strip *strips;    /* moving to the device; NULL: none of the shares is there */
  struct dm_panel_place *entries[2]; /* one for each place of the share (plan/tiles.h) */
  int64_t places[2];                 /* number of places */
  struct dm_panel_request *next, **last; /* waiting requests, in the order of need */
  bool made[2];   /* set by the caller: this matrix is the other one, or made of it: not read */
  bool posted[2]; /* this matrix was requested for the tile together with the other one */
  int64_t moved;  /* bytes moved at the last check */
  int64_t asked;  /* number of the panel that was asked for last; of two matrices in turn */
} dm_prefetch;

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

/* Calls of the system that read them. */
int64_t dm_dataset_source_calls(const dm_dataset_source *source);

#endif
