#include "product/stationary.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"
#include "transport/transport_table.h"

enum { TAGS = 1 << 15 };

static void endure(dm_stationary *f, dm_status status) {
  if (!f->failure)
    f->failure = status;
  else
    dm_status_free(status);
}

/* An item as this rank sees it. */
typedef struct own_strip {
  const dm_carried *of;
  dm_item item;
  dm_range cols;
  int64_t width;
  char *slot;
} own_strip;

static own_strip strip_of(const dm_stationary *f, int64_t index) {
  const dm_item item = dm_travel_item(f->t, index);
  const dm_carried *of = &f->t->carried[item.hand];
  const dm_range cols = dm_strips_cols(&of->strips, item.strip, f->rank);
  return (own_strip){.of = of,
                     .item = item,
                     .cols = cols,
                     .width = dm_range_size(cols),
                     .slot = (char *)f->space->memory + dm_travel_place(f->t, index)};
}

/* Where a slot has the piece of RANK, and its size. */
static int64_t piece_at(const dm_stationary *f, const own_strip *s, int rank) {
  return dm_travel_bytes(f->t, s->of->strips.rows[rank].begin, s->width);
}

static int64_t piece_bytes(const dm_stationary *f, const own_strip *s, int rank) {
  return dm_travel_bytes(f->t, dm_range_size(s->of->strips.rows[rank]), s->width);
}

static bool moves(const own_strip *s, int giver, int taker) {
  return dm_strips_moves(&s->of->strips, s->item.strip, giver, taker);
}

/* ---- copies ---- */

/* Nobody reads the slot of item INDEX any more: neither peers nor copies nor products. */
static dm_status is_free(const dm_stationary *f, int64_t index, bool *free) {
  const int64_t last = dm_travel_before(f->t, index);
  *free = last < 0;
  if (*free || last >= f->multiplied) return DM_OK;
  if (!dm_transport_drained(f->space->transport, DM_WORKSPACE_SHARE, f->base + (uint64_t)last + 1))
    return DM_OK;
  const dm_item item = dm_travel_item(f->t, last);
  *free = dm_travel_joins(f->t, item.hand);
  return *free
             ? DM_OK
             : dm_backend_test(f->space->backend, f->read[dm_travel_read(f->t, item.strip)], free);
}

static dm_status copy(const dm_stationary *f, const own_strip *s, dm_view to, dm_view from,
                      dm_event *copied) {
  const bool turned = s->of->by_columns;
  return dm_backend_copy(f->space->backend, turned ? dm_view_transpose(to) : to,
                         turned ? dm_view_transpose(from) : from, copied);
}

/* Copies this rank's piece to its slot. */
static dm_status copy_piece(dm_stationary *f, int64_t index) {
  const own_strip s = strip_of(f, index);
  const dm_strips *strips = &s.of->strips;
  dm_event *copied = &f->copied[index % DM_GATHERS];
  *copied = 0;
  if (!dm_strips_gives(strips, s.item.strip, f->rank)) return DM_OK;
  const int64_t rows = dm_range_size(strips->rows[f->rank]);
  const int64_t from = s.cols.begin - strips->cols[f->rank].begin;
  return copy(f, &s,
              dm_travel_dense(f->t, s.item.hand, s.slot + piece_at(f, &s, f->rank), rows, s.width),
              dm_view_sub(s.of->part, 0, from, rows, s.width), copied);
}

/* Copies the pieces of an item that has arrived to one matrix. */
static dm_status join(dm_stationary *f, int64_t index) {
  const own_strip s = strip_of(f, index);
  f->joined = 0;
  if (!dm_strips_takes(&s.of->strips, s.item.strip, f->rank)) return DM_OK;
  const dm_view whole = dm_travel_joined(f->t, index);
  for (int r = 0; r < f->ranks; r++) {
    if (!moves(&s, r, f->rank)) continue;
    const dm_range rows = s.of->strips.rows[r];
    const int64_t count = dm_range_size(rows);
    DM_TRY(copy(f, &s, dm_view_sub(whole, rows.begin, 0, count, s.width),
                dm_travel_dense(f->t, s.item.hand, s.slot + piece_at(f, &s, r), count, s.width),
                &f->joined));
  }
  return DM_OK;
}

/* ---- steps ---- */

static void lay_out(dm_stationary *f, int64_t index, const own_strip *s) {
  const int64_t place = dm_travel_place(f->t, index);
  for (int r = 0; r < f->ranks; r++) {
    f->offset[r] = piece_at(f, s, r);
    f->source[r] = place + f->offset[r];
    f->bytes[r] = moves(s, r, f->rank) ? piece_bytes(f, s, r) : 0;
    f->given[r] = place + piece_at(f, s, f->rank);
    f->given_bytes[r] = moves(s, f->rank, r) ? piece_bytes(f, s, f->rank) : 0;
  }
}

static dm_status post_gather(dm_stationary *f, int64_t index) {
  dm_transport *transport = f->space->transport;
  const own_strip s = strip_of(f, index);
  lay_out(f, index, &s);
  const dm_gather gather = {.group = f->t->run->world,
                            .own = s.slot + piece_at(f, &s, f->rank),
                            .slot = s.slot,
                            .offset = f->offset,
                            .bytes = f->bytes,
                            .source = f->source,
                            .share = DM_WORKSPACE_SHARE,
                            .given = f->given,
                            .given_bytes = f->given_bytes,
                            .filling = f->base + (uint64_t)index + 1,
                            .tag = (int)(index % TAGS)};
  dm_transport_refilled(transport, DM_WORKSPACE_SHARE, gather.filling);
  return dm_transport_post(transport, &gather, &f->tickets[index % DM_GATHERS]);
}

