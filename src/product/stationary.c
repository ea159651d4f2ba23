#include "product/stationary.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"

enum { SLOTS = 3, JOINED = 2, SHARE = 0, TAGS = 1 << 15 };

static const int64_t most_slot = (int64_t)512 << 20; /* bytes, unless a strip of least width needs
                                                        more */

/* ---- what stays open ---- */

/* Collective. After a failure peers may still read the memory, which is lost. */
static void forget(dm_stationary *kept, bool broken) {
  if (broken) {
    dm_transport_abandon(kept->transport);
  } else {
    dm_transport_close(kept->transport);
    if (kept->memory) dm_backend_release(kept->backend, DM_DEVICE, kept->memory);
  }
  kept->transport = NULL;
  kept->memory = NULL;
  kept->bytes = 0;
  kept->fillings = 0;
}

void dm_stationary_close(dm_stationary *kept) {
  forget(kept, false);
  free(kept->tried);
  *kept = (dm_stationary){0};
}

static dm_status choose_links(dm_stationary *kept, const dm_run *run, dm_backend *backend,
                              const char *transport) {
  if (kept->tried && strcmp(kept->tried, transport) == 0 && kept->backend == backend) return DM_OK;
  forget(kept, false);
  free(kept->tried);
  kept->tried = strdup(transport);
  DM_TRY(dm_comm_agree(run->world,
                       kept->tried ? DM_OK : dm_fail(DM_E_FIT, "no memory for a transport")));
  kept->backend = backend;
  return dm_links_choose(run, backend, transport, &kept->links);
}

/* The transport exposes a workspace of at least BYTES; *there: there is memory for it. */
static dm_status open_workspace(dm_stationary *kept, const dm_run *run, int64_t bytes,
                                bool *there) {
  bytes = dm_round_up(bytes, DM_SLAB);
  *there = kept->bytes >= bytes;
  if (*there) return DM_OK;
  forget(kept, false);
  dm_status status =
      dm_comm_agree(run->world, dm_backend_alloc(kept->backend, DM_DEVICE, bytes, &kept->memory));
  if (status) {
    const bool full = status->code == DM_E_FIT;
    forget(kept, false);
    if (!full) return status;
    dm_status_free(status);
    return DM_OK;
  }
  status = dm_links_open(run, kept->backend, kept->links.chosen, &kept->transport);
  if (!status)
    status = dm_comm_agree(
        run->world, dm_transport_expose(kept->transport, SHARE, run->world, kept->memory, bytes));
  if (status) forget(kept, true);
  if (!status) kept->bytes = bytes;
  *there = !status;
  return status;
}

/* ---- opening ---- */

/* C^T = op(B)^T op(A)^T. */
static dm_whole_product turn(const dm_whole_product *w) {
  dm_whole_product turned = *w;
  turned.c = dm_view_transpose(w->c);
  turned.a = dm_view_transpose(w->b);
  turned.b = dm_view_transpose(w->a);
  turned.conjugate_a = w->conjugate_b;
  turned.conjugate_b = w->conjugate_a;
  return turned;
}

/* Each rank has its rows of C and op(A), or of C^T and op(B)^T. */
static dm_status open_strips(dm_travel *t, const dm_distributed matrix[3],
                             const dm_whole_product *whole, bool *fits) {
  dm_distribution a = matrix[DM_A].of, b = matrix[DM_B].of, c = matrix[DM_C].of;
  const int ranks = t->run->ranks;
  t->whole = *whole;
  *fits = dm_strips_has_rows(&a, &c, ranks);
  t->turned = !*fits;
  if (t->turned) {
    const dm_distribution other = a;
    a = b;
    b = other;
    dm_distribution_transpose(&a);
    dm_distribution_transpose(&b);
    dm_distribution_transpose(&c);
    t->whole = turn(whole);
    *fits = dm_strips_has_rows(&a, &c, ranks);
  }
  if (!*fits) return DM_OK;
  return dm_strips_open(&b, &c, ranks, dm_dtype_size(whole->a.dtype), most_slot, &t->strips, fits);
}

