/* stationary: a product of several ranks whose C stays where it is. Each rank has its rows of op(A)
 * beside its rows of C, and op(B) travels in strips (product/strips.h), or the other way round.
 *
 * A rank copies its piece of a strip to its workspace, from which the others take it; the strip
 * gathered there is multiplied with the whole depth of k at once, so that elements of C are rounded
 * once, alpha and beta included. Copies and transfers run while products do. */
#ifndef DM_PRODUCT_STATIONARY_H
#define DM_PRODUCT_STATIONARY_H

#include "engine/links.h"
#include "product/distributed.h"
#include "product/strips.h"

/* What later products reuse; initially zero. */
typedef struct dm_stationary {
  char *tried; /* the transport's name as the user stated it; NULL: none was tested */
  dm_links links;
  dm_transport *transport;
  dm_backend *backend;
  void *memory; /* exposed to the other ranks */
  int64_t bytes;
  uint64_t fillings; /* of all earlier products */
} dm_stationary;

/* One product. */
typedef struct dm_travel {
  const dm_run *run;
  dm_stationary *kept;
  dm_strips strips;       /* of the travelling matrix: */
  bool turned;            /* op(A)^T, for C^T = op(B)^T op(A)^T */
  dm_whole_product whole; /* this rank's; B is its part of the travelling matrix */
  bool by_columns;        /* columns of strips are contiguous, */
  bool joins;             /* but arrive in several pieces, which are copied to another place */
  int slots;              /* strips in the workspace at once, */
  int64_t slot_bytes;     /* each in as many bytes; then places for joined strips */
} dm_travel;

/* Collective; BACKEND and WHOLE, this rank's parts of the matrices, must stay until the travel is
 * closed, which is also needed after an error. Not *fits: nothing was done. */
dm_status dm_travel_open(dm_stationary *kept, const dm_run *run, dm_backend *backend,
                         const char *transport, const dm_distributed matrix[3],
                         const dm_whole_product *whole, dm_travel *travel, bool *fits);
void dm_travel_close(dm_travel *travel);

/* Collective, with the same outcome on all ranks: multiplies. MEANWHILE, unless NULL, is called
 * once while a GPU works; it may be collective, and its errors must be agreed. */
dm_status dm_travel_multiply(dm_travel *travel, dm_status (*meanwhile)(void *context),
                             void *context);

/* Collective. Close before the backend. */
void dm_stationary_close(dm_stationary *kept);

#endif
