/* ranks: 1 2 4 */
/* GPU memory sent by NCCL: gathers of odd and empty pieces in rows and columns of the ranks at the
 * same time, pieces that differ by taker, and ranks that are late.  Each rank needs a GPU of its
 * own. */
#include <unistd.h>

#include "backend/cuda.h"
#include "rank_test.h"
#include "transport/transport.h"

enum { GATHERS = 6, ROOM = DM_SLAB, DELAY = 100 * 1000, UNTOUCHED = 0x5a };

typedef struct nccl_test {
  rank_test base;
  dm_backend *gpu;
  dm_device device;
  unsigned char *host; /* ROOM bytes */
} nccl_test;

/* A share, and the ranks that gather pieces of it; each takes PARTS of it by itself, or all. */
typedef struct sharing {
  dm_comm *group;
  int number;
  bool by_taker;
  unsigned char *share, *slots;
  int64_t offset[GATHERS][8], end[GATHERS];
  int tickets[GATHERS];
} sharing;

static void move(nccl_test *t, dm_space to, void *dst, dm_space from, void *src, int64_t count) {
  dm_event done;
  if (count == 0) return;
  must(&t->base, dm_backend_copy(t->gpu, dm_view_strided(dst, DM_I8, to, 1, count, count),
                                 dm_view_strided(src, DM_I8, from, 1, count, count), &done));
  must(&t->base, dm_backend_wait(t->gpu, done));
}

static unsigned char *gpu_memory(nccl_test *t, int64_t bytes) {
  void *memory;
  must(&t->base, dm_backend_alloc(t->gpu, DM_DEVICE, bytes, &memory));
  return memory;
}

static sharing share_open(nccl_test *t, dm_transport *transport, int number, int color) {
  sharing s = {.number = number, .by_taker = number == 2};
  must(&t->base, dm_comm_split(t->base.run.world, color, t->base.run.rank, &s.group));
  s.share = gpu_memory(t, ROOM);
  s.slots = gpu_memory(t, GATHERS * ROOM);
  must(&t->base, dm_transport_expose(transport, number, s.group, s.share, ROOM));
  return s;
}

/* What OWNER gives TAKER in gather G: how much, where it begins, and who could tell. */
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

static void fill(nccl_test *t, const sharing *s) {
  const int me = dm_comm_rank(s->group);
  memset(t->host, UNTOUCHED, ROOM);
  for (int g = 0; g < GATHERS; g++) move(t, DM_DEVICE, s->slots + g * ROOM, DM_HOST, t->host, ROOM);
  for (int g = 0; g < GATHERS; g++)
    for (int taker = 0; taker < (s->by_taker ? dm_comm_size(s->group) : 1); taker++) {
      const int64_t bytes = piece_of(s, me, taker, g);
      put_pattern(t->host, bytes, me, tag_of(s, taker, g));
      move(t, DM_DEVICE, s->share + source_of(s, me, taker, g), DM_HOST, t->host, bytes);
    }
}

static void post(nccl_test *t, dm_transport *transport, sharing *s, int g) {
  const int me = dm_comm_rank(s->group);
  int64_t bytes[8], source[8], given[8], given_bytes[8];
  s->end[g] = 3;
  for (int r = 0; r < dm_comm_size(s->group); r++) {
    s->offset[g][r] = s->end[g];
    s->end[g] += bytes[r] = piece_of(s, r, me, g);
    source[r] = source_of(s, r, me, g);
    given[r] = source_of(s, me, r, g);
    given_bytes[r] = piece_of(s, me, r, g);
  }
  const dm_gather gather = {.group = s->group,
                            .own = s->share + source[me],
                            .slot = s->slots + g * ROOM,
                            .offset = s->offset[g],
                            .bytes = bytes,
                            .source = source,
                            .share = s->number,
                            .given = s->by_taker ? given : NULL,
                            .given_bytes = s->by_taker ? given_bytes : NULL,
                            .tag = g};
  must(&t->base, dm_transport_post(transport, &gather, &s->tickets[g]));
}

static void check(nccl_test *t, dm_transport *transport, const sharing *s, int g) {
  const int me = dm_comm_rank(s->group);
  for (bool done = false; !done;)
    must(&t->base, dm_transport_test(transport, s->tickets[g], &done));
  move(t, DM_HOST, t->host, DM_DEVICE, s->slots + g * ROOM, ROOM);
  for (int r = 0; r < dm_comm_size(s->group); r++)
    CHECK(&t->base,
          has_pattern(t->host + s->offset[g][r], piece_of(s, r, me, g), r, tag_of(s, me, g)),
          "share %d, gather %d: piece of %d", s->number, g, r);
  CHECK(&t->base, t->host[0] == UNTOUCHED && t->host[s->end[g]] == UNTOUCHED,
        "share %d, gather %d wrote beside its pieces", s->number, g);
}

/* Rows and columns as panels of A and B have them, then everybody with everybody. */
static void gathers(nccl_test *t, int late) {
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
  nccl_test t = {.base = rank_test_start()};
  const dm_backend_config config = {
      .local_rank = t.base.run.local_rank, .local_ranks = t.base.run.local_ranks, .kernel = "auto"};
  const bool built = !dm_transport_find("nccl")->not_built;
  if (!built || dm_cuda_device_count() < t.base.run.local_ranks) {
    dm_run_stop(&t.base.run);
    return SKIPPED;
  }
  must(&t.base, dm_backend_open(&dm_backend_cuda, &config, &t.gpu));
  must(&t.base, dm_backend_device(t.gpu, &t.device));
  t.host = memory_of(&t.base, ROOM);
  for (int late = 0; late < t.base.run.ranks; late++) gathers(&t, late);
  free(t.host);
  dm_backend_close(t.gpu);
  return rank_test_end(&t.base);
}
