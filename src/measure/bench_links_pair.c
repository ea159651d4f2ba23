/* One pair of ranks: patterns to and fro, and the time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/clock.h"
#include "engine/links.h"
#include "engine/test_pattern.h"
#include "measure/bench_links_impl.h"
#include "run/statistics.h"

enum { MOST_GATHERS = 2000, MOST_REPETITIONS = 1000 };

static const double moment = 0.01; /* seconds of a repetition, at least, where pieces are small */

static int member(const dm_link *link) {
  return dm_comm_rank(link->group);
}

/* ---- opening and closing ---- */

/* Whether both are of one node, as far as the run counts nodes. */
static dm_status share_node(const dm_link *link, bool *same) {
  int64_t node = link->run->rank;
  DM_TRY(dm_comm_broadcast(link->run->near, &node, sizeof node, 0));
  int64_t most[2] = {node, -node};
  DM_TRY(dm_comm_max_i64(link->group, most, 2));
  *same = most[0] == -most[1];
  return DM_OK;
}

static dm_status take_memory(dm_link *link) {
  void *memory;
  const int64_t bytes = dm_round_up(2 * DM_LINK_SLOTS * link->room, DM_SLAB);
  if (!link->shared) DM_TRY(dm_backend_alloc(link->backend, link->space, bytes, &link->slot));
  DM_TRY(dm_backend_alloc(link->backend, DM_HOST, 2 * link->room, &memory));
  link->sent = memory;
  link->arrived = link->sent + link->room;
  return DM_OK;
}

static dm_status connect(dm_link *link) {
  const int64_t bytes = 2 * DM_LINK_SLOTS * link->room;
  if (!link->served) return DM_OK;
  if (link->shared)
    return dm_transport_slots_open(link->transport, 0, link->group, bytes, &link->slot);
  return dm_transport_expose(link->transport, 0, link->group, link->slot,
                             dm_round_up(bytes, DM_SLAB));
}

dm_status dm_link_open(dm_run *run, dm_backend *backend, const dm_transport_ops *ops, int color,
                       int64_t largest, dm_link *link) {
  bool same = false;
  *link = (dm_link){.run = run,
                    .backend = backend,
                    .shared = ops->shared_slots != NULL,
                    .space = ops->device_memory ? DM_DEVICE : DM_HOST,
                    .room = dm_round_up(largest, 256)};
  DM_TRY(dm_links_open(run, backend, ops, &link->transport));
  DM_TRY(dm_comm_split(run->world, color < 0 ? run->ranks + run->rank : color, run->rank,
                       &link->group));
  DM_TRY(dm_comm_agree(run->world, share_node(link, &same)));
  link->served = dm_comm_size(link->group) == 2 && (same || !link->shared);
  for (int i = 0; i < 2 * DM_LINK_SLOTS; i++) link->offset[i / 2][i % 2] = i * link->room;
  DM_TRY(dm_comm_agree(run->world, link->served ? take_memory(link) : DM_OK));
  DM_TRY(dm_comm_agree(run->world, connect(link)));
  dm_transport_filled(link->transport, 0);
  return DM_OK;
}

void dm_link_close(dm_link *link) {
  dm_transport_close(link->transport);
  if (!link->shared) dm_backend_release(link->backend, link->space, link->slot);
  dm_backend_release(link->backend, DM_HOST, link->sent);
  dm_comm_free(link->group);
}

/* ---- moving ---- */

static char *piece_at(const dm_link *link, int slot, int who) {
  return (char *)link->slot + link->offset[slot][who];
}

static dm_gather wanted(const void *context, int i) {
  const dm_link *link = context;
  const int slot = i % DM_LINK_SLOTS;
  return (dm_gather){.group = link->group,
                     .own = piece_at(link, slot, member(link)),
                     .slot = link->slot,
                     .offset = link->offset[slot],
                     .bytes = link->bytes,
                     .source = link->offset[slot]};
}

