#include "layout/stationary_c.h"

#include "core/checked.h"
#include "plan/partition.h"

/* An item as this rank sees it. */
typedef struct own_strip {
  const dm_carried *of;
  dm_item item;
  dm_range cols;
  int64_t width;
  char *slot;
} own_strip;

static own_strip stationary_c_strip_of(const dm_stationary_c *f, int64_t index) {
  const dm_item item = dm_broadcast_item(f->t, index);
  const dm_carried *of = &f->t->carried[item.hand];
  const dm_range cols = dm_strips_cols(&of->strips, item.strip, f->rank);
  return (own_strip){.of = of,
                     .item = item,
                     .cols = cols,
                     .width = dm_range_size(cols),
                     .slot = (char *)f->t->space->memory + dm_broadcast_place(f->t, index)};
}

/* Where a slot has the piece of RANK, and its size. */
static int64_t piece_at(const dm_stationary_c *f, const own_strip *s, int rank) {
  return dm_broadcast_bytes(f->t, s->of->strips.rows[rank].begin, s->width);
}

static int64_t stationary_c_piece_bytes(const dm_stationary_c *f, const own_strip *s, int rank) {
  return dm_broadcast_bytes(f->t, dm_range_size(s->of->strips.rows[rank]), s->width);
}

static bool stationary_c_moves(const own_strip *s, int giver, int taker) {
  return dm_view_is_empty(s->of->replica) &&
         dm_strips_moves(&s->of->strips, s->item.strip, giver, taker);
}

/* ---- copies ---- */

static dm_status stationary_c_copy(const dm_stationary_c *f, const own_strip *s, dm_view to,
                                   dm_view from, dm_event *copied) {
  const bool turned = s->of->by_columns;
  return dm_backend_copy(f->t->space->backend, turned ? dm_view_transpose(to) : to,
                         turned ? dm_view_transpose(from) : from, copied);
}

/* A slot's piece of RANK. */
static dm_view stationary_c_piece_of(const dm_stationary_c *f, const own_strip *s, int rank) {
  return dm_broadcast_dense(f->t, s->item.hand, s->slot + piece_at(f, s, rank),
                            dm_range_size(s->of->strips.rows[rank]), s->width);
}

/* This rank's piece in the caller's matrix. */
static dm_view own_piece(const dm_stationary_c *f, const own_strip *s) {
  const dm_strips *strips = &s->of->strips;
  return dm_view_sub(s->of->part, 0, s->cols.begin - strips->cols[f->rank].begin,
                     dm_range_size(strips->rows[f->rank]), s->width);
}

/* Copies this rank's piece to its slot; one that is joined comes from the caller's matrix. */
static dm_status copy_piece(void *context, int64_t index, dm_event *copied) {
  const dm_stationary_c *f = context;
  const own_strip s = stationary_c_strip_of(f, index);
  const dm_strips *strips = &s.of->strips;
  const int except = dm_broadcast_joins(f->t, s.item.hand) ? f->rank : -1;
  if (!dm_strips_gives(strips, s.item.strip, f->rank) ||
      !dm_strips_needs(strips, s.item.strip, except) || !dm_view_is_empty(s.of->replica))
    return DM_OK;
  return stationary_c_copy(f, &s, stationary_c_piece_of(f, &s, f->rank), own_piece(f, &s), copied);
}

/* Copies the pieces of an item that has arrived to one matrix. */
static dm_status stationary_c_join(dm_stationary_c *f, int64_t index) {
  const own_strip s = stationary_c_strip_of(f, index);
  f->joined = 0;
  if (!dm_strips_takes(&s.of->strips, s.item.strip, f->rank)) return DM_OK;
  const dm_view whole = dm_broadcast_joined(f->t, index);
  for (int r = 0; r < f->ranks; r++) {
    if (!stationary_c_moves(&s, r, f->rank)) continue;
    const dm_range rows = s.of->strips.rows[r];
    const int64_t count = dm_range_size(rows);
    DM_TRY(stationary_c_copy(f, &s, dm_view_sub(whole, rows.begin, 0, count, s.width),
                             r == f->rank ? own_piece(f, &s) : stationary_c_piece_of(f, &s, r),
                             &f->joined));
  }
  return DM_OK;
}

/* ---- items ---- */

static int64_t stationary_c_before(const void *context, int64_t index) {
  return dm_broadcast_before(((const dm_stationary_c *)context)->t, index);
}

/* The product that reads an item is done; a joined one was copied before it was multiplied. */
static dm_status is_read(const void *context, int64_t index, bool *done) {
  const dm_stationary_c *f = context;
  const dm_item item = dm_broadcast_item(f->t, index);
  *done = dm_broadcast_joins(f->t, item.hand);
  return *done ? DM_OK
               : dm_backend_test(f->t->space->backend, f->read[dm_broadcast_read(f->t, item.strip)],
                                 done);
}

