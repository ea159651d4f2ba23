/* One pair of ranks: exchanges patterns, and times them. */
#include <math.h>

#include "core/checked.h"
#include "core/clock.h"
#include "engine/links.h"
#include "measure/bench_links_impl.h"
#include "run/statistics.h"

enum { MOST_GATHERS = 2000, MOST_REPETITIONS = 1000 };

static const double moment = 0.01; /* least seconds of a repetition with small pieces */

/* Whether both are on one node, as the run counts nodes. */
static dm_status share_node(const dm_link *link, bool *same) {
  int64_t node = link->run->rank;
  DM_TRY(dm_comm_broadcast(link->run->near, &node, sizeof node, 0));
  int64_t most[2] = {node, -node};
  DM_TRY(dm_comm_max_i64(link->exchange.group, most, 2));
  *same = most[0] == -most[1];
  return DM_OK;
}

dm_status dm_link_open(dm_run *run, dm_backend *backend, const dm_transport_ops *ops, int color,
                       int64_t largest, dm_link *link) {
  bool same = false;
  *link = (dm_link){.run = run,
                    .exchange = {.backend = backend,
                                 .watch = run->watch,
                                 .slots = DM_EXCHANGE_SLOTS,
                                 .piece = dm_round_up(largest, 256),
                                 .in_place = true}};
  dm_exchange *e = &link->exchange;
  DM_TRY(dm_links_open(run, backend, ops, &link->transport));
  e->transport = link->transport;
  DM_TRY(
      dm_comm_split(run->world, color < 0 ? run->ranks + run->rank : color, run->rank, &e->group));
  DM_TRY(dm_comm_agree(run->world, share_node(link, &same)));
  link->served = dm_comm_size(e->group) == 2 && (same || !ops->shared_slots);
  DM_TRY(dm_comm_agree(run->world, link->served ? dm_exchange_open(e, e->group) : DM_OK));
  dm_transport_filled(link->transport, 0);
  return DM_OK;
}

void dm_link_close(dm_link *link) {
  dm_transport_close(link->transport);
  if (link->served)
    dm_exchange_close(&link->exchange);
  else
    dm_comm_free(link->exchange.group);
}

/* With shared slots, receiving is copying the peer's data. */
static dm_status move(const dm_link *link, int count, int at_once) {
  if (!link->exchange.shared) return dm_exchange_gather(&link->exchange, count, at_once);
  dm_exchange_copy(&link->exchange, count);
  return DM_OK;
}

/* Sets the senders: member 0, member 1, or both. */
static void set_sizes(dm_link *link, bool first, bool second, int64_t size) {
  link->exchange.bytes[0] = first ? size : 0;
  link->exchange.bytes[1] = second ? size : 0;
}

dm_status dm_link_check(dm_link *link, int64_t size) {
  dm_exchange *e = &link->exchange;
  for (int senders = 1; senders <= 3; senders++) { /* bits: senders */
    link->step++;
    set_sizes(link, senders & 1, senders & 2, size);
    DM_TRY(dm_comm_agree(e->group, dm_exchange_fill(e, link->step)));
    DM_TRY(dm_comm_agree(e->group, move(link, e->slots, e->slots)));
    DM_TRY(dm_comm_agree(e->group, dm_exchange_compare(e, link->step)));
  }
  return DM_OK;
}

/* ---- timing ---- */

/* Seconds of COUNT gathers, of the slower member; all ranks of ALL start together. */
static dm_status batch(dm_link *link, const dm_comm *all, int count, int at_once, double *seconds) {
  DM_TRY(dm_comm_barrier(all));
  const double start = dm_now();
  dm_status status = link->served ? move(link, count, at_once) : DM_OK;
  *seconds = dm_now() - start;
  DM_TRY(dm_comm_agree(all, status));
  return dm_comm_max_f64(link->exchange.group, seconds, 1);
}

/* Chooses a number of gathers that takes a moment, the same for all of ALL. */
static dm_status choose_count(dm_link *link, const dm_comm *all, int at_once, int *count) {
  double seconds;
  DM_TRY(batch(link, all, at_once, at_once, &seconds));
  DM_TRY(dm_comm_max_f64(all, &seconds, 1));
  const double wanted_count = moment * at_once / fmax(seconds, 1e-9);
  *count = (int)dm_round_up((int64_t)fmin(fmax(wanted_count, 1), MOST_GATHERS), at_once);
  return DM_OK;
}

static dm_link_value value_of(const dm_statistics *s, dm_link_way way, int64_t size, int count) {
  const double bytes = (double)size * count;
  if (way == DM_LINK_TURNS)
    return (dm_link_value){s->median / count, s->least / count, s->most / count};
  return (dm_link_value){bytes / s->median, bytes / s->most, bytes / s->least};
}

dm_status dm_link_measure(dm_link *link, dm_link_way way, int from, int64_t size, int repetitions,
                          dm_link_value *value, bool *measured) {
  double seconds[MOST_REPETITIONS];
  const dm_comm *all = way == DM_LINK_TOGETHER ? link->run->world : link->exchange.group;
  const bool one = way == DM_LINK_ONE_WAY;
  const int at_once = way == DM_LINK_TURNS ? 1 : DM_EXCHANGE_SLOTS;
  int count;
  repetitions = (int)dm_min(repetitions, MOST_REPETITIONS);
  set_sizes(link, !one || from == 0, !one || from == 1, size);
  DM_TRY(choose_count(link, all, at_once, &count));
  for (int i = 0; i < repetitions; i++) DM_TRY(batch(link, all, count, at_once, &seconds[i]));
  const dm_statistics s = dm_statistics_of(seconds, repetitions);
  *value = value_of(&s, way, size, count);
  *measured = link->served && !(one && from == dm_comm_rank(link->exchange.group)) &&
              !(way == DM_LINK_TURNS && link->exchange.shared);
  return DM_OK;
}
