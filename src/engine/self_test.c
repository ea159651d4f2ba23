/* Self-test of a transport: ranks exchange test patterns in the way panels travel, compare every
 * byte, and then measure the time with all ranks active. Pieces grow from a size that any link
 * carries to one that shows the link's bandwidth, as long as that takes at most two seconds. */
#include <math.h>
#include <string.h>

#include "core/checked.h"
#include "core/clock.h"
#include "engine/exchange.h"
#include "engine/links.h"

enum {
  PATTERN = 0, /* the share is filled once */
  ROUNDS = 8,  /* maximum number of gathers timed */
  SMALLEST_PIECE = 4 << 10,
  GROWTH = 16,
  SLACK = 64,             /* bytes left out of a piece, so that it may start anywhere */
  DEVICE_PIECE = 8 << 20, /* bytes a rank contributes */
  HOST_PIECE = 1 << 20,
};

static const double moment = 2.0; /* longest time of a gather in seconds, ... */
static const double timed = 0.05; /* ... and of all timed gathers, unless one takes longer */

/* Odd sizes and unaligned starts; other bytes in every STEP, so that earlier data is never mistaken
 * for new data. */
static void lay_out(dm_exchange *e, int step, int64_t size) {
  for (int r = 0; r < dm_comm_size(e->group); r++) {
    e->source[r] = 3 * r + 8 * step;
    e->bytes[r] = size - SLACK - 5 * r;
    e->offset[0][r] = r * e->piece + r;
  }
}

/* Aligned like panels: unaligned copies go byte by byte, and their time would mislead. */
static void lay_out_plain(dm_exchange *e) {
  for (int r = 0; r < dm_comm_size(e->group); r++) {
    e->source[r] = 0;
    e->bytes[r] = (e->bytes[r] + SLACK) / SLACK * SLACK;
    e->offset[0][r] = r * e->piece;
  }
}

/* Measures the seconds per byte received by this rank. */
static dm_status measure(const dm_exchange *e, const dm_comm *world, int rounds, double *slowness) {
  const int64_t before = dm_transport_received(e->transport);
  DM_TRY(dm_comm_barrier(world));
  const double start = dm_now();
  dm_status status = dm_exchange_gather(e, rounds, rounds);
  const double seconds = dm_now() - start;
  const int64_t bytes = dm_transport_received(e->transport) - before;
  *slowness = bytes > 0 ? seconds / (double)bytes : 0.0;
  return status;
}

/* One gather whose bytes are all compared; returns the seconds that the slowest rank waited. */
static dm_status carry_once(const dm_exchange *e, const dm_comm *world, double *seconds) {
  DM_TRY(dm_comm_barrier(world));
  const double start = dm_now();
  dm_status status = dm_exchange_gather(e, 1, 1);
  *seconds = dm_now() - start;
  DM_TRY(dm_comm_agree(world, status ? status : dm_exchange_compare(e, PATTERN)));
  return dm_comm_max_f64(world, seconds, 1);
}

static dm_status carry(dm_exchange *e, const dm_comm *world, double *rate) {
  int64_t size = SMALLEST_PIECE;
  double slowness = 0.0, seconds = 0.0;
  DM_TRY(dm_comm_agree(world, dm_exchange_fill(e, PATTERN)));
  dm_transport_filled(e->transport, e->number);
  for (int step = 0;; step++) {
    lay_out(e, step, size);
    DM_TRY(carry_once(e, world, &seconds));
    if (step == 0) continue; /* step 0 opened connections */
    if (size == e->piece || seconds * GROWTH > moment) break;
    size = dm_min(size * GROWTH, e->piece);
  }
  const double rounds = fmax(1, fmin(ROUNDS, timed / fmax(seconds, 1e-9)));
  lay_out_plain(e);
  DM_TRY(dm_comm_agree(world, measure(e, world, (int)rounds, &slowness)));
  DM_TRY(dm_comm_max_f64(world, &slowness, 1));
  *rate = slowness > 0.0 ? 1.0 / slowness : 0.0;
  return DM_OK;
}

/* Each rank writes its piece into the shared slots; measures copying the others' pieces out, as
 * products read them. */
static dm_status share_slots(dm_exchange *e, const dm_comm *world, double *rate) {
  const int others = dm_comm_size(e->group) - 1;
  double slowness = 0.0, seconds;
  lay_out(e, 0, e->piece);
  DM_TRY(dm_comm_agree(world, dm_exchange_fill(e, PATTERN)));
  dm_transport_filled(e->transport, e->number);
  DM_TRY(carry_once(e, world, &seconds));
  DM_TRY(dm_comm_barrier(world));
  const double start = dm_now();
  dm_exchange_copy(e, ROUNDS * others);
  if (others > 0) slowness = (dm_now() - start) / (double)(ROUNDS * others * e->piece);
  DM_TRY(dm_comm_max_f64(world, &slowness, 1));
  *rate = slowness > 0.0 ? 1.0 / slowness : 0.0;
  return DM_OK;
}

/* Uses share 0 inside nodes, share 1 between them. */
static dm_status test_level(dm_exchange *e, const dm_run *run, bool between, double *rate) {
  e->number = between;
  DM_TRY(dm_exchange_neighbours(run, between, &e->group));
  DM_TRY(dm_exchange_open(e, run->world));
  return e->shared ? share_slots(e, run->world, rate) : carry(e, run->world, rate);
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
  const int64_t piece = ops->device_memory ? DEVICE_PIECE : HOST_PIECE;
  dm_exchange e[2] = {{.backend = backend, .watch = run->watch, .slots = 1, .piece = piece}};
  *rates = (dm_link_rates){0};
  DM_TRY(dm_links_open(run, backend, ops, &e[0].transport));
  e[1] = e[0];
  const bool inside = run->nodes < run->ranks || run->nodes == 1;
  const bool between = run->nodes > 1 && !ops->shared_slots;
  dm_status status = inside ? test_level(&e[0], run, false, &rates->inside) : DM_OK;
  if (!status && between) status = test_level(&e[1], run, true, &rates->between);
  /* A peer may still write to the memory of an aborted test: do not free it. */
  if (status) {
    dm_transport_abandon(e->transport);
    return status;
  }
  dm_transport_close(e->transport);
  if (inside) dm_exchange_close(&e[0]);
  if (between) dm_exchange_close(&e[1]);
  return DM_OK;
}
