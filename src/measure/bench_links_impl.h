/* bench_links_impl: shared declarations of bench links. */
#ifndef DM_MEASURE_BENCH_LINKS_IMPL_H
#define DM_MEASURE_BENCH_LINKS_IMPL_H

#include "engine/exchange.h"
#include "engine/setup.h"
#include "measure/bench.h"

/* ONE_WAY, BOTH_WAYS: one pair while all others are idle; TOGETHER: both ways, all ranks in pairs;
 * TURNS: both ways, one exchange after the other, in seconds. */
typedef enum dm_link_way {
  DM_LINK_ONE_WAY,
  DM_LINK_BOTH_WAYS,
  DM_LINK_TOGETHER,
  DM_LINK_TURNS,
  DM_LINK_WAYS
} dm_link_way;

/* Received bytes per second, or seconds per exchange; NAN: not measured. */
typedef struct dm_link_value {
  double median, least, most;
} dm_link_value;

/* This rank's pair, while a transport is open. */
typedef struct dm_link {
  dm_run *run;
  dm_transport *transport;
  dm_exchange exchange; /* in place, two gathers under way, as with panels */
  bool served;          /* the pair has two members, and the transport can connect them */
  int step;             /* step of the test patterns */
} dm_link;

/* Collective: opens OPS, and the link between this rank and the others of COLOR (negative: none),
 * for pieces of up to LARGEST bytes. All ranks return the same outcome; a failed open keeps its
 * memory. */
dm_status dm_link_open(dm_run *run, dm_backend *backend, const dm_transport_ops *ops, int color,
                       int64_t largest, dm_link *link);
void dm_link_close(dm_link *link);

/* Both members of a pair: sends SIZE bytes back and forth and compares them. Both return the same
 * outcome. */
dm_status dm_link_check(dm_link *link, int64_t size);

/* Both members of a pair, and with TOGETHER all ranks: VALUE describes the data received by this
 * rank. *measured is false on the sender of one way, which is FROM (0 or 1). */
dm_status dm_link_measure(dm_link *link, dm_link_way way, int from, int64_t size, int repetitions,
                          dm_link_value *value, bool *measured);

/* Rank 0's results for one transport and size: VALUES[to][way][from]. */
typedef struct dm_link_table {
  const dm_run *run;
  const dm_setup *setup;
  const dm_bench_links *wanted;
  const dm_transport_ops *ops;
  int64_t bytes;
  const dm_link_value *values;
} dm_link_table;

dm_status dm_bench_links_record(const dm_link_table *table, dm_record *record);

#endif
