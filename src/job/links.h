/* links: which transport the panels take, found out by trying each. */
#ifndef DM_JOB_LINKS_H
#define DM_JOB_LINKS_H

#include "backend/backend.h"
#include "job/run.h"
#include "plan/plan.h"
#include "transport/transport.h"

typedef struct dm_links {
  const dm_transport_ops *chosen;
  double rate;       /* bytes per second that every rank received at once; 0: not measured */
  char reasons[480]; /* what each candidate did or why it could not, in one line */
} dm_links;

/* Collective.  NAME is that of a transport, which then must work (DM_E_DEVICE), or "auto": the
 * first that works of those that move GPU memory, or, where there is none and nodes have several
 * ranks, window, else host; self for a rank alone. */
dm_status dm_links_choose(const dm_run *run, dm_backend *backend, const char *name,
                          dm_links *links);

/* The transport for PLAN's panels: the chosen one where it moves what the plan wants moved, else
 * host.  DM_E_DEVICE where NAME asked for one that is then of no use. */
dm_status dm_links_for(const dm_links *links, const dm_plan *plan, const char *name,
                       const dm_transport_ops **ops);

/* Collective: lets OPS carry patterns between ranks that are neighbours, compares every byte, and
 * then takes the time.  All ranks leave with the same outcome; *rate is that of the slowest.
 * (prove.c) */
dm_status dm_links_prove(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                         double *rate);

#endif
