/* prefetch: loads this rank's shares of A and B from the files in the background: directly into
 * host memory, or strip by strip to the device (upload_staging.h).
 *
 * A panel of a row-major file consists of many short runs; so panels are read together until a run
 * is long enough, and both matrices in the order in which products need them. */
#ifndef DM_ENGINE_PREFETCH_H
#define DM_ENGINE_PREFETCH_H

#include "engine/execute.h"
#include "engine/upload_staging.h"

/* Panels that are read together. */
typedef struct dm_panel_request {
  dm_staged_part part;
  bool to_device, begun;
  dm_transfer *reading;          /* transfer to host memory, once started */
  struct dm_panel_request *next; /* list of those not started */
} dm_panel_request;

/* What is loaded into one place of a share (plan/tiles.h), perhaps together with places before
 * it. */
typedef struct dm_panel_place {
  dm_panel_request *request; /* in progress, starting at this place */
  int64_t first;             /* place whose request loads this one */
} dm_panel_place;

typedef struct dm_prefetch {
  dm_rank_state *local;
  dm_dataset_input *sources;      /* of A and of B, with the same read-ahead */
  dm_staging *stage;              /* or NULL */
  dm_panel_place *entries[2];     /* one for each place */
  int64_t places[2];              /* number of places */
  dm_panel_request *next, **last; /* waiting requests, in the order of need */
  bool posted[2]; /* this matrix was requested for the tile together with the other one */
  int64_t moved;  /* bytes moved at the last check */
} dm_prefetch;

/* LOCAL is open; the caller keeps SOURCES. Close also frees what a failed open left; close the
 * read-ahead before the destination memory is freed. */
dm_status dm_prefetch_open(dm_rank_state *local, dm_dataset_input sources[2],
                           dm_prefetch *prefetch);
void dm_prefetch_close(dm_prefetch *prefetch);

/* LOAD and LOADED of dm_source_ops. */
dm_status dm_prefetch_load(dm_prefetch *prefetch, dm_matrix matrix, int64_t panel);
dm_status dm_prefetch_loaded(dm_prefetch *prefetch, dm_matrix matrix, int64_t panel, bool *done);

#endif
