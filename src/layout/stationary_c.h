/* stationary: multiplies matrices in the memory of several ranks' GPUs, C where it is.
 *
 * A rank copies its piece of a strip (layout/broadcast.h) to the workspace, from which the others
 * take it. A strip is multiplied with the whole depth of k at once: elements of C are rounded once,
 * alpha and beta included. Copies and transfers run while products do. */
#ifndef DM_LAYOUT_STATIONARY_C_H
#define DM_LAYOUT_STATIONARY_C_H

#include "layout/broadcast.h"
#include "layout/flow.h"

/* A product under way on one rank. */
typedef struct dm_stationary_c {
  const dm_broadcast *t;
  int rank, ranks;
  dm_flow flow;
  bool joining; /* the next item to multiply, with the event */
  dm_event joined;
  dm_event read[DM_READ]; /* the last product of each place */
  dm_event square;        /* of a symmetric C, on the diagonal; or of the sums of a part of k */
  bool waits;             /* these are not posted yet */
  dm_status failure;      /* of posting them */
} dm_stationary_c;

/* Sends the first strip on its way, or with AHEAD as many as there are places for; then the caller
 * may do other work, collective work included. WAITS: strips are only multiplied once it finishes.
 */
void dm_stationary_c_start(dm_broadcast *broadcast, bool ahead, bool waits,
                           dm_stationary_c *product);

/* For a caller that waits for other work: strips travel, and are multiplied, as far as they can. */
void dm_stationary_c_poll(dm_stationary_c *product);

/* Collective, with the same outcome on all ranks. */
dm_status dm_stationary_c_finish(dm_stationary_c *product);

#endif
