/* stationary: multiplies matrices in the memory of several ranks' GPUs, C where it is.
 *
 * A rank copies its piece of a strip (layout/travel.h) to the workspace, from which the others
 * take it. A strip is multiplied with the whole depth of k at once: elements of C are rounded once,
 * alpha and beta included. Copies and transfers run while products do. */
#ifndef DM_LAYOUT_STATIONARY_H
#define DM_LAYOUT_STATIONARY_H

#include "layout/flow.h"
#include "layout/travel.h"

/* A product under way on one rank. */
typedef struct dm_stationary {
  const dm_travel *t;
  int rank, ranks;
  dm_flow flow;
  bool joining; /* the next item to multiply, with the event */
  dm_event joined;
  dm_event read[DM_READ]; /* the last product of each place */
  dm_event square;        /* of a symmetric C, on the diagonal; or of the sums of a part of k */
  bool waits;             /* these are not posted yet */
  dm_status failure;      /* of posting them */
} dm_stationary;

/* Sends the first strip on its way, or with AHEAD as many as there are places for; then the caller
 * may do other work, collective work included. WAITS: strips are only multiplied once it finishes.
 */
void dm_stationary_start(dm_travel *travel, bool ahead, bool waits, dm_stationary *product);

/* For a caller that waits for other work: strips travel, and are multiplied, as far as they can. */
void dm_stationary_poll(dm_stationary *product);

/* Collective, with the same outcome on all ranks. */
dm_status dm_stationary_finish(dm_stationary *product);

#endif
