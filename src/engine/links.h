/* links: tests transports, which exchange test patterns in the way panels travel, and chooses one
 * for the panels. */
#ifndef DM_ENGINE_LINKS_H
#define DM_ENGINE_LINKS_H

#include "backend/backend.h"
#include "plan/plan.h"
#include "run/run.h"
#include "transport/transport.h"

/* Bytes per second that every rank received when all did so at once: from ranks of its node, and
 * from other nodes; 0: not measured. */
typedef struct dm_link_rates {
  double inside, between;
} dm_link_rates;

typedef struct dm_links {
  const dm_transport_ops *chosen;
  dm_link_rates rates;
  char reasons[720]; /* in one line: each candidate's rates, or why it failed */
} dm_links;

/* What earlier products of a context found; initially all zero. */
typedef struct dm_known_links {
  dm_links links; /* chosen NULL: nothing yet */
  const dm_backend_ops *backend;
  int device;
  char wish[32];
} dm_known_links;

/* Collective. NAME is a transport, which must work then (DM_E_DEVICE), or "auto". Of those that
 * work, auto chooses on GPUs the first that moves GPU memory (on one node no other is tested then),
 * and with several nodes the one that is fastest between nodes; on CPUs shared if nodes have
 * several ranks; else host; self for a single rank. */
dm_status dm_links_choose(const dm_run *run, dm_backend *backend, const char *name,
                          dm_links *links);

/* The same, unless KNOWN (or NULL) has what this found for this wish between the same DEVICEs; else
 * KNOWN learns it. Every rank has seen the same products. */
dm_status dm_links_recall(const dm_run *run, dm_backend *backend, int device, const char *name,
                          dm_known_links *known, dm_links *links);

/* The transport for PLAN's panels: the chosen one if it moves the kind of memory that the plan
 * needs, else host. */
const dm_transport_ops *dm_links_for(const dm_links *links, const dm_plan *plan);

/* Collective: opens OPS for all ranks of RUN; same outcome on all ranks. */
dm_status dm_links_open(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                        dm_transport **transport);

/* Collective: lets OPS carry patterns between neighbouring ranks, inside nodes and between them,
 * compares every byte, and then measures the time. Same outcome on all ranks; the rates are those
 * of the slowest. */
dm_status dm_links_self_test(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                             dm_link_rates *rates);

/* ---- test patterns between neighbours, for the self-test and the measurements of transports ----
 */

enum { DM_PATTERN_RANKS = 8, DM_PATTERN_SLOTS = 2 };

typedef struct dm_link_pattern {
  /* set by the caller before opening */
  dm_backend *backend;
  dm_transport *transport;
  dm_watch *watch;
  dm_comm *group; /* at most DM_PATTERN_RANKS; the exchange takes it over */
  int number;     /* number of the share */
  int slots;      /* slots with a place for each rank's piece; gathers use them in turn */
  int64_t piece;  /* room in bytes for one piece */
  bool in_place;  /* this rank's pieces are in its slots, as shared slots require */

  bool shared; /* the slots are in the group's shared memory */
  dm_space space;
  char *share, *slot;   /* what this rank sends, and receives */
  char *sent, *arrived; /* one piece each, in host memory */
  /* Of each rank's piece: its place in the slots, its length, and its start in that rank's share,
   * which equals its place if it is in place. */
  int64_t offset[DM_PATTERN_SLOTS][DM_PATTERN_RANKS], bytes[DM_PATTERN_RANKS],
      source[DM_PATTERN_RANKS];
} dm_link_pattern;

/* Collective in ALL, with the same outcome on all ranks: allocates memory and exposes it to the
 * group. Pieces are laid out one after the other, and empty. */
dm_status dm_link_pattern_open(dm_link_pattern *exchange, const dm_comm *all);
void dm_link_pattern_close(dm_link_pattern *exchange); /* close the transport first */

/* Fills what this rank sends with its test pattern of STEP, which differs everywhere from those of
 * other ranks and steps, and clears its receive buffers. */
dm_status dm_link_pattern_fill(const dm_link_pattern *exchange, int step);

/* Performs COUNT gathers, at most AT_ONCE <= DM_GATHERS of them under way. DM_E_DEVICE: nothing
 * arrived for half a minute. */
dm_status dm_link_pattern_gather(const dm_link_pattern *exchange, int count, int at_once);

/* With shared slots: copies COUNT pieces of the others, in turn, as products do. */
void dm_link_pattern_copy(const dm_link_pattern *exchange, int count);

/* DM_E_DEVICE: a byte differs from its rank's test pattern of STEP. */
dm_status dm_link_pattern_compare(const dm_link_pattern *exchange, int step);

#endif