static dm_status multiply_item(dm_stationary *f, int64_t index) {
  dm_whole_product product;
  int64_t strip;
  if (!dm_travel_product(f->t, index, &product, &strip)) return DM_OK;
  return dm_backend_multiply(f->space->backend, &product, NULL,
                             &f->read[dm_travel_read(f->t, strip)]);
}

static dm_status advance_copies(dm_stationary *f, bool *moved) {
  bool done = false;
  if (f->copying == f->items || f->copying - f->arrived == DM_GATHERS) return DM_OK;
  DM_TRY(is_free(f, f->copying, &done));
  if (!done) return DM_OK;
  *moved = true;
  return copy_piece(f, f->copying++);
}

/* The transport's errors end the flow. */
static dm_status advance_gathers(dm_stationary *f, bool *moved) {
  bool done = true;
  const bool may = f->published < f->copying && f->published - f->arrived < DM_GATHERS;
  if (may && !f->failure)
    endure(f, dm_backend_test(f->space->backend, f->copied[f->published % DM_GATHERS], &done));
  if (may && (done || f->failure)) {
    DM_TRY(post_gather(f, f->published));
    f->published++;
    *moved = true;
  }
  if (f->arrived == f->published) return DM_OK;
  DM_TRY(dm_transport_test(f->space->transport, f->tickets[f->arrived % DM_GATHERS], &done));
  f->arrived += done;
  *moved |= done;
  return DM_OK;
}

static dm_status advance_products(dm_stationary *f, bool *moved) {
  bool ready = true;
  if (f->multiplied == f->arrived || f->waits) return DM_OK;
  const dm_item item = dm_travel_item(f->t, f->multiplied);
  const bool joins = dm_travel_joins(f->t, item.hand);
  if (joins && !f->joining) {
    if (item.hand == DM_RIGHT)
      DM_TRY(dm_backend_test(f->space->backend, f->read[dm_travel_read(f->t, item.strip)], &ready));
    if (!ready) return DM_OK;
    f->joining = *moved = true;
    return join(f, f->multiplied);
  }
  if (joins) DM_TRY(dm_backend_test(f->space->backend, f->joined, &ready));
  if (!ready) return DM_OK;
  f->joining = false;
  *moved = true;
  return multiply_item(f, f->multiplied++);
}

/* Starts or completes what can be. */
static dm_status advance(dm_stationary *f, bool *moved) {
  *moved = false;
  if (!f->failure) endure(f, advance_copies(f, moved));
  DM_TRY(advance_gathers(f, moved));
  if (!f->failure) endure(f, advance_products(f, moved));
  if (!f->failure) return DM_OK;
  f->copying = f->items; /* peers get anything */
  f->multiplied = f->arrived;
  return DM_OK;
}

/* ---- the product ---- */

/* Until ITEMS have been MULTIPLIED, or only published. Broken: the transport's error. */
static void run(dm_stationary *f, const int64_t *count, int64_t items) {
  bool moved;
  while (*count < items && !f->broke) {
    f->broke = advance(f, &moved);
    if (moved) dm_watch_moved(f->t->run->watch);
    dm_watch_poll(f->t->run->watch);
    if (!moved && !f->broke) f->broke = dm_transport_rest(f->space->transport);
  }
  /* The peers go on without this rank. */
  if (f->broke) dm_transport_abandon(f->space->transport);
}

/* The first items need nothing that peers do in this product, nor do peers wait for more of them.
 */
void dm_stationary_start(dm_travel *t, dm_stationary *f) {
  const int ranks = t->run->ranks;
  *f = (dm_stationary){.t = t,
                       .space = t->space,
                       .rank = t->run->rank,
                       .ranks = ranks,
                       .base = t->space->fillings,
                       .items = dm_travel_items(t),
                       .offset = t->lists,
                       .bytes = t->lists + ranks,
                       .source = t->lists + 2 * ranks,
                       .given = t->lists + 3 * ranks,
                       .given_bytes = t->lists + 4 * ranks,
                       .waits = true};
  run(f, &f->published, dm_min(f->items, t->slots + t->both));
  f->waits = false;
}

dm_status dm_stationary_finish(dm_stationary *f) {
  const dm_comm *world = f->t->run->world;
  run(f, &f->multiplied, f->items);
  for (int i = 0; i < DM_READ; i++) endure(f, dm_backend_wait(f->space->backend, f->read[i]));
  /* After a failure copies may still read the caller's matrix. */
  for (int i = 0; i < DM_GATHERS; i++) endure(f, dm_backend_wait(f->space->backend, f->copied[i]));
  endure(f, dm_backend_wait(f->space->backend, f->joined));
  f->space->fillings += (uint64_t)f->items;
  int64_t broken = f->broke != DM_OK;
  dm_status status = dm_comm_agree(world, dm_status_first(f->failure, f->broke));
  if (!status) return DM_OK;
  dm_status counted = dm_comm_max_i64(world, &broken, 1);
  if (!counted && broken) dm_workspace_abandon(f->space);
  return dm_status_first(status, counted);
}
