/* The proof of a transport: patterns go between ranks as panels do, every byte is compared, and
 * then the time is taken with all ranks at work.  Pieces grow from a size that any link carries to
 * one that shows what the link can do, as far as that takes no more than a moment. */
#include <math.h>
#include <string.h>

#include "core/checked.h"
#include "core/clock.h"
#include "engine/links.h"
#include "engine/test_pattern.h"

enum {
  NEIGHBOURS = 8, /* ranks of a group that gathers: on most nodes all, so every pair */
  ROUNDS = 8,     /* gathers that are timed, at most */
  SMALLEST_PIECE = 4 << 10,
  GROWTH = 16,
  SLACK = 64,             /* bytes that are left out of a piece, so that it may begin anywhere */
  DEVICE_PIECE = 8 << 20, /* bytes a rank contributes */
  HOST_PIECE = 1 << 20,
};

static const double moment = 2.0; /* seconds that a gather, or all that are timed, may take */

typedef struct proof {
  dm_backend *backend;
  dm_transport *transport;
  dm_comm *group;
  dm_watch *watch;
  dm_space space;
  int64_t piece; /* room for one */
  int number;    /* of the share */
  bool shared;   /* slot is memory that the group shares */
  void *share, *slot;
  char *sent, *arrived; /* in host memory, of one piece each */
  int64_t offset[NEIGHBOURS], bytes[NEIGHBOURS], source[NEIGHBOURS];
} proof;

static dm_status prepare(proof *p, bool device_memory) {
  const int ranks = dm_comm_size(p->group);
  p->space = device_memory ? DM_DEVICE : DM_HOST;
  p->piece = device_memory ? DEVICE_PIECE : HOST_PIECE;
  DM_TRY(dm_backend_alloc(p->backend, p->space, p->piece, &p->share));
  if (!p->shared) DM_TRY(dm_backend_alloc(p->backend, p->space, ranks * p->piece, &p->slot));
  void *memory;
  DM_TRY(dm_backend_alloc(p->backend, DM_HOST, 2 * p->piece, &memory));
  p->sent = memory;
  p->arrived = p->sent + p->piece;
  return DM_OK;
}

/* Odd sizes, and starts that no engine likes; in every STEP other bytes, so that none that arrived
 * before is taken for one that arrives now. */
static void lay_out(proof *p, int step, int64_t size) {
  for (int r = 0; r < dm_comm_size(p->group); r++) {
    p->source[r] = 3 * r + 8 * step;
    p->bytes[r] = size - SLACK - 5 * r;
    p->offset[r] = r * p->piece + r;
  }
}

/* As panels lie, for the time that they take: what begins anywhere is copied by bytes. */
static void lay_out_plain(proof *p) {
  for (int r = 0; r < dm_comm_size(p->group); r++) {
    p->source[r] = 0;
    p->bytes[r] = (p->bytes[r] + SLACK) / SLACK * SLACK;
    p->offset[r] = r * p->piece;
  }
}

static void release(proof *p) {
  dm_backend_release(p->backend, p->space, p->share);
  if (!p->shared) dm_backend_release(p->backend, p->space, p->slot);
  dm_backend_release(p->backend, DM_HOST, p->sent);
  dm_comm_free(p->group);
}

static dm_status copy(const proof *p, void *dst, dm_space dst_space, const void *src,
                      dm_space src_space, int64_t bytes) {
  return dm_test_pattern_copy(p->backend, dst, dst_space, src, src_space, bytes);
}

static void write_pattern(const proof *p, int rank) {
  dm_test_pattern_write(p->sent, p->piece, rank, 0);
}

/* The share holds this rank's pattern, the slot nothing that could be taken for one. */
static dm_status fill(const proof *p) {
  memset(p->arrived, 0, (size_t)p->piece);
  for (int r = 0; r < dm_comm_size(p->group); r++)
    DM_TRY(copy(p, (char *)p->slot + r * p->piece, p->space, p->arrived, DM_HOST, p->piece));
  write_pattern(p, dm_comm_rank(p->group));
  return copy(p, p->share, p->space, p->sent, DM_HOST, p->piece);
}

