/* prefetch: this rank's shares of A and B on their way from the files while something else goes on:
 * straight into host memory, or strip by strip to the device (upload_staging.h).
 *
 * A panel of a matrix that the file has row by row is many short runs there; so panels are read
 * together until a run is long enough, and both matrices in the order in which products want them.
 */
#ifndef DM_ENGINE_PREFETCH_H
#define DM_ENGINE_PREFETCH_H

#include "engine/execute.h"
#include "engine/upload_staging.h"

/* Panels that are read together. */
typedef struct dm_passage {
  dm_transit transit;
  bool to_device, begun;
  dm_transfer *reading;    /* to host memory, when it is begun */
  struct dm_passage *next; /* among those that wait to be begun */
} dm_passage;

/* What is brought to one place of a share (plan/tiles.h), perhaps together with places before it.
 */
typedef struct dm_landing {
  dm_passage *passage; /* on its way, to this place first */
  int64_t first;       /* place whose passage brings this one */
} dm_landing;

typedef struct dm_prefetch {
  dm_rank_state *local;
  dm_dataset_input *sources; /* of A and of B; all with the same read-ahead */
  dm_staging *stage;         /* or NULL */
  dm_landing *landings[2];   /* one for each place */
  int64_t places[2];         /* and how many those are */
  dm_passage *next, **last;  /* that wait, in the order in which they are wanted */
  bool posted[2];            /* what resides of the present tile, on behalf of the other matrix */
  int64_t moved;             /* bytes, when it was last looked at */
} dm_prefetch;

/* LOCAL is open; SOURCES stay the caller's.  Close frees also what a failed open has left; before
 * the memory goes that is read into, close the read-ahead. */
dm_status dm_prefetch_open(dm_rank_state *local, dm_dataset_input sources[2],
                           dm_prefetch *prefetch);
void dm_prefetch_close(dm_prefetch *prefetch);

/* As dm_step_calls has them. */
dm_status dm_prefetch_load(dm_prefetch *prefetch, dm_matrix matrix, int64_t panel);
dm_status dm_prefetch_loaded(dm_prefetch *prefetch, dm_matrix matrix, int64_t panel, bool *done);

#endif
