/* gather: describes one gather of a panel. */
#ifndef DM_TRANSPORT_GATHER_H
#define DM_TRANSPORT_GATHER_H

#include <stdint.h>

#include "comm/comm.h"

/* One panel, gathered from all ranks of a group: rank r contributes BYTES[r] bytes, which go to
 * OFFSET[r] in every rank's slot. All ranks of the group post the same gathers, each with its own
 * tag, in any order. With exposed shares each rank pulls the pieces it names; ranks may gather
 * different pieces (see GIVEN). */
typedef struct dm_gather {
  const dm_comm *group;
  const void *own; /* this rank's piece; may already be in its place in the slot */
  void *slot;
  const int64_t *offset, *bytes; /* one entry per rank of the group; read only while posting */
  const int64_t *source; /* offsets of the pieces in the memory that their ranks exposed as ... */
  int share;             /* ... this share; only transports of GPU memory read both */
  /* (optional) Offsets in this rank's share of the pieces that each taker receives; NULL: all
   * receive OWN. Only read by transports that send GPU memory. */
  const int64_t *given, *given_bytes;
  /* (optional) Pieces are read when their ranks have filled the share this many times; 0: once.
   * Values do not decrease from one gather of a share to the next in the group. */
  uint64_t filling;
  int tag; /* 0 .. 32767, not used by another gather of the group under way */
} dm_gather;

#endif