static dm_view strip_at(const dm_travel *t, char *at, int64_t rows, int64_t cols) {
  const dm_dtype dtype = t->whole.b.dtype;
  if (!t->by_columns) return dm_view_strided(at, dtype, DM_DEVICE, rows, cols, cols);
  return dm_view_transpose(dm_view_strided(at, dtype, DM_DEVICE, cols, rows, rows));
}

/* This rank's product with STRIP, which is AT. */
static dm_whole_product product_of(const dm_travel *t, int64_t strip, char *at) {
  const dm_range cols = dm_strips_cols(&t->strips, strip, t->run->rank);
  const int64_t from = cols.begin - t->strips.wanted[t->run->rank].begin;
  dm_whole_product one = t->whole;
  one.c = dm_view_sub(t->whole.c, 0, from, t->whole.c.rows, dm_range_size(cols));
  one.b = strip_at(t, at, t->strips.depth, dm_range_size(cols));
  return one;
}

/* Whether the library multiplies this rank's part of C by a strip. */
static bool is_suited(const dm_travel *t) {
  for (int64_t s = 0; s < t->strips.count; s++) {
    if (!dm_strips_takes(&t->strips, s, t->run->rank)) continue;
    const dm_whole_product one = product_of(t, s, t->kept->memory);
    if (!dm_backend_suits(t->kept->backend, &one)) return false;
  }
  return true;
}

/* Pieces have contiguous rows or columns, as the ranks' parts. */
static dm_status choose_order(dm_travel *t, bool *fits) {
  const dm_view *b = &t->whole.b;
  const bool has = !dm_view_is_empty(*b);
  const bool whole = dm_range_size(t->strips.rows[t->run->rank]) == t->strips.depth;
  int64_t found[3] = {has && b->col_stride != 1, has && b->row_stride != 1, has && !whole};
  DM_TRY(dm_comm_max_i64(t->run->world, found, 3));
  t->by_columns = found[0];
  t->joins = t->by_columns && found[2];
  *fits = !found[0] || !found[1];
  return DM_OK;
}

static dm_status open_travel(dm_travel *t, const dm_distributed matrix[3],
                             const dm_whole_product *whole, const char *transport, bool *fits) {
  dm_comm *world = t->run->world;
  *fits = false;
  DM_TRY(dm_comm_agree(world, open_strips(t, matrix, whole, fits)));
  if (!*fits) return DM_OK;
  DM_TRY(choose_order(t, fits));
  if (!*fits) return DM_OK;
  DM_TRY(choose_links(t->kept, t->run, t->kept->backend, transport));
  *fits = t->kept->links.chosen->device_memory;
  if (!*fits) return DM_OK;
  t->slots = (int)dm_min(SLOTS, t->strips.count);
  DM_TRY(dm_bytes_of(t->strips.depth, t->strips.most_cols, dm_dtype_size(whole->a.dtype),
                     &t->slot_bytes));
  t->slot_bytes = dm_round_up(t->slot_bytes, 256);
  DM_TRY(
      open_workspace(t->kept, t->run, (t->slots + (t->joins ? JOINED : 0)) * t->slot_bytes, fits));
  if (!*fits) return DM_OK;
  int64_t unsuited = !is_suited(t);
  DM_TRY(dm_comm_max_i64(world, &unsuited, 1));
  *fits = !unsuited;
  return DM_OK;
}

dm_status dm_travel_open(dm_stationary *kept, const dm_run *run, dm_backend *backend,
                         const char *transport, const dm_distributed matrix[3],
                         const dm_whole_product *whole, dm_travel *travel, bool *fits) {
  *travel = (dm_travel){.run = run, .kept = kept};
  if (kept->backend != backend) forget(kept, false);
  kept->backend = backend;
  return open_travel(travel, matrix, whole, transport, fits);
}

