/* bench_links_impl: one pair of ranks, for the tests. */
#ifndef DM_BENCH_BENCH_LINKS_IMPL_H
#define DM_BENCH_BENCH_LINKS_IMPL_H

#include "engine/links.h"
#include "run/run.h"

/* This rank's pair, while a transport is open. */
typedef struct dm_link {
  dm_run *run;
  dm_transport *transport;
  dm_exchange exchange; /* in place, two gathers under way, as with panels */
  bool served;          /* the pair has two members, and the transport can connect them */
  int other;            /* the partner; -1: none */
  int step;             /* step of the test patterns */
} dm_link;

/* Collective: opens OPS, and the link between this rank and OTHER, which names this rank as well
 * (-1: none), for pieces of up to LARGEST bytes. All ranks return the same outcome; a failed open
 * keeps its memory. */
dm_status dm_link_open(dm_run *run, dm_backend *backend, const dm_transport_ops *ops, int other,
                       int64_t largest, dm_link *link);
void dm_link_close(dm_link *link);

/* Both members of a pair: sends SIZE bytes back and forth and compares them. Both return the same
 * outcome. */
dm_status dm_link_check(dm_link *link, int64_t size);

#endif