/* With shared slots to receive is to copy what the other has put there. */
static dm_status move(const dm_link *link, int count, int at_once) {
  const int other = 1 - member(link);
  if (!link->shared)
    return dm_gathers_run(link->transport, link->run->watch, wanted, link, count, at_once);
  for (int i = 0; i < count; i++) {
    memcpy(link->arrived, piece_at(link, i % DM_LINK_SLOTS, other), (size_t)link->bytes[other]);
    dm_watch_moved(link->run->watch);
    dm_watch_poll(link->run->watch);
  }
  return DM_OK;
}

/* Who sends: member 0, member 1, or both. */
static void set_sizes(dm_link *link, bool first, bool second, int64_t size) {
  link->bytes[0] = first ? size : 0;
  link->bytes[1] = second ? size : 0;
}

/* ---- checking ---- */

/* This rank's pieces are those of the next step; where the other's arrive there is nothing. */
static dm_status prepare(dm_link *link) {
  const int me = member(link);
  link->step++;
  dm_test_pattern_write(link->sent, link->room, me, link->step);
  memset(link->arrived, 0, (size_t)link->room);
  for (int s = 0; s < DM_LINK_SLOTS; s++) {
    DM_TRY(dm_test_pattern_copy(link->backend, piece_at(link, s, me), link->space, link->sent,
                                DM_HOST, link->room));
    if (link->shared) continue; /* that is the other's own */
    DM_TRY(dm_test_pattern_copy(link->backend, piece_at(link, s, 1 - me), link->space,
                                link->arrived, DM_HOST, link->room));
  }
  return DM_OK;
}

static dm_status compare(dm_link *link) {
  const int other = 1 - member(link);
  const int64_t bytes = link->bytes[other];
  if (bytes == 0) return DM_OK;
  dm_test_pattern_write(link->sent, link->room, other, link->step);
  for (int s = 0; s < DM_LINK_SLOTS; s++) {
    if (!link->shared)
      DM_TRY(dm_test_pattern_copy(link->backend, link->arrived, DM_HOST, piece_at(link, s, other),
                                  link->space, bytes));
    DM_TRY(dm_test_pattern_compare(link->arrived, link->sent, bytes, other));
  }
  return DM_OK;
}

dm_status dm_link_check(dm_link *link, int64_t size) {
  for (int senders = 1; senders <= 3; senders++) { /* bits: who sends */
    DM_TRY(dm_comm_agree(link->group, prepare(link)));
    set_sizes(link, senders & 1, senders & 2, size);
    DM_TRY(dm_comm_agree(link->group, move(link, DM_LINK_SLOTS, DM_LINK_SLOTS)));
    DM_TRY(dm_comm_agree(link->group, compare(link)));
  }
  return DM_OK;
}

/* ---- timing ---- */

/* Seconds of COUNT gathers, of the slower member; all of ALL begin together. */
static dm_status batch(dm_link *link, const dm_comm *all, int count, int at_once, double *seconds) {
  DM_TRY(dm_comm_barrier(all));
  const double start = dm_now();
  dm_status status = link->served ? move(link, count, at_once) : DM_OK;
  *seconds = dm_now() - start;
  DM_TRY(dm_comm_agree(all, status));
  return dm_comm_max_f64(link->group, seconds, 1);
}

/* As many gathers as take a moment; the same number for all of ALL. */
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
  const dm_comm *all = way == DM_LINK_TOGETHER ? link->run->world : link->group;
  const bool one = way == DM_LINK_ONE_WAY;
  const int at_once = way == DM_LINK_TURNS ? 1 : DM_LINK_SLOTS;
  int count;
  repetitions = (int)dm_min(repetitions, MOST_REPETITIONS);
  set_sizes(link, !one || from == 0, !one || from == 1, size);
  DM_TRY(choose_count(link, all, at_once, &count));
  for (int i = 0; i < repetitions; i++) DM_TRY(batch(link, all, count, at_once, &seconds[i]));
  const dm_statistics s = dm_statistics_of(seconds, repetitions);
  *value = value_of(&s, way, size, count);
  *measured =
      link->served && !(one && from == member(link)) && !(way == DM_LINK_TURNS && link->shared);
  return DM_OK;
}