void dm_travel_close(dm_travel *travel) {
  dm_strips_close(&travel->strips);
}

/* ---- multiplying ---- */

/* The strips of one product on one rank, in order: copying, published, arrived, multiplied. */
typedef struct flow {
  dm_travel *t;
  int rank, ranks;
  uint64_t base; /* fillings of earlier products */
  int64_t copying, published, arrived, multiplied;
  dm_event copied[DM_GATHERS]; /* of strip s at s % DM_GATHERS */
  int tickets[DM_GATHERS];
  bool joining; /* the next strip to multiply, with the event */
  dm_event joined;
  dm_event read[SLOTS];                                   /* the last product of each place */
  int64_t *offset, *bytes, *source, *given, *given_bytes; /* of a gather while it is posted */
  dm_status (*meanwhile)(void *context);                  /* NULL: it has been called */
  void *context;
  dm_status met;     /* its outcome */
  dm_status failure; /* of this rank alone: it goes on without data, so that no other waits */
} flow;

static void endure(flow *f, dm_status status) {
  if (!f->failure)
    f->failure = status;
  else
    dm_status_free(status);
}

static int64_t place_of(const flow *f, int64_t strip) {
  return strip % f->t->slots * f->t->slot_bytes;
}

/* Where products read the strip. */
static int64_t operand_of(const flow *f, int64_t strip) {
  if (!f->t->joins) return place_of(f, strip);
  return (f->t->slots + strip % JOINED) * f->t->slot_bytes;
}

static dm_event *reader_of(flow *f, int64_t strip) {
  return &f->read[strip % (f->t->joins ? JOINED : f->t->slots)];
}

/* Bytes of the strip before row ROW. */
static int64_t bytes_before(const flow *f, int64_t row, int64_t width) {
  return row * width * dm_dtype_size(f->t->whole.b.dtype);
}

static int64_t width_of(const flow *f, int64_t strip) {
  return dm_range_size(dm_strips_cols(&f->t->strips, strip, f->rank));
}

/* Where the workspace has this rank's piece. */
static int64_t own_place(const flow *f, int64_t strip) {
  const int64_t first = f->t->strips.rows[f->rank].begin;
  return place_of(f, strip) + bytes_before(f, first, width_of(f, strip));
}

/* Products have read what the slot held, and so have the peers. */
static dm_status is_free(flow *f, int64_t strip, bool *free) {
  const int64_t before = strip - f->t->slots;
  *free = strip < f->t->slots;
  if (*free || before >= f->multiplied) return DM_OK;
  if (!dm_transport_drained(f->t->kept->transport, SHARE, f->base + (uint64_t)before + 1))
    return DM_OK;
  *free = f->t->joins;
  return *free ? DM_OK : dm_backend_test(f->t->kept->backend, *reader_of(f, before), free);
}

static dm_status copy(const flow *f, dm_view to, dm_view from, dm_event *copied) {
  const bool turned = f->t->by_columns;
  return dm_backend_copy(f->t->kept->backend, turned ? dm_view_transpose(to) : to,
                         turned ? dm_view_transpose(from) : from, copied);
}

/* Copies this rank's piece to the workspace. */
static dm_status copy_piece(flow *f, int64_t strip) {
  dm_travel *t = f->t;
  const dm_strips *s = &t->strips;
  const dm_range cols = dm_strips_cols(s, strip, f->rank);
  dm_event *copied = &f->copied[strip % DM_GATHERS];
  *copied = 0;
  if (!dm_strips_gives(s, strip, f->rank)) return DM_OK;
  const int64_t rows = dm_range_size(s->rows[f->rank]), width = dm_range_size(cols);
  return copy(f, strip_at(t, (char *)t->kept->memory + own_place(f, strip), rows, width),
              dm_view_sub(t->whole.b, 0, cols.begin - s->cols[f->rank].begin, rows, width), copied);
}

