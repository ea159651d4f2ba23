/* links: chooses the transport of the panels by testing each. */
#ifndef DM_ENGINE_LINKS_H
#define DM_ENGINE_LINKS_H

#include "backend/backend.h"
#include "plan/plan.h"
#include "run/run.h"
#include "transport/transport.h"

/* Bytes per second that every rank received at once: from ranks of its node, and from other nodes;
 * 0: not measured. */
typedef struct dm_link_rates {
  double inside, between;
} dm_link_rates;

typedef struct dm_links {
  const dm_transport_ops *chosen;
  dm_link_rates rates;
  char reasons[720]; /* what each candidate did or why it could not, in one line */
} dm_links;

/* Collective.  NAME is that of a transport, which then must work (DM_E_DEVICE), or "auto": of those
 * that work, on GPUs the first that moves GPU memory (later ones are not tested), and on several
 * nodes the one of them that is fastest between nodes; on CPUs shared where nodes have several
 * ranks; else host; self for a rank alone. */
dm_status dm_links_choose(const dm_run *run, dm_backend *backend, const char *name,
                          dm_links *links);

/* The transport for PLAN's panels: the chosen one where it moves what the plan wants moved, else
 * host. */
const dm_transport_ops *dm_links_for(const dm_links *links, const dm_plan *plan);

/* Collective: opens OPS for all ranks of RUN; all leave with the same outcome.  (self_test.c) */
dm_status dm_links_open(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                        dm_transport **transport);

/* Collective: lets OPS carry patterns between ranks that are neighbours, inside nodes and between
 * them, compares every byte, and then takes the time.  All ranks leave with the same outcome; the
 * rates are those of the slowest.  (self_test.c) */
dm_status dm_links_self_test(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                             dm_link_rates *rates);

#endif
