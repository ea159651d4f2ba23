#include "engine/exchange.h"

#include <sched.h>
#include <string.h>

#include "core/checked.h"
#include "core/clock.h"
#include "core/element.h"

enum { TAGS = 1 << 15 };

static const double patience = 30.0; /* seconds; a link that hangs is not used */

/* ---- memory ---- */

dm_status dm_exchange_neighbours(const dm_run *run, bool between, dm_comm **group) {
  dm_comm *across = NULL;
  const dm_comm *all = run->near;
  dm_status status = DM_OK;
  if (between) {
    status = dm_comm_split(run->world, dm_comm_rank(run->near), run->rank, &across);
    all = across;
  }
  if (!status) {
    const int64_t ranks = dm_comm_size(all), rank = dm_comm_rank(all);
    const int64_t parts = dm_ceil_div(ranks, DM_EXCHANGE_RANKS);
    status = dm_comm_split(all, (int)(rank * parts / ranks), (int)rank, group);
  }
  dm_comm_free(across);
  return dm_comm_agree(run->world, status);
}

static dm_status take_memory(dm_exchange *e) {
  const int64_t bytes = (int64_t)e->slots * dm_comm_size(e->group) * e->piece;
  void *memory;
  if (!e->shared) {
    DM_TRY(dm_backend_alloc(e->backend, e->space, dm_round_up(bytes, DM_SLAB), &memory));
    e->slot = memory;
  }
  if (!e->in_place) {
    DM_TRY(dm_backend_alloc(e->backend, e->space, e->piece, &memory));
    e->share = memory;
  }
  DM_TRY(dm_backend_alloc(e->backend, DM_HOST, 2 * e->piece, &memory));
  e->sent = memory;
  e->arrived = e->sent + e->piece;
  return DM_OK;
}

static dm_status show(dm_exchange *e) {
  const int64_t bytes = (int64_t)e->slots * dm_comm_size(e->group) * e->piece;
  void *memory = e->slot;
  if (e->shared) DM_TRY(dm_transport_slots_open(e->transport, e->number, e->group, bytes, &memory));
  e->slot = memory;
  if (e->in_place) e->share = e->slot;
  if (e->shared) return DM_OK;
  return dm_transport_expose(e->transport, e->number, e->group, e->share,
                             e->in_place ? dm_round_up(bytes, DM_SLAB) : e->piece);
}

dm_status dm_exchange_open(dm_exchange *e, const dm_comm *all) {
  const int ranks = dm_comm_size(e->group);
  e->shared = e->transport->ops->shared_slots != NULL;
  e->in_place |= e->shared;
  e->space = e->transport->ops->device_memory ? DM_DEVICE : DM_HOST;
  for (int i = 0; i < e->slots * ranks; i++) e->offset[i / ranks][i % ranks] = i * e->piece;
  DM_TRY(dm_comm_agree(all, take_memory(e)));
  return dm_comm_agree(all, show(e));
}

void dm_exchange_close(dm_exchange *e) {
  if (!e->in_place) dm_backend_release(e->backend, e->space, e->share);
  if (!e->shared) dm_backend_release(e->backend, e->space, e->slot);
  dm_backend_release(e->backend, DM_HOST, e->sent);
  dm_comm_free(e->group);
}

/* ---- test patterns ---- */

/* The first BYTES, rounded up. */
static void write_pattern(const dm_exchange *e, int rank, int step, int64_t bytes) {
  const uint64_t first = ((uint64_t)rank << 40) + ((uint64_t)step << 32);
  for (int64_t i = 0; i < dm_ceil_div(bytes, 8); i++) {
    const uint64_t word = dm_mix(first + (uint64_t)i);
    memcpy(e->sent + 8 * i, &word, 8);
  }
}

static dm_view run_of(const char *memory, dm_space space, int64_t bytes) {
  return dm_view_strided((void *)memory, DM_I8, space, 1, bytes, bytes);
}

static dm_status copy(const dm_exchange *e, char *dst, dm_space to, const char *src, dm_space from,
                      int64_t bytes) {
  dm_event copied;
  DM_TRY(dm_backend_copy(e->backend, run_of(dst, to, bytes), run_of(src, from, bytes), &copied));
  return dm_backend_wait(e->backend, copied);
}