/* Copies the pieces of a strip that has arrived to one matrix. */
static dm_status join(flow *f, int64_t strip) {
  const dm_strips *s = &f->t->strips;
  const int64_t width = width_of(f, strip);
  char *memory = f->t->kept->memory;
  f->joined = 0;
  const dm_view whole = strip_at(f->t, memory + operand_of(f, strip), s->depth, width);
  for (int r = 0; r < f->ranks; r++) {
    if (!dm_strips_moves(s, strip, r, f->rank)) continue;
    const int64_t first = s->rows[r].begin, rows = dm_range_size(s->rows[r]);
    char *at = memory + place_of(f, strip) + bytes_before(f, first, width);
    DM_TRY(copy(f, dm_view_sub(whole, first, 0, rows, width), strip_at(f->t, at, rows, width),
                &f->joined));
  }
  return DM_OK;
}

static void lay_out(flow *f, int64_t strip) {
  const dm_strips *s = &f->t->strips;
  const int64_t width = width_of(f, strip), place = place_of(f, strip);
  for (int r = 0; r < f->ranks; r++) {
    const int64_t bytes = bytes_before(f, dm_range_size(s->rows[r]), width);
    f->offset[r] = bytes_before(f, s->rows[r].begin, width);
    f->source[r] = place + f->offset[r];
    f->bytes[r] = dm_strips_moves(s, strip, r, f->rank) ? bytes : 0;
    f->given[r] = own_place(f, strip);
    f->given_bytes[r] = dm_strips_moves(s, strip, f->rank, r)
                            ? bytes_before(f, dm_range_size(s->rows[f->rank]), width)
                            : 0;
  }
}

static dm_status post_gather(flow *f, int64_t strip) {
  dm_stationary *kept = f->t->kept;
  char *memory = kept->memory;
  lay_out(f, strip);
  const dm_gather gather = {.group = f->t->run->world,
                            .own = memory + own_place(f, strip),
                            .slot = memory + place_of(f, strip),
                            .offset = f->offset,
                            .bytes = f->bytes,
                            .source = f->source,
                            .share = SHARE,
                            .given = f->given,
                            .given_bytes = f->given_bytes,
                            .filling = f->base + (uint64_t)strip + 1,
                            .tag = (int)(strip % TAGS)};
  dm_transport_refilled(kept->transport, SHARE, gather.filling);
  return dm_transport_post(kept->transport, &gather, &f->tickets[strip % DM_GATHERS]);
}

static dm_status multiply_strip(flow *f, int64_t strip) {
  dm_travel *t = f->t;
  dm_event *read = reader_of(f, strip);
  *read = 0;
  if (!dm_strips_takes(&t->strips, strip, f->rank)) return DM_OK;
  const dm_whole_product one = product_of(t, strip, (char *)t->kept->memory + operand_of(f, strip));
  return dm_backend_multiply(t->kept->backend, &one, NULL, read);
}

static dm_status advance_copies(flow *f, bool *moved) {
  const dm_travel *t = f->t;
  bool done = false;
  if (f->copying == t->strips.count || f->copying - f->arrived == DM_GATHERS) return DM_OK;
  DM_TRY(is_free(f, f->copying, &done));
  if (!done) return DM_OK;
  *moved = true;
  return copy_piece(f, f->copying++);
}

/* The transport's errors end the flow. */
static dm_status advance_gathers(flow *f, bool *moved) {
  dm_stationary *kept = f->t->kept;
  bool done = true;
  const bool may = f->published < f->copying && f->published - f->arrived < DM_GATHERS;
  if (may && !f->failure)
    endure(f, dm_backend_test(kept->backend, f->copied[f->published % DM_GATHERS], &done));
  if (may && (done || f->failure)) {
    DM_TRY(post_gather(f, f->published));
    f->published++;
    *moved = true;
  }
  if (f->arrived == f->published) return DM_OK;
  DM_TRY(dm_transport_test(kept->transport, f->tickets[f->arrived % DM_GATHERS], &done));
  f->arrived += done;
  *moved |= done;
  return DM_OK;
}

