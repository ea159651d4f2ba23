/* flow: a sequence of items that the ranks exchange through their workspaces: of each, a rank gives
 * pieces to others and takes theirs. Copies, transfers and the work on what has arrived run at the
 * same time; a rank that fails goes on without data, so that no other waits for it. */
#ifndef DM_LAYOUT_FLOW_H
#define DM_LAYOUT_FLOW_H

#include "engine/links.h"
#include "layout/staging.h"
#include "transport/transport_table.h"

/* ---- memory of each rank's GPU that the other ranks read, with the transport that carries it;
 * both stay open from product to product ---- */

enum { DM_WORKSPACE_SHARE = 0 }; /* number of the share that the transport exposes */

/* Initially zero. */
typedef struct dm_workspace {
  char *tried; /* the transport's name as the user stated it; NULL: none was tested */
  dm_links links;
  dm_backend *backend;
  dm_transport *transport; /* NULL: closed */
  void *memory;
  int64_t bytes;
  uint64_t fillings;  /* of all earlier products */
  int64_t *lists;     /* five numbers for each rank, for a gather */
  dm_staging staging; /* for matrices in pageable memory */
} dm_workspace;

/* Collective: at least BYTES on each rank, on the GPU of BACKEND, which must stay open. Not *there:
 * no transport of that name moves GPU memory between these ranks, or a GPU has no memory. */
dm_status dm_workspace_open(dm_workspace *space, const dm_run *run, dm_backend *backend,
                            const char *transport, int64_t bytes, bool *there);

/* Collective. */
void dm_workspace_close(dm_workspace *space);

/* Numbers for each rank (dm_gather). */
typedef struct dm_flow_lists {
  int64_t *offset, *bytes, *source, *sent, *sent_bytes;
} dm_flow_lists;

/* What is exchanged. Items are numbered from 0 and come in this order on all ranks. */
typedef struct dm_flow_ops {
  /* The item whose place in the workspace this one takes; negative: none. */
  int64_t (*before)(const void *context, int64_t item);
  /* *done: what this rank does with ITEM, which it has taken, is complete. */
  dm_status (*done)(const void *context, int64_t item, bool *done);
  /* Posts the copies of this rank's pieces of ITEM to the workspace; *copied: the last one. */
  dm_status (*give)(void *context, int64_t item, dm_event *copied);
  /* Sets own, slot and the lists of GATHER. */
  void (*lay_out)(const void *context, int64_t item, const dm_flow_lists *lists, dm_gather *gather);
  /* Posts what is done with ITEM, which has arrived. *taken: all of it; *moved: some of it. */
  dm_status (*take)(void *context, int64_t item, bool *taken, bool *moved);
} dm_flow_ops;

typedef struct dm_flow {
  /* The caller sets these, and the others to zero: */
  const dm_flow_ops *ops;
  void *context;
  const dm_run *run;
  dm_workspace *space;
  int64_t items;
  bool waits;    /* no work on what has arrived is posted before dm_flow_take */
  uint64_t base; /* fillings of the workspace before */
  int64_t copying, published, arrived, taken;
  dm_event copied[DM_GATHERS]; /* of item i at i % DM_GATHERS */
  int tickets[DM_GATHERS];
  dm_flow_lists lists;
  dm_status failure; /* of this rank alone */
  dm_status broke;   /* the transport */
} dm_flow;

/* Sends the first FIRST items on their way, which must need nothing that peers do in this flow; the
 * caller may do other work, collective work included, before it finishes. */
void dm_flow_start(dm_flow *flow, int64_t first);

/* Until this rank has taken all items, or has failed. */
void dm_flow_take(dm_flow *flow);

/* Goes on without waiting, for a host that waits for something else. */
void dm_flow_poll(dm_flow *flow);

/* Keeps the first error of this rank. */
void dm_flow_keep_error(dm_flow *flow, dm_status status);

/* Collective, when what was taken is complete; with the same outcome on all ranks. */
dm_status dm_flow_end(dm_flow *flow);

#endif
