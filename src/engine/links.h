/* links: tests transports and chooses one for the panels. */
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

/* Collective. NAME is a transport, which must work then (DM_E_DEVICE), or "auto". Of those that
 * work, auto chooses on GPUs the first that moves GPU memory (on one node no other is tested then),
 * and with several nodes the one that is fastest between nodes; on CPUs shared if nodes have
 * several ranks; else host; self for a single rank. */
dm_status dm_links_choose(const dm_run *run, dm_backend *backend, const char *name,
                          dm_links *links);

/* The transport for PLAN's panels: the chosen one if it moves the kind of memory that the plan
 * needs, else host. */
const dm_transport_ops *dm_links_for(const dm_links *links, const dm_plan *plan);

/* Collective: opens OPS for all ranks of RUN; same outcome on all ranks. (self_test.c) */
dm_status dm_links_open(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                        dm_transport **transport);

/* Collective: lets OPS carry patterns between neighbouring ranks, inside nodes and between them,
 * compares every byte, and then measures the time. Same outcome on all ranks; the rates are those
 * of the slowest. (self_test.c) */
dm_status dm_links_self_test(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                             dm_link_rates *rates);

#endif