static dm_status advance_products(flow *f, bool *moved) {
  const dm_travel *t = f->t;
  bool ready = true;
  if (f->multiplied == f->arrived) return DM_OK;
  if (t->joins && !f->joining) {
    DM_TRY(dm_backend_test(t->kept->backend, *reader_of(f, f->multiplied), &ready));
    if (!ready) return DM_OK;
    f->joining = *moved = true;
    return join(f, f->multiplied);
  }
  if (t->joins) DM_TRY(dm_backend_test(t->kept->backend, f->joined, &ready));
  if (!ready) return DM_OK;
  f->joining = false;
  *moved = true;
  return multiply_strip(f, f->multiplied++);
}

/* Starts or completes what can be. */
static dm_status advance(flow *f, bool *moved) {
  *moved = false;
  if (!f->failure) endure(f, advance_copies(f, moved));
  DM_TRY(advance_gathers(f, moved));
  if (!f->failure) endure(f, advance_products(f, moved));
  if (!f->failure) return DM_OK;
  f->copying = f->t->strips.count; /* peers get anything */
  f->multiplied = f->arrived;
  return DM_OK;
}

/* Its errors are agreed. */
static void leave(flow *f) {
  if (f->meanwhile) f->met = f->meanwhile(f->context);
  f->meanwhile = NULL;
}

/* Products run for a while, and no peer waits for this rank before it is back. */
static bool may_leave(const flow *f) {
  const int64_t count = f->t->strips.count;
  return f->multiplied >= dm_min(2, count) && f->published >= dm_min(f->t->slots, count);
}

static dm_status run_strips(flow *f) {
  const dm_travel *t = f->t;
  bool moved;
  while (f->multiplied < t->strips.count) {
    DM_TRY(advance(f, &moved));
    if (may_leave(f)) leave(f);
    if (moved) dm_watch_moved(t->run->watch);
    dm_watch_poll(t->run->watch);
    if (!moved) DM_TRY(dm_transport_rest(t->kept->transport));
  }
  return DM_OK;
}

static dm_status open_flow(flow *f) {
  int64_t *memory;
  DM_TRY(dm_buffer_table(5 * (int64_t)f->ranks, &memory));
  f->offset = memory;
  f->bytes = memory + f->ranks;
  f->source = memory + 2 * f->ranks;
  f->given = memory + 3 * f->ranks;
  f->given_bytes = memory + 4 * f->ranks;
  return DM_OK;
}

/* Lets the peers go on if the transport broke, and ends what this rank has started. */
static void end_flow(flow *f, dm_status broke) {
  if (broke) dm_transport_abandon(f->t->kept->transport);
  leave(f);
  for (int i = 0; i < f->t->slots; i++) endure(f, dm_backend_wait(f->t->kept->backend, f->read[i]));
  free(f->offset);
}

dm_status dm_travel_multiply(dm_travel *t, dm_status (*meanwhile)(void *context), void *context) {
  dm_stationary *kept = t->kept;
  dm_comm *world = t->run->world;
  flow f = {.t = t,
            .rank = t->run->rank,
            .ranks = t->run->ranks,
            .base = kept->fillings,
            .meanwhile = meanwhile,
            .context = context};
  DM_TRY(dm_comm_agree(world, open_flow(&f)));
  dm_status broke = run_strips(&f);
  int64_t broken = broke != DM_OK;
  end_flow(&f, broke);
  kept->fillings += (uint64_t)t->strips.count;
  dm_status status = dm_comm_agree(world, dm_status_first(f.failure, broke));
  if (!status) return f.met;
  dm_status_free(f.met);
  dm_status counted = dm_comm_max_i64(world, &broken, 1);
  if (!counted && broken) forget(kept, true);
  return dm_status_first(status, counted);
}
