/* ranks: 2 4 */
/* Shares with two pieces at a time, refilled while peers still read the other one, with a rank that
 * is late at every step: by each transport of GPU memory, also on pretended nodes. */
#include <unistd.h>

#include "engine/links.h"
#include "gpu_ranks.h"

enum { PLACES = 2, FILLINGS = 9, PIECE = 300 * 1000 + 7, DELAY = 20 * 1000 };

typedef struct refill {
  gpu_test on;
  dm_transport *transport;
  unsigned char *share, *slots, *host; /* PLACES pieces, PLACES slots, one piece */
  int late, tickets[PLACES];
} refill;

/* Filling F, counted from 1, replaces filling F - PLACES. */
static void fill(refill *t, int f) {
  while (f > PLACES && !dm_transport_drained(t->transport, 0, (uint64_t)(f - PLACES))) usleep(10);
  put_pattern(t->host, PIECE, t->on.base.run.rank, f);
  move(&t->on, DM_DEVICE, t->share + f % PLACES * (int64_t)PIECE, DM_HOST, t->host, PIECE);
  dm_transport_refilled(t->transport, 0, (uint64_t)f);
}

static unsigned char *slot_of(const refill *t, int f) {
  return t->slots + f % PLACES * (int64_t)t->on.base.run.ranks * PIECE;
}

static void post(refill *t, int f) {
  int64_t offset[8], bytes[8], source[8];
  if (t->on.base.run.rank == t->late) usleep(DELAY);
  for (int r = 0; r < t->on.base.run.ranks; r++) {
    offset[r] = r * (int64_t)PIECE;
    bytes[r] = PIECE;
    source[r] = f % PLACES * (int64_t)PIECE;
  }
  const dm_gather gather = {.group = t->on.base.run.world,
                            .own = t->share + source[0],
                            .slot = slot_of(t, f),
                            .offset = offset,
                            .bytes = bytes,
                            .source = source,
                            .filling = (uint64_t)f,
                            .tag = f};
  must(&t->on.base, dm_transport_post(t->transport, &gather, &t->tickets[f % PLACES]));
}

static void check(refill *t, int f) {
  for (bool done = false; !done;)
    must(&t->on.base, dm_transport_test(t->transport, t->tickets[f % PLACES], &done));
  for (int r = 0; r < t->on.base.run.ranks; r++) {
    move(&t->on, DM_HOST, t->host, DM_DEVICE, slot_of(t, f) + r * (int64_t)PIECE, PIECE);
    CHECK(&t->on.base, has_pattern(t->host, PIECE, r, f),
          "%s: filling %d, piece of %d, rank %d late", t->transport->ops->name, f, r, t->late);
  }
}

static void run(refill *t, const dm_transport_ops *ops, int late) {
  t->late = late;
  must(&t->on.base, dm_links_open(&t->on.base.run, t->on.gpu, ops, &t->transport));
  t->share = gpu_memory(&t->on, dm_round_up(PLACES * (int64_t)PIECE, DM_SLAB));
  t->slots = gpu_memory(&t->on, PLACES * (int64_t)t->on.base.run.ranks * PIECE);
  must(&t->on.base, dm_transport_expose(t->transport, 0, t->on.base.run.world, t->share,
                                        PLACES * (int64_t)PIECE));
  for (int f = 1; f <= FILLINGS; f++) {
    if (f > PLACES) check(t, f - PLACES);
    fill(t, f);
    post(t, f);
  }
  for (int f = FILLINGS - PLACES + 1; f <= FILLINGS; f++) check(t, f);
  dm_transport_close(t->transport);
  dm_backend_release(t->on.gpu, DM_DEVICE, t->share);
  dm_backend_release(t->on.gpu, DM_DEVICE, t->slots);
}

/* NCCL needs a GPU for each rank. */
static void all_transports(refill *t) {
  for (const dm_transport_ops *const *ops = dm_transport_all(); *ops; ops++) {
    if (!(*ops)->device_memory || (*ops)->not_built) continue;
    if (t->on.base.run.nodes > 1 ? (*ops)->one_node : (*ops)->several_nodes) continue;
    if (t->on.device.sharing > 1 && strstr((*ops)->name, "nccl")) continue;
    for (int late = 0; late < t->on.base.run.ranks; late++) run(t, *ops, late);
  }
}

TEST_PROGRAM(test_refill_ipc) {
  refill t;
  if (!gpu_test_start(&t.on, false)) return SKIPPED;
  t.host = memory_of(&t.on.base, PIECE);
  for (int nodes = 1; nodes <= 2; nodes++) {
    must(&t.on.base, dm_run_pretend_nodes(&t.on.base.run, nodes));
    all_transports(&t);
  }
  free(t.host);
  return gpu_test_end(&t.on);
}
