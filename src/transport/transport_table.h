/* transport_table: what a transport implements, a table of functions. NULL entries are optional;
 * transport.h documents the functions, at their callers. */
#ifndef DM_TRANSPORT_TRANSPORT_TABLE_H
#define DM_TRANSPORT_TRANSPORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"
#include "core/status.h"
#include "core/view.h"

/* One panel, gathered from all ranks of a group: rank r contributes BYTES[r] bytes, which go to
 * OFFSET[r] in every rank's slot. All ranks of the group post the same gathers, each with its own
 * tag, in any order. With exposed shares each rank pulls the pieces it names; ranks may gather
 * different pieces (see SENT). */
typedef struct dm_gather {
  const dm_comm *group;
  const void *own; /* this rank's piece; may already be in its place in the slot */
  void *slot;
  const int64_t *offset, *bytes; /* one entry per rank of the group; read only while posting */
  const int64_t *source; /* offsets of the pieces in the memory that their ranks exposed as ... */
  int share;             /* ... this share; only transports of GPU memory read both */
  /* (optional) Offsets in this rank's share of the pieces that each taker receives; NULL: all
   * receive OWN. Only read by transports that send GPU memory. */
  const int64_t *sent, *sent_bytes;
  /* (optional) Pieces are read when their ranks have filled the share this many times; 0: once.
   * Values do not decrease from one gather of a share to the next in the group. */
  uint64_t filling;
  int tag; /* 0 .. 32767, not used by another gather of the group under way */
} dm_gather;

/* A backend's allocation and copies (backend.h), for transports that stage GPU memory through the
 * host. */
typedef struct dm_mover {
  void *context;
  dm_status (*alloc)(void *context, dm_space space, int64_t bytes, void **memory);
  void (*release)(void *context, dm_space space, void *memory);
  dm_status (*copy)(void *context, dm_view dst, dm_view src, uint64_t *event);
  dm_status (*test)(void *context, uint64_t event, bool *done);
} dm_mover;

enum {
  DM_GATHERS = 16,  /* maximum number under way */
  DM_SHARES = 3,    /* maximum number that a rank exposes */
  DM_SLAB = 2 << 20 /* exposed memory is a multiple of these bytes; see expose */
};

typedef struct dm_transport_config {
  const dm_comm *group;  /* ranks that open it together; gathers may use parts of it */
  int device;            /* index of this rank's visible GPU; -1: none */
  const dm_comm *node;   /* (optional) the ranks of GROUP on this rank's node; NULL: all */
  const dm_mover *mover; /* (optional) */
} dm_transport_config;

typedef struct dm_transport dm_transport;

typedef struct dm_transport_ops {
  const char *name;
  const char *about;
  const char *not_built; /* NULL, or why */
  bool device_memory;    /* pieces and slots are GPU memory */
  bool one_node;         /* serves only ranks of one node */
  bool several_nodes;    /* has no use within one */
  dm_status (*open)(const dm_transport_config *config, dm_transport **transport);
  void (*close)(dm_transport *transport);
  void (*abandon)(dm_transport *transport); /* (optional) */
  dm_status (*expose)(dm_transport *transport, int share, const dm_comm *group, void *memory,
                      int64_t bytes); /* (optional) */
  dm_status (*shared_slots)(dm_transport *transport, int share, const dm_comm *group, int64_t bytes,
                            void **memory);                                  /* (optional) */
  void (*refilled)(dm_transport *transport, int share, uint64_t times);      /* (optional) */
  bool (*drained)(const dm_transport *transport, int share, uint64_t times); /* (optional) */
  dm_status (*post)(dm_transport *transport, const dm_gather *gather, int *ticket);
  dm_status (*test)(dm_transport *transport, int ticket, bool *done);
  dm_status (*yield)(dm_transport *transport);        /* (optional) */
  int64_t (*received)(const dm_transport *transport); /* (optional) replaces RECEIVED below */
} dm_transport_ops;

struct dm_transport {
  const dm_transport_ops *ops;
  const dm_comm *exposed[DM_SHARES]; /* group of each share; NULL: not exposed */
  bool busy[DM_GATHERS];             /* tickets of dm_transport_ticket */
  int64_t received;                  /* bytes from other ranks so far */
};

/* Allocates a ticket for a gather, starting from 0; it stays busy until the transport's test
 * reports the gather as done. */
static inline dm_status dm_transport_ticket(dm_transport *transport, int *ticket) {
  for (*ticket = 0; *ticket < DM_GATHERS && transport->busy[*ticket];) ++*ticket;
  if (*ticket == DM_GATHERS) return dm_fail(DM_E_BUG, "more than %d gathers under way", DM_GATHERS);
  transport->busy[*ticket] = true;
  return DM_OK;
}

#endif
