/* ranks: 1 2 4 */
/* GPU memory between processes, which may share one GPU: odd pieces, shares filled late, and whole
 * products with a rank that is late at every step, against the same products by way of the host. */
#include <unistd.h>

#include "backend/cuda.h"
#include "core/fill.h"
#include "engine/rank_state.h"
#include "rank_test.h"

enum { NONE = -1, GATHERS = 6, ROOM = DM_SLAB, BEFORE = 3, DELAY = 100 * 1000 };

typedef struct gpu_test {
  rank_test base;
  dm_backend *gpu;
  dm_device device;
} gpu_test;

static void move(gpu_test *t, dm_view dst, dm_view src) {
  dm_event done;
  must(&t->base, dm_backend_copy(t->gpu, dst, src, &done));
  must(&t->base, dm_backend_wait(t->gpu, done));
}

static dm_view bytes_of(void *memory, int64_t count, dm_space space) {
  return dm_view_strided(memory, DM_I8, space, 1, count, count);
}

static void *gpu_memory(gpu_test *t, int64_t bytes) {
  void *memory;
  must(&t->base, dm_backend_alloc(t->gpu, DM_DEVICE, bytes, &memory));
  return memory;
}

/* Bytes that rank R contributes to gather G, and where they begin in its share. */
static int64_t piece_of(int r, int g) {
  return (r + g) % 4 == 3 ? 0 : 1 + (int64_t)(dm_mix((uint64_t)(r * 100 + g)) % 70001);
}

static int64_t source_of(int r, int g) {
  return (int64_t)g * 70003 + 7 * r;
}

static void check_slot(gpu_test *t, const unsigned char *slot, const int64_t *offset, int g) {
  for (int r = 0; r < t->base.run.ranks; r++)
    CHECK(&t->base, has_pattern(slot + offset[r], piece_of(r, g), r, g), "gather %d: piece of %d",
          g, r);
}

/* Everybody asks at once; the pieces come as the shares are filled, the one of LATE last. */
static void gathers(gpu_test *t, int late) {
  const int me = t->base.run.rank, ranks = t->base.run.ranks;
  const dm_transport_config config = {.group = t->base.run.world, .device = t->device.index};
  dm_transport *transport;
  must(&t->base, dm_transport_open(dm_transport_find("ipc"), &config, &transport));
  unsigned char *share = gpu_memory(t, ROOM), *slots = gpu_memory(t, GATHERS * ROOM);
  unsigned char *host = memory_of(&t->base, ROOM);
  memset(host, 0x5a, ROOM);
  for (int g = 0; g < GATHERS; g++)
    move(t, bytes_of(slots + g * ROOM, ROOM, DM_DEVICE), bytes_of(host, ROOM, DM_HOST));
  must(&t->base, dm_transport_expose(transport, 1, t->base.run.world, share, ROOM));

  int tickets[GATHERS];
  int64_t offset[GATHERS][8], total[GATHERS], wanted = 0;
  for (int g = 0; g < GATHERS; g++) {
    int64_t bytes[8], source[8];
    total[g] = BEFORE;
    for (int r = 0; r < ranks; r++) {
      offset[g][r] = total[g];
      total[g] += bytes[r] = piece_of(r, g);
      source[r] = source_of(r, g);
      wanted += r == me ? 0 : bytes[r];
    }
    dm_gather gather = {.group = t->base.run.world,
                        .own = share + source[me],
                        .slot = slots + g * ROOM,
                        .offset = offset[g],
                        .bytes = bytes,
                        .source = source,
                        .share = 1,
                        .tag = g};
    must(&t->base, dm_transport_post(transport, &gather, &tickets[g]));
  }
  for (int g = 0; g < GATHERS; g++) {
    bool done;
    must(&t->base, dm_transport_test(transport, tickets[g], &done));
    tickets[g] = done ? NONE : tickets[g]; /* with no pieces at all there is nothing to wait for */
    CHECK(&t->base, !done || total[g] == BEFORE, "gather %d did not wait for the shares", g);
  }
  must(&t->base, dm_comm_barrier(t->base.run.world));
  if (me == late) usleep(DELAY);
  for (int g = 0; g < GATHERS; g++) {
    put_pattern(host, piece_of(me, g), me, g);
    if (piece_of(me, g) > 0)
      move(t, bytes_of(share + source_of(me, g), piece_of(me, g), DM_DEVICE),
           bytes_of(host, piece_of(me, g), DM_HOST));
  }
  dm_transport_filled(transport, 1);
  for (int g = 0; g < GATHERS; g++)
    for (bool done = tickets[g] == NONE; !done;)
      must(&t->base, dm_transport_test(transport, tickets[g], &done));
  for (int g = 0; g < GATHERS; g++) {
    move(t, bytes_of(host, ROOM, DM_HOST), bytes_of(slots + g * ROOM, ROOM, DM_DEVICE));
    check_slot(t, host, offset[g], g);
    CHECK(&t->base,
          host[0] == 0x5a && host[BEFORE - 1] == 0x5a && host[total[g]] == 0x5a &&
              host[ROOM - 1] == 0x5a,
          "gather %d wrote beside its pieces", g);
  }
  CHECK(&t->base, dm_transport_received(transport) == wanted, "%lld bytes received, not %lld",
        (long long)dm_transport_received(transport), (long long)wanted);
  dm_transport_close(transport);
  dm_backend_release(t->gpu, DM_DEVICE, share);
  dm_backend_release(t->gpu, DM_DEVICE, slots);
  free(host);
}

TEST_PROGRAM(test_transport_ipc) {
  gpu_test t = {.base = rank_test_start()};
  if (dm_cuda_device_count() == 0) {
    dm_run_stop(&t.base.run);
    return SKIPPED;
  }
  const dm_backend_config config = {
      .local_rank = t.base.run.local_rank, .local_ranks = t.base.run.local_ranks, .kernel = "auto"};
  must(&t.base, dm_backend_open(&dm_backend_cuda, &config, &t.gpu));
  must(&t.base, dm_backend_device(t.gpu, &t.device));
  for (int late = 0; late < t.base.run.ranks; late++) gathers(&t, late);
  dm_backend_close(t.gpu);
  return rank_test_end(&t.base);
}
