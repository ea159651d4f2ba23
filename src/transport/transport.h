/* transport: how panels move between ranks.  One table of functions; NULL in it means (optional).
 *
 * A transport moves host memory by messages, or GPU memory by pulls: then every rank exposes its
 * shares once, says when they are filled, and the peers read their pieces out of them.  Ranks of
 * one node can also keep panels in shared slots, memory that all of them see: nothing moves. */
#ifndef DM_TRANSPORT_TRANSPORT_H
#define DM_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"
#include "core/status.h"
#include "transport/gather.h"
#include "transport/mover.h"

enum {
  DM_GATHERS = 16,  /* that may be under way at once */
  DM_SHARES = 3,    /* that a rank may expose */
  DM_SLAB = 2 << 20 /* bytes of exposed memory are a multiple of it: see expose */
};

typedef struct dm_transport_config {
  const dm_comm *group;  /* the ranks that open it together; gathers may be in parts of it */
  int device;            /* index of this rank's GPU among those it sees; -1: none */
  const dm_comm *node;   /* (optional) those of them on this rank's node; NULL: all */
  const dm_mover *mover; /* (optional) */
} dm_transport_config;

typedef struct dm_transport dm_transport;

typedef struct dm_transport_ops {
  const char *name;
  const char *about;
  const char *not_built; /* NULL, or why */
  bool device_memory;    /* pieces and slots are GPU memory */
  bool one_node;         /* serves ranks of one node alone */
  int64_t staging;       /* bytes of host memory that the mover allocates for each exposed share */
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
  int64_t (*received)(const dm_transport *transport); /* (optional) in place of its own count */
  int64_t (*crossed)(const dm_transport *transport);  /* (optional) of them from other nodes */
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
dm_status dm_transport_slots_open(dm_transport *transport, int share, const dm_comm *group,
                                  int64_t bytes, void **memory);

/* This rank's share is complete: peers that asked for pieces of it may read them now. */
void dm_transport_filled(dm_transport *transport, int share);

/* Shares may be filled in parts, and parts may be filled again: this rank's is now complete as far
 * as gathers of up to TIMES fillings read it.  Again after dm_transport_filled, which stands for
 * once, TIMES only grow. */
void dm_transport_refilled(dm_transport *transport, int share, uint64_t times);

/* Whether the peers have read all that they read of this rank's share in gathers of up to TIMES
 * fillings, as far as they can read it behind its back: this rank's own such gathers must be done.
 */
bool dm_transport_drained(const dm_transport *transport, int share, uint64_t times);

/* Starts a gather; *ticket stands for it until test, which moves all gathers on, says *done. */
dm_status dm_transport_post(dm_transport *transport, const dm_gather *gather, int *ticket);
dm_status dm_transport_test(dm_transport *transport, int ticket, bool *done);

/* Nothing can be done until something arrives: lets others go on.  May return before, and, of a
 * transport of the simulation, not earlier than some gather under way is done. */
dm_status dm_transport_rest(dm_transport *transport);

/* Bytes from other ranks so far, and those of them that are known to be from other nodes. */
int64_t dm_transport_received(const dm_transport *transport);
int64_t dm_transport_crossed(const dm_transport *transport);

#endif
