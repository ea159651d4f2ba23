/* transport: how panels move between ranks.  One table of functions; NULL in it means (optional).
 *
 * A transport moves host memory by messages, or GPU memory by pulls: then every rank exposes its
 * shares once, says when they are filled, and the peers read their pieces out of them.  Ranks of
 * one node can also keep the panels that they share in a window, memory that all of them see: then
 * nothing moves. */
#ifndef DM_TRANSPORT_TRANSPORT_H
#define DM_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"
#include "core/status.h"
#include "core/view.h"

enum {
  DM_GATHERS = 16,  /* that may be under way at once */
  DM_SHARES = 3,    /* that a rank may expose */
  DM_SLAB = 2 << 20 /* bytes of exposed memory are a multiple of it: see expose */
};

/* Memory and copies of a backend (backend.h), for transports that pass GPU memory through the host.
 */
typedef struct dm_mover {
  void *context;
  dm_status (*alloc)(void *context, dm_space space, int64_t bytes, void **memory);
  void (*release)(void *context, dm_space space, void *memory);
  dm_status (*copy)(void *context, dm_view dst, dm_view src, uint64_t *event);
  dm_status (*test)(void *context, uint64_t event, bool *done);
} dm_mover;

typedef struct dm_transport_config {
  const dm_comm *group;  /* the ranks that open it together; gathers may be in parts of it */
  int device;            /* index of this rank's GPU among those it sees; -1: none */
  const dm_comm *node;   /* (optional) those of them on this rank's node; NULL: all */
  const dm_mover *mover; /* (optional) */
} dm_transport_config;

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
  int tag; /* 0 .. 32767, not used by another gather of the group under way */
} dm_gather;

typedef struct dm_transport dm_transport;

typedef struct dm_transport_ops {
  const char *name;
  const char *about;
  const char *not_built; /* NULL, or why */
  bool device_memory;    /* pieces and slots are GPU memory */
  bool one_node;         /* serves ranks of one node alone */
  dm_status (*open)(const dm_transport_config *config, dm_transport **transport);
  void (*close)(dm_transport *transport);
  void (*abandon)(dm_transport *transport); /* (optional) */
  dm_status (*expose)(dm_transport *transport, int share, const dm_comm *group, void *memory,
                      int64_t bytes); /* (optional) */
  dm_status (*window)(dm_transport *transport, int share, const dm_comm *group, int64_t bytes,
                      void **memory);                 /* (optional) */
  void (*filled)(dm_transport *transport, int share); /* (optional) */
  dm_status (*post)(dm_transport *transport, const dm_gather *gather, int *ticket);
  dm_status (*test)(dm_transport *transport, int ticket, bool *done);
  int64_t (*received)(const dm_transport *transport); /* bytes from other ranks so far */
  int64_t (*crossed)(const dm_transport *transport);  /* (optional) of them from other nodes */
} dm_transport_ops;

struct dm_transport {
  const dm_transport_ops *ops;
};

/* All names, built or not; NULL at the end. */
const dm_transport_ops *const *dm_transport_all(void);

/* The table of NAME, built or not; NULL for an unknown name. */
const dm_transport_ops *dm_transport_find(const char *name);

/* Collective in the config's group, and all of it leave with the same outcome.  DM_E_DEVICE says
 * why these ranks cannot use it. */
dm_status dm_transport_open(const dm_transport_ops *ops, const dm_transport_config *config,
                            dm_transport **transport);

/* NULL is allowed; every gather must be done.  Collective: returns when no peer reads what this
 * rank exposed any more, so that it may be freed. */
void dm_transport_close(dm_transport *transport);

/* After a failure, in place of close: of this rank alone, and nothing is freed.  What is under way
 * ends where that takes no peer; where peers may still read or write, memory stays. */
void dm_transport_abandon(dm_transport *transport);

/* Lets the ranks of GROUP read BYTES of this rank's MEMORY as its share SHARE; collective in GROUP,
 * whose members see each other's failures.  MEMORY is an allocation of its own: the driver shares
 * whole blocks of 2 MiB, with all that lies in them. */
dm_status dm_transport_expose(dm_transport *transport, int share, const dm_comm *group,
                              void *memory, int64_t bytes);

/* Memory of BYTES, all 0, that the ranks of GROUP, which must be of one node, see at once, each
 * under an address of its own; it holds their shares SHARE.  Collective in GROUP, and all of it
 * leave with the same outcome; of the transport, which frees it when it is closed.  A gather of
 * this share has its slots there, and OWN in its slot; it is done when all have said that they have
 * filled it. */
dm_status dm_transport_window_open(dm_transport *transport, int share, const dm_comm *group,
                                   int64_t bytes, void **memory);

/* This rank's share is complete: peers that asked for pieces of it may read them now. */
void dm_transport_filled(dm_transport *transport, int share);

/* Starts a gather; *ticket stands for it until test says that it is done. */
dm_status dm_transport_post(dm_transport *transport, const dm_gather *gather, int *ticket);

/* Moves all gathers on; *done frees the ticket. */
dm_status dm_transport_test(dm_transport *transport, int ticket, bool *done);

/* Bytes from other ranks so far, and those of them that are known to be from other nodes. */
int64_t dm_transport_received(const dm_transport *transport);
int64_t dm_transport_crossed(const dm_transport *transport);

#endif
