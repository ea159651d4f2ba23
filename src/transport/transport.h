/* transport: moves panels between ranks. A table of functions; NULL entries are optional.
 *
 * A transport moves host memory by messages, or GPU memory by pulls: every rank exposes its shares
 * once, reports when they are filled, and peers read their pieces from them. Ranks of one node can
 * also keep panels in shared slots, memory that all of them map: then nothing moves. */
#ifndef DM_TRANSPORT_TRANSPORT_H
#define DM_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"
#include "core/status.h"
#include "core/view.h"

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
  dm_status (*rest)(dm_transport *transport);         /* (optional) */
  int64_t (*received)(const dm_transport *transport); /* (optional) replaces RECEIVED below */
  int64_t (*crossed)(const dm_transport *transport); /* (optional) bytes of them from other nodes */
} dm_transport_ops;

struct dm_transport {
  const dm_transport_ops *ops;
  const dm_comm *exposed[DM_SHARES]; /* group of each share; NULL: not exposed */
  bool busy[DM_GATHERS];             /* tickets of dm_transport_ticket */
  int64_t received;                  /* bytes from other ranks so far */
};

/* All names, built or not; NULL at the end. */
const dm_transport_ops *const *dm_transport_all(void);

/* The table of NAME, built or not; NULL for an unknown name. */
const dm_transport_ops *dm_transport_find(const char *name);

/* Collective in the config's group, with the same outcome on all its ranks. DM_E_DEVICE says why
 * these ranks cannot use the transport. */
dm_status dm_transport_open(const dm_transport_ops *ops, const dm_transport_config *config,
                            dm_transport **transport);

/* NULL is allowed; every gather must be done. Collective: returns when no peer reads this rank's
 * exposed memory any more, so that it may be freed. */
void dm_transport_close(dm_transport *transport);

/* Replaces close after a failure; local to this rank, frees nothing. Stops operations that need no
 * peer; memory that peers may still read or write remains. */
void dm_transport_abandon(dm_transport *transport);

/* Lets the ranks of GROUP read BYTES of this rank's MEMORY as its share SHARE. Collective in GROUP,
 * whose ranks all learn of failures. MEMORY must be an allocation of its own: the driver shares
 * whole blocks of 2 MiB with all their contents. */
dm_status dm_transport_expose(dm_transport *transport, int share, const dm_comm *group,
                              void *memory, int64_t bytes);

/* Zeroed memory of BYTES that the ranks of GROUP, all on one node, map at addresses of their own;
 * it holds their shares SHARE. Collective in GROUP, with the same outcome on all its ranks. The
 * transport owns the memory and frees it when closed. A gather of this share has its slots, and
 * OWN, in this memory; it is done when all ranks have reported theirs as filled. */
dm_status dm_transport_slots_open(dm_transport *transport, int share, const dm_comm *group,
                                  int64_t bytes, void **memory);

/* Reports that this rank's share is complete: peers may read the pieces that they requested. */
void dm_transport_filled(dm_transport *transport, int share);

/* For shares that are filled in parts or again: this rank's is now complete for gathers of up to
 * TIMES fillings. TIMES only grows; dm_transport_filled counts as the first. */
void dm_transport_refilled(dm_transport *transport, int share, uint64_t times);

/* Whether peers have finished reading this rank's share for gathers of up to TIMES fillings, as far
 * as they read it without this rank. This rank's own such gathers must be done. */
bool dm_transport_drained(const dm_transport *transport, int share, uint64_t times);

/* Starts a gather and returns its *ticket; test progresses all gathers and sets *done for one. */
dm_status dm_transport_post(dm_transport *transport, const dm_gather *gather, int *ticket);
dm_status dm_transport_test(dm_transport *transport, int ticket, bool *done);

/* Yields while nothing can be done until something arrives. May return earlier, except in the
 * simulation's transports, which return once some gather is done. */
dm_status dm_transport_rest(dm_transport *transport);

/* Bytes received from other ranks so far, and the part known to come from other nodes. */
int64_t dm_transport_received(const dm_transport *transport);
int64_t dm_transport_crossed(const dm_transport *transport);

#endif
