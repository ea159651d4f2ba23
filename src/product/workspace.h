/* workspace: memory of each rank's GPU that the other ranks read, with the transport that carries
 * it; both stay open from product to product. */
#ifndef DM_PRODUCT_WORKSPACE_H
#define DM_PRODUCT_WORKSPACE_H

#include "engine/links.h"

enum { DM_WORKSPACE_SHARE = 0 }; /* number of the share that the transport exposes */

/* Initially zero. */
typedef struct dm_workspace {
  char *tried; /* the transport's name as the user stated it; NULL: none was tested */
  dm_links links;
  dm_backend *backend;
  dm_transport *transport; /* NULL: closed */
  void *memory;
  int64_t bytes;
  uint64_t fillings; /* of all earlier products */
  int64_t *lists;    /* five numbers for each rank, for a gather */
} dm_workspace;

/* Collective: at least BYTES on each rank, on the GPU of BACKEND, which must stay open. Not *there:
 * no transport of that name moves GPU memory between these ranks, or a GPU has no memory. */
dm_status dm_workspace_open(dm_workspace *space, const dm_run *run, dm_backend *backend,
                            const char *transport, int64_t bytes, bool *there);

/* Collective, after the transport failed on a rank: closes the transport and the memory. */
void dm_workspace_abandon(dm_workspace *space);

/* Collective. */
void dm_workspace_close(dm_workspace *space);

#endif