static dm_status compare(const proof *p) {
  for (int r = 0; r < dm_comm_size(p->group); r++) {
    write_pattern(p, r);
    DM_TRY(copy(p, p->arrived, DM_HOST, (char *)p->slot + p->offset[r], p->space, p->bytes[r]));
    DM_TRY(dm_test_pattern_compare(p->arrived, p->sent + p->source[r], p->bytes[r], r));
  }
  return DM_OK;
}

static dm_gather wanted(const void *context, int i) {
  const proof *p = context;
  (void)i;
  return (dm_gather){.group = p->group,
                     .own = (char *)p->share + p->source[dm_comm_rank(p->group)],
                     .slot = p->slot,
                     .offset = p->offset,
                     .bytes = p->bytes,
                     .source = p->source,
                     .share = p->number};
}

/* COUNT gathers, all under way at once. */
static dm_status gather(const proof *p, int count) {
  return dm_gathers_run(p->transport, p->watch, wanted, p, count, count);
}

/* Seconds for each byte that this rank received. */
static dm_status measure(const proof *p, const dm_comm *world, int rounds, double *slowness) {
  const int64_t before = dm_transport_received(p->transport);
  DM_TRY(dm_comm_barrier(world));
  const double start = dm_now();
  dm_status status = gather(p, rounds);
  const double seconds = dm_now() - start;
  const int64_t bytes = dm_transport_received(p->transport) - before;
  *slowness = bytes > 0 ? seconds / (double)bytes : 0.0;
  return status;
}

/* One gather whose every byte is compared, and the seconds that the slowest rank waited for it. */
static dm_status carry_once(proof *p, const dm_comm *world, double *seconds) {
  DM_TRY(dm_comm_barrier(world));
  const double start = dm_now();
  dm_status status = gather(p, 1);
  *seconds = dm_now() - start;
  DM_TRY(dm_comm_agree(world, status ? status : compare(p)));
  return dm_comm_max_f64(world, seconds, 1);
}

static dm_status carry(proof *p, const dm_comm *world, double *rate) {
  int64_t size = SMALLEST_PIECE;
  double slowness = 0.0, seconds = 0.0;
  DM_TRY(dm_comm_agree(world,
                       dm_transport_expose(p->transport, p->number, p->group, p->share, p->piece)));
  DM_TRY(dm_comm_agree(world, fill(p)));
  dm_transport_filled(p->transport, p->number);
  for (int step = 0;; step++) {
    lay_out(p, step, size);
    DM_TRY(carry_once(p, world, &seconds));
    if (step == 0) continue; /* it opened connections */
    if (size == p->piece || seconds * GROWTH > moment) break;
    size = dm_min(size * GROWTH, p->piece);
  }
  const double rounds = fmax(1, fmin(ROUNDS, moment / fmax(seconds, 1e-9)));
  lay_out_plain(p);
  DM_TRY(dm_comm_agree(world, measure(p, world, (int)rounds, &slowness)));
  DM_TRY(dm_comm_max_f64(world, &slowness, 1));
  *rate = slowness > 0.0 ? 1.0 / slowness : 0.0;
  return DM_OK;
}

/* Each rank puts its piece where all see it; then the time is that of copying the pieces of the
 * others out again, which is what a product does with them. */
