/* gather: a request to a transport. */
#ifndef DM_TRANSPORT_GATHER_H
#define DM_TRANSPORT_GATHER_H

#include <stdint.h>

#include "comm/comm.h"

/* One panel, gathered from all ranks of a group: rank r contributes BYTES[r] bytes, which stand at
 * OFFSET[r] of every rank's slot.  All ranks of the group post the same gathers, each under its own
 * tag; the order may differ.  From exposed shares every rank takes what it names: another one may
 * gather other pieces (see GIVEN). */
typedef struct dm_gather {
  const dm_comm *group;
  const void *own; /* this rank's piece; may be where it belongs in the slot already */
  void *slot;
  const int64_t *offset, *bytes; /* one entry per rank of the group; read while posting only */
  const int64_t *source;         /* where the pieces stand in what their ranks exposed as ... */
  int share;                     /* ... this; both are read by transports of GPU memory only */
  /* (optional) Where in this rank's share the pieces stand that the others take, by taker; NULL:
   * all take OWN.  Read by transports that send GPU memory. */
  const int64_t *given, *given_bytes;
  /* (optional) Pieces are read when their ranks have filled the share this many times; 0: once.  A
   * group's gathers of one share are posted with times that do not fall. */
  uint64_t filling;
  int tag; /* 0 .. 32767, not used by another gather of the group under way */
} dm_gather;

#endif