/* The start of a rank's piece in its test pattern: 0 if in place, anywhere in a share. */
static int64_t start_of(const dm_exchange *e, int rank) {
  return e->in_place ? 0 : e->source[rank];
}

dm_status dm_exchange_fill(const dm_exchange *e, int step) {
  const int me = dm_comm_rank(e->group), ranks = dm_comm_size(e->group);
  memset(e->arrived, 0, (size_t)e->piece);
  write_pattern(e, me, step, e->piece);
  for (int i = 0; i < e->slots * ranks && !e->shared; i++)
    DM_TRY(copy(e, e->slot + i * e->piece, e->space, e->arrived, DM_HOST, e->piece));
  if (!e->in_place) return copy(e, e->share, e->space, e->sent, DM_HOST, e->piece);
  for (int s = 0; s < e->slots && e->bytes[me] > 0;
       s++) /* a piece starts at its place, and may be shorter than its room */
    DM_TRY(copy(e, e->slot + e->offset[s][me], e->space, e->sent, DM_HOST, e->bytes[me]));
  return DM_OK;
}

static dm_status compare_piece(const dm_exchange *e, int rank, int64_t bytes) {
  const char *const wanted = e->sent + start_of(e, rank);
  int64_t at = 0;
  if (memcmp(e->arrived, wanted, (size_t)bytes) == 0) return DM_OK;
  while (e->arrived[at] == wanted[at]) at++;
  return dm_fail(DM_E_DEVICE, "byte %lld of %lld from neighbour %d arrived as %02x, not %02x",
                 (long long)at, (long long)bytes, rank, e->arrived[at] & 0xff, wanted[at] & 0xff);
}

dm_status dm_exchange_compare(const dm_exchange *e, int step) {
  for (int r = 0; r < dm_comm_size(e->group); r++) {
    write_pattern(e, r, step, start_of(e, r) + e->bytes[r]);
    for (int s = 0; s < e->slots && e->bytes[r] > 0; s++) {
      const char *piece = e->slot + e->offset[s][r];
      DM_TRY(copy(e, e->arrived, DM_HOST, piece, e->space, e->bytes[r]));
      DM_TRY(compare_piece(e, r, e->bytes[r]));
    }
  }
  return DM_OK;
}

/* ---- moving ---- */

/* Waits until the gather of TICKET is done. */
static dm_status wait_for(const dm_exchange *e, int ticket) {
  const double start = dm_now();
  for (bool done = false;;) {
    DM_TRY(dm_transport_test(e->transport, ticket, &done));
    if (done) dm_watch_moved(e->watch);
    dm_watch_poll(e->watch);
    if (done) return DM_OK;
    if (dm_now() - start > patience)
      return dm_fail(DM_E_DEVICE, "nothing arrived for %.0f s", patience);
    sched_yield();
  }
}

dm_status dm_exchange_post(const dm_exchange *e, int i, int *ticket) {
  const int slot = i % e->slots, me = dm_comm_rank(e->group);
  const int64_t *const source = e->in_place ? e->offset[slot] : e->source;
  const dm_gather gather = {.group = e->group,
                            .own = e->share + source[me],
                            .slot = e->slot,
                            .offset = e->offset[slot],
                            .bytes = e->bytes,
                            .source = source,
                            .share = e->number,
                            .tag = i % TAGS};
  return dm_transport_post(e->transport, &gather, ticket);
}

dm_status dm_exchange_gather(const dm_exchange *e, int count, int at_once) {
  int tickets[DM_GATHERS];
  for (int i = 0; i < count + at_once; i++) {
    if (i >= at_once && i - at_once < count) DM_TRY(wait_for(e, tickets[(i - at_once) % at_once]));
    if (i < count) DM_TRY(dm_exchange_post(e, i, &tickets[i % at_once]));
  }
  return DM_OK;
}

void dm_exchange_copy(const dm_exchange *e, int count) {
  const int ranks = dm_comm_size(e->group), me = dm_comm_rank(e->group);
  for (int i = 0; i < count && ranks > 1; i++) {
    const int r = (me + 1 + i % (ranks - 1)) % ranks;
    memcpy(e->arrived, e->slot + e->offset[i % e->slots][r], (size_t)e->bytes[r]);
    dm_watch_moved(e->watch);
    dm_watch_poll(e->watch);
  }
}