static dm_status share_slots(proof *p, const dm_comm *world, double *rate) {
  const int ranks = dm_comm_size(p->group), me = dm_comm_rank(p->group);
  double slowness = 0.0, seconds;
  DM_TRY(dm_comm_agree(world, dm_transport_slots_open(p->transport, p->number, p->group,
                                                      ranks * p->piece, &p->slot)));
  lay_out(p, 0, p->piece);
  write_pattern(p, me);
  memcpy((char *)p->slot + p->offset[me], p->sent + p->source[me], (size_t)p->bytes[me]);
  dm_transport_filled(p->transport, p->number);
  DM_TRY(carry_once(p, world, &seconds));
  DM_TRY(dm_comm_barrier(world));
  const double start = dm_now();
  for (int i = 0; i < ROUNDS * (ranks - 1); i++) {
    const int r = (me + 1 + i % (ranks - 1)) % ranks;
    memcpy(p->arrived, (char *)p->slot + p->offset[r], (size_t)p->bytes[r]);
  }
  if (ranks > 1) slowness = (dm_now() - start) / (double)(ROUNDS * (ranks - 1) * p->piece);
  DM_TRY(dm_comm_max_f64(world, &slowness, 1));
  *rate = slowness > 0.0 ? 1.0 / slowness : 0.0;
  return DM_OK;
}

/* Groups of neighbours: of one node, or each of another. */
static dm_status split(const dm_run *run, bool between, proof *p) {
  dm_comm *across = NULL;
  const dm_comm *all = run->near;
  if (between) {
    DM_TRY(dm_comm_split(run->world, dm_comm_rank(run->near), run->rank, &across));
    all = across;
  }
  const int64_t ranks = dm_comm_size(all), rank = dm_comm_rank(all);
  const int64_t parts = dm_ceil_div(ranks, NEIGHBOURS);
  dm_status status = dm_comm_split(all, (int)(rank * parts / ranks), (int)rank, &p->group);
  dm_comm_free(across);
  return status;
}

/* By share 0 inside nodes, by share 1 between them. */
static dm_status test_level(proof *p, const dm_run *run, bool between, double *rate) {
  const dm_comm *world = run->world;
  p->number = between;
  dm_status status = split(run, between, p);
  if (!status) status = prepare(p, p->transport->ops->device_memory);
  DM_TRY(dm_comm_agree(world, status));
  return p->shared ? share_slots(p, world, rate) : carry(p, world, rate);
}

static dm_status take_memory(void *context, dm_space space, int64_t bytes, void **memory) {
  return dm_backend_alloc(context, space, bytes, memory);
}

static void give_memory(void *context, dm_space space, void *memory) {
  dm_backend_release(context, space, memory);
}

static dm_status post_copy(void *context, dm_view dst, dm_view src, uint64_t *event) {
  return dm_backend_copy(context, dst, src, event);
}

static dm_status test_copy(void *context, uint64_t event, bool *done) {
  return dm_backend_test(context, event, done);
}

dm_status dm_links_open(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                        dm_transport **transport) {
  const dm_mover mover = {.context = backend,
                          .alloc = take_memory,
                          .release = give_memory,
                          .copy = post_copy,
                          .test = test_copy};
  dm_transport_config config = {
      .group = run->world, .device = -1, .node = run->near, .mover = &mover};
  dm_device device;
  DM_TRY(dm_comm_agree(run->world, dm_backend_device(backend, &device)));
  if (backend->ops->device_memory) config.device = device.index;
  return dm_comm_agree(run->world, dm_transport_open(ops, &config, transport));
}

dm_status dm_links_self_test(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                             dm_link_rates *rates) {
  proof p[2] = {{.backend = backend, .watch = run->watch, .shared = ops->shared_slots != NULL}};
  *rates = (dm_link_rates){0};
  DM_TRY(dm_links_open(run, backend, ops, &p[0].transport));
  p[1] = p[0];
  const bool inside = run->nodes < run->ranks || run->nodes == 1;
  const bool between = run->nodes > 1 && !p->shared;
  dm_status status = inside ? test_level(&p[0], run, false, &rates->inside) : DM_OK;
  if (!status && between) status = test_level(&p[1], run, true, &rates->between);
  /* What broke off may still be written to by a peer: it stays where it is. */
  if (status) {
    dm_transport_abandon(p->transport);
    return status;
  }
  dm_transport_close(p->transport);
  if (inside) release(&p[0]);
  if (between) release(&p[1]);
  return DM_OK;
}