static void stationary_c_lay_out(const void *context, int64_t index, const dm_flow_lists *lists,
                                 dm_gather *gather) {
  const dm_stationary_c *f = context;
  const own_strip s = stationary_c_strip_of(f, index);
  const int64_t place = dm_broadcast_place(f->t, index);
  gather->own = s.slot + piece_at(f, &s, f->rank);
  gather->slot = s.slot;
  for (int r = 0; r < f->ranks; r++) {
    lists->offset[r] = piece_at(f, &s, r);
    lists->source[r] = place + lists->offset[r];
    lists->bytes[r] = stationary_c_moves(&s, r, f->rank) ? stationary_c_piece_bytes(f, &s, r) : 0;
    lists->sent[r] = place + piece_at(f, &s, f->rank);
    lists->sent_bytes[r] =
        stationary_c_moves(&s, f->rank, r) ? stationary_c_piece_bytes(f, &s, f->rank) : 0;
  }
}

static dm_status multiply_item(dm_stationary_c *f, int64_t index) {
  dm_whole_product product;
  dm_extent part;
  int64_t strip;
  if (!dm_broadcast_product(f->t, index, &product, &part, &strip)) return DM_OK;
  const dm_mirror_rows *mirrored = &f->t->mirrored;
  dm_event *done = &f->read[dm_broadcast_read(f->t, strip)];
  if (!mirrored->rows) return dm_backend_multiply(f->t->space->backend, &product, NULL, done);
  return dm_mirror_rows_multiply(mirrored, f->t->space->backend, f->rank, &product,
                                 mirrored->rows[f->rank].begin + part.rows.begin, part.cols, done);
}

/* A joined strip of op(B) replaces one that products may still read. */
static dm_status multiply_arrived(void *context, int64_t index, bool *taken, bool *moved) {
  dm_stationary_c *f = context;
  dm_backend *backend = f->t->space->backend;
  bool ready = true;
  const dm_item item = dm_broadcast_item(f->t, index);
  const bool joins = dm_broadcast_joins(f->t, item.hand);
  if (joins && !f->joining) {
    if (item.hand == DM_RIGHT)
      DM_TRY(dm_backend_test(backend, f->read[dm_broadcast_read(f->t, item.strip)], &ready));
    if (!ready) return DM_OK;
    f->joining = *moved = true;
    return stationary_c_join(f, index);
  }
  if (joins) DM_TRY(dm_backend_test(backend, f->joined, &ready));
  if (!ready) return DM_OK;
  f->joining = false;
  *taken = *moved = true;
  return multiply_item(f, index);
}

/* ---- sums of parts of k ---- */

static void multiply_split(dm_stationary_c *f) {
  const dm_broadcast *t = f->t;
  const dm_whole_product sums = dm_split_k_product(&t->split_k, t->space, f->rank, &t->whole);
  f->waits = false;
  f->failure = dm_backend_multiply(t->space->backend, &sums, NULL, &f->square);
}

static dm_status finish_split(dm_stationary_c *f) {
  const dm_broadcast *t = f->t;
  if (f->waits) multiply_split(f);
  dm_status status = dm_status_first(f->failure, dm_backend_wait(t->space->backend, f->square));
  f->failure = NULL;
  DM_TRY(dm_comm_agree(t->run->world, status));
  return dm_split_k_complete(&t->split_k, t->run, t->space, &t->whole);
}

/* ---- the product ---- */

void dm_stationary_c_start(dm_broadcast *t, bool ahead, bool waits, dm_stationary_c *f) {
  static const dm_flow_ops ops = {.before = stationary_c_before,
                                  .done = is_read,
                                  .give = copy_piece,
                                  .lay_out = stationary_c_lay_out,
                                  .take = multiply_arrived};
  *f = (dm_stationary_c){.t = t, .rank = t->run->rank, .ranks = t->run->ranks, .waits = waits};
  if (t->split_k.parts) {
    if (!waits) multiply_split(f);
    return;
  }
  f->flow = (dm_flow){.ops = &ops,
                      .context = f,
                      .run = t->run,
                      .space = t->space,
                      .items = dm_broadcast_items(t),
                      .waits = waits};
  dm_flow_start(&f->flow, ahead ? t->slots + t->both : 1);
}

void dm_stationary_c_poll(dm_stationary_c *product) {
  if (product->t->split_k.parts) return;
  dm_flow_poll(&product->flow);
}

/* The square waits for nothing that travels: it comes last, and images travel meanwhile. */
static dm_status multiply_square(dm_stationary_c *f) {
  dm_whole_product square;
  if (!dm_broadcast_square(f->t, &square)) return DM_OK;
  return dm_backend_multiply(f->t->space->backend, &square, NULL, &f->square);
}

dm_status dm_stationary_c_finish(dm_stationary_c *f) {
  if (f->t->split_k.parts) return finish_split(f);
  dm_backend *backend = f->t->space->backend;
  dm_flow *flow = &f->flow;
  dm_flow_take(flow);
  if (!flow->failure) dm_flow_keep_error(flow, multiply_square(f));
  for (int i = 0; i < DM_READ; i++) dm_flow_keep_error(flow, dm_backend_wait(backend, f->read[i]));
  dm_flow_keep_error(flow, dm_backend_wait(backend, f->joined));
  const dm_broadcast *t = f->t;
  dm_status status = dm_flow_end(flow);
  if (!status && t->mirrored.rows)
    status = dm_mirror_rows_complete(&t->mirrored, t->run, t->space, t->whole.c, f->square);
  return dm_status_first(status, dm_backend_wait(backend, f->square));
}
