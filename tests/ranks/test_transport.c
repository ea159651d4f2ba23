/* ranks: 1 2 3 4 6 8. Gathers of odd and empty pieces, many under way, posted in any order. */
#include "rank_test.h"

#include "transport/transport.h"

enum { GATHERS = DM_GATHERS, GUARD = 16 };

/* Bytes that rank R contributes to gather G: odd sizes, some empty. */
static int64_t piece_of(int r, int g) {
  return (r + g) % 4 == 0 ? 0 : 1 + (int64_t)(dm_mix((uint64_t)(r * 100 + g)) % 70001);
}

typedef struct gathering {
  int64_t offset[8], bytes[8], total;
  unsigned char *own, *slot;
  bool in_place, done;
  int ticket;
} gathering;

static void post(rank_test *t, dm_transport *transport, gathering *x, int g) {
  const int me = t->run.rank;
  x->total = 0;
  for (int r = 0; r < t->run.ranks; r++) {
    x->offset[r] = x->total;
    x->bytes[r] = piece_of(r, g);
    x->total += x->bytes[r];
  }
  x->slot = memory_of(t, x->total + GUARD);
  memset(x->slot, 0x5a, (size_t)(x->total + GUARD));
  x->in_place = g % 3 == 0;
  x->own = x->in_place ? x->slot + x->offset[me] : memory_of(t, x->bytes[me]);
  put_pattern(x->own, x->bytes[me], me, g);
  dm_gather gather = {.group = t->run.world,
                      .own = x->own,
                      .slot = x->slot,
                      .offset = x->offset,
                      .bytes = x->bytes,
                      .tag = g == 0 ? 32767 : g};
  must(t, dm_transport_post(transport, &gather, &x->ticket));
}

static void check(rank_test *t, const gathering *x, int g) {
  for (int r = 0; r < t->run.ranks; r++)
    CHECK(t, has_pattern(x->slot + x->offset[r], x->bytes[r], r, g), "gather %d: piece of %d", g,
          r);
  for (int i = 0; i < GUARD; i++)
    CHECK(t, x->slot[x->total + i] == 0x5a, "written behind the slot");
}

static void gathers(rank_test *t, const dm_transport_ops *ops) {
  dm_transport *transport;
  const dm_transport_config config = {.group = t->run.world, .device = -1};
  must(t, dm_transport_open(ops, &config, &transport));
  gathering all[GATHERS] = {0};
  int64_t received = 0;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < GATHERS; i++) {
      int g = (i * 5 + t->run.rank) % GATHERS; /* each rank in its own order */
      post(t, transport, &all[g], g);
      received += all[g].total - all[g].bytes[t->run.rank];
    }
    for (int left = GATHERS; left > 0;) {
      for (int g = 0; g < GATHERS; g++) {
        if (all[g].done) continue;
        must(t, dm_transport_test(transport, all[g].ticket, &all[g].done));
        left -= all[g].done;
      }
    }
    for (int g = 0; g < GATHERS; g++) {
      check(t, &all[g], g);
      if (!all[g].in_place) free(all[g].own);
      free(all[g].slot);
      all[g] = (gathering){0};
    }
  }
  if (t->run.ranks > 1)
    CHECK(t, dm_transport_received(transport) == received, "%lld bytes received, wanted %lld",
          (long long)dm_transport_received(transport), (long long)received);
  dm_transport_close(transport);
}

TEST_PROGRAM(test_transport) {
  rank_test test = rank_test_start();
  for (const dm_transport_ops *const *ops = dm_transport_all(); *ops; ops++) {
    bool fits = !(*ops)->not_built && !(*ops)->device_memory &&
                (test.run.ranks == 1 || strcmp((*ops)->name, "self") != 0);
    if (fits) gathers(&test, *ops);
  }
  return rank_test_end(&test);
}
