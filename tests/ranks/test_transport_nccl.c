/* ranks: 1 2 4 */
/* GPU memory sent by NCCL: simultaneous gathers of odd and empty pieces in rows and columns of the
 * ranks, pieces that differ by taker, and late ranks. Each rank needs its own GPU. */
#include <unistd.h>

#include "gpu_ranks.h"
#include "transport/transport.h"

enum { GATHERS = 6, ROOM = DM_SLAB, DELAY = 100 * 1000, UNTOUCHED = 0x5a };

static unsigned char *host; /* ROOM bytes */

/* A share, and the ranks that gather pieces of it; each takes its own part, or all take the same.
 */
typedef struct sharing {
  dm_comm *group;
  int number;
  bool by_taker;
  unsigned char *share, *slots;
  int64_t offset[GATHERS][8], end[GATHERS];
  int tickets[GATHERS];
} sharing;

static sharing share_open(gpu_test *t, dm_transport *transport, int number, int color) {
  sharing s = {.number = number, .by_taker = number == 2};
  must(&t->base, dm_comm_split(t->base.run.world, color, t->base.run.rank, &s.group));
  s.share = gpu_memory(t, ROOM);
  s.slots = gpu_memory(t, GATHERS * ROOM);
  must(&t->base, dm_transport_expose(transport, number, s.group, s.share, ROOM));
  return s;
}

/* The piece that OWNER gives TAKER in gather G: its size, its offset, and the tag of its pattern.
 */
static int64_t piece_of(const sharing *s, int owner, int taker, int g) {
  const int part = s->by_taker ? taker : 0;
  if ((owner + g) % 4 == 3) return 0;
  return 1 + (int64_t)(dm_mix((uint64_t)(owner * 100 + 10 * g + part)) % 40001);
}

static int64_t source_of(const sharing *s, int owner, int taker, int g) {
  return (int64_t)(s->by_taker ? 4 * g + taker : 4 * g) * 50003 + 7 * owner;
}

static int tag_of(const sharing *s, int taker, int g) {
  return 100 * s->number + 10 * g + (s->by_taker ? taker : 0);
}

static void fill(gpu_test *t, const sharing *s) {
  const int me = dm_comm_rank(s->group);
  memset(host, UNTOUCHED, ROOM);
  for (int g = 0; g < GATHERS; g++) move(t, DM_DEVICE, s->slots + g * ROOM, DM_HOST, host, ROOM);
  for (int g = 0; g < GATHERS; g++)
    for (int taker = 0; taker < (s->by_taker ? dm_comm_size(s->group) : 1); taker++) {
      const int64_t bytes = piece_of(s, me, taker, g);
      put_pattern(host, bytes, me, tag_of(s, taker, g));
      move(t, DM_DEVICE, s->share + source_of(s, me, taker, g), DM_HOST, host, bytes);
    }
}

static void post(gpu_test *t, dm_transport *transport, sharing *s, int g) {
  const int me = dm_comm_rank(s->group);
  int64_t bytes[8], source[8], sent[8], sent_bytes[8];
  s->end[g] = 3;
  for (int r = 0; r < dm_comm_size(s->group); r++) {
    s->offset[g][r] = s->end[g];
    s->end[g] += bytes[r] = piece_of(s, r, me, g);
    source[r] = source_of(s, r, me, g);
    sent[r] = source_of(s, me, r, g);
    sent_bytes[r] = piece_of(s, me, r, g);
  }
  const dm_gather gather = {.group = s->group,
                            .own = s->share + source[me],
                            .slot = s->slots + g * ROOM,
                            .offset = s->offset[g],
                            .bytes = bytes,
                            .source = source,
                            .share = s->number,
                            .sent = s->by_taker ? sent : NULL,
                            .sent_bytes = s->by_taker ? sent_bytes : NULL,
                            .tag = g};
  must(&t->base, dm_transport_post(transport, &gather, &s->tickets[g]));
}

static void check(gpu_test *t, dm_transport *transport, const sharing *s, int g) {
  const int me = dm_comm_rank(s->group);
  for (bool done = false; !done;)
    must(&t->base, dm_transport_test(transport, s->tickets[g], &done));
  move(t, DM_HOST, host, DM_DEVICE, s->slots + g * ROOM, ROOM);
  for (int r = 0; r < dm_comm_size(s->group); r++)
    CHECK(&t->base, has_pattern(host + s->offset[g][r], piece_of(s, r, me, g), r, tag_of(s, me, g)),
          "share %d, gather %d: piece of %d", s->number, g, r);
  CHECK(&t->base, host[0] == UNTOUCHED && host[s->end[g]] == UNTOUCHED,
        "share %d, gather %d wrote beside its pieces", s->number, g);
}

/* Rows and columns as for panels of A and B, then all ranks with each other. */
static void gathers(gpu_test *t, int late) {
  const int rank = t->base.run.rank, ranks = t->base.run.ranks, wide = ranks == 4 ? 2 : ranks;
  const dm_transport_config config = {.group = t->base.run.world, .device = t->device.index};
  dm_transport *transport;
  must(&t->base, dm_transport_open(dm_transport_find("nccl"), &config, &transport));
  sharing s[DM_SHARES] = {share_open(t, transport, 0, rank / wide),
                          share_open(t, transport, 1, rank % wide), share_open(t, transport, 2, 0)};
  for (int i = 0; i < DM_SHARES; i++) fill(t, &s[i]);
  if (rank == late) usleep(DELAY);
  for (int g = 0; g < GATHERS; g++)
    for (int i = 0; i < 2; i++) post(t, transport, &s[i], g);
  for (int g = 0; g < GATHERS; g++)
    for (int i = 1; i >= 0; i--) check(t, transport, &s[i], g);
  for (int g = 0; g < GATHERS; g++) post(t, transport, &s[2], g);
  for (int g = GATHERS - 1; g >= 0; g--) check(t, transport, &s[2], g);
  dm_transport_close(transport);
  for (int i = 0; i < DM_SHARES; i++) {
    dm_backend_release(t->gpu, DM_DEVICE, s[i].share);
    dm_backend_release(t->gpu, DM_DEVICE, s[i].slots);
    dm_comm_free(s[i].group);
  }
}

TEST_PROGRAM(test_transport_nccl) {
  gpu_test t;
  if (dm_transport_find("nccl")->not_built || !gpu_test_start(&t, true)) return SKIPPED;
  host = memory_of(&t.base, ROOM);
  for (int late = 0; late < t.base.run.ranks; late++) gathers(&t, late);
  free(host);
  return gpu_test_end(&t);
}
