/* ranks: 1 2 3 4 6 8. Pieces that use one transport within a node and another between nodes: on
 * ranks that pretend to be on several nodes, by messages of two transports. */
#include "rank_test.h"

#include "transport/transport.h"
#include "transport/transport_list.h"

enum {
  GATHERS = 9,
  GUARD = 16,
  LARGE = 9 << 20,
  SHARE = LARGE + GATHERS * 8 * 70002,
  UNTOUCHED = 0x5a
};

typedef struct gathering {
  bool by_taker, done; /* by_taker: pieces differ by the rank that takes them */
  int number, ticket;
  int64_t offset[8], total;
  unsigned char *slot;
} gathering;

static int part_of(const gathering *x, int taker) {
  return x->by_taker ? 1 + taker : 0;
}

static int64_t piece_of(const gathering *x, int owner, int taker) {
  const int g = x->number, part = part_of(x, taker);
  if (g == 4) return owner == 0 ? LARGE + 17 : 33;
  if ((owner + g) % 4 == 3) return 0;
  return 1 + (int64_t)(dm_mix((uint64_t)(owner * 100 + g + 10000 * part)) % 70001);
}

static int tag_of(const gathering *x, int taker) {
  return x->number * 10 + part_of(x, taker);
}

/* Pieces are contiguous in the share; *AT is the offset of the next one. */
static void post(rank_test *t, dm_transport *transport, unsigned char *share, gathering *x,
                 int64_t *at) {
  const int me = t->run.rank, ranks = t->run.ranks;
  int64_t bytes[8], sent[8], sent_bytes[8];
  for (int r = 0; r < ranks; r++) {
    x->offset[r] = x->total;
    x->total += bytes[r] = piece_of(x, r, me);
    sent[r] = *at;
    sent_bytes[r] = piece_of(x, me, r);
    put_pattern(share + *at, sent_bytes[r], me, tag_of(x, r));
    if (x->by_taker || r == ranks - 1) *at += sent_bytes[r];
  }
  x->slot = memory_of(t, x->total + GUARD);
  memset(x->slot, UNTOUCHED, (size_t)(x->total + GUARD));
  const dm_gather gather = {.group = t->run.world,
                            .own = share + sent[me],
                            .slot = x->slot,
                            .offset = x->offset,
                            .bytes = bytes,
                            .share = 1,
                            .sent = x->by_taker ? sent : NULL,
                            .sent_bytes = x->by_taker ? sent_bytes : NULL,
                            .tag = x->number};
  must(t, dm_transport_post(transport, &gather, &x->ticket));
}

static void check(rank_test *t, const gathering *x) {
  const int me = t->run.rank;
  for (int r = 0; r < t->run.ranks; r++)
    CHECK(t, has_pattern(x->slot + x->offset[r], piece_of(x, r, me), r, tag_of(x, me)),
          "gather %d: piece of %d", x->number, r);
  for (int i = 0; i < GUARD; i++)
    CHECK(t, x->slot[x->total + i] == UNTOUCHED, "written behind the slot");
}

static void gathers(rank_test *t, dm_transport *transport) {
  unsigned char *share = memory_of(t, SHARE);
  must(t, dm_transport_expose(transport, 1, t->run.world, share, SHARE));
  for (int round = 0; round < 2; round++) {
    gathering all[GATHERS] = {{0}};
    int64_t at = 0;
    for (int g = 0; g < GATHERS; g++) {
      all[g].number = g;
      all[g].by_taker = g % 3 == 1 && g != 4;
      post(t, transport, share, &all[g], &at);
    }
    for (int left = GATHERS; left > 0;)
      for (int g = 0; g < GATHERS; g++) {
        if (all[g].done) continue;
        must(t, dm_transport_test(transport, all[g].ticket, &all[g].done));
        left -= all[g].done;
      }
    for (int g = 0; g < GATHERS; g++) {
      check(t, &all[g]);
      free(all[g].slot);
    }
  }
  dm_transport_close(transport);
  free(share);
}

static dm_status open_joint(const dm_transport_config *config, dm_transport **transport);
static const dm_transport_ops joint_ops = {.name = "host+host", .open = open_joint};

static dm_status open_joint(const dm_transport_config *config, dm_transport **transport) {
  return dm_two_level_open(&joint_ops, &dm_transport_host, &dm_transport_host, config, transport);
}

/* NODES with the same number of ranks, or one more on the first ones. */
static void on_nodes(rank_test *t, int nodes) {
  dm_transport_config config = {.group = t->run.world, .device = -1};
  dm_comm *node;
  dm_transport *transport;
  must(t, dm_comm_split(t->run.world, t->run.rank % nodes, t->run.rank, &node));
  config.node = node;
  must(t, dm_transport_open(&joint_ops, &config, &transport));
  gathers(t, transport);
  dm_comm_free(node);
}

TEST_PROGRAM(test_two_level) {
  rank_test test = rank_test_start();
  for (int nodes = 1; nodes <= test.run.ranks; nodes++) on_nodes(&test, nodes);
  return rank_test_end(&test);
}
