/* ranks: 1 2 4 */
/* GPU memory between processes, which may share one GPU: odd pieces, shares filled late, and whole
 * products with a rank that is late at every step, compared with products through the host. */
#include <unistd.h>

#include "core/element.h"
#include "engine/rank_state.h"
#include "gpu_ranks.h"

enum { NONE = -1, GATHERS = 6, ROOM = DM_SLAB, BEFORE = 3, DELAY = 100 * 1000 };

/* Bytes that rank R contributes to gather G, and their offset in its share. */
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

/* All ranks post at once; pieces become available as the shares are filled, the one of LATE last.
 */
static void gathers(gpu_test *t, int late) {
  const int me = t->base.run.rank, ranks = t->base.run.ranks;
  const dm_transport_config config = {.group = t->base.run.world, .device = t->device.index};
  dm_transport *transport;
  must(&t->base, dm_transport_open(dm_transport_find("ipc"), &config, &transport));
  unsigned char *share = gpu_memory(t, ROOM), *slots = gpu_memory(t, GATHERS * ROOM);
  unsigned char *host = memory_of(&t->base, ROOM);
  memset(host, 0x5a, ROOM);
  for (int g = 0; g < GATHERS; g++) move(t, DM_DEVICE, slots + g * ROOM, DM_HOST, host, ROOM);
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
    tickets[g] = done ? NONE : tickets[g]; /* without pieces there is nothing to wait for */
    CHECK(&t->base, !done || total[g] == BEFORE, "gather %d did not wait for the shares", g);
  }
  must(&t->base, dm_comm_barrier(t->base.run.world));
  if (me == late) usleep(DELAY);
  for (int g = 0; g < GATHERS; g++) {
    put_pattern(host, piece_of(me, g), me, g);
    move(t, DM_DEVICE, share + source_of(me, g), DM_HOST, host, piece_of(me, g));
  }
  dm_transport_filled(transport, 1);
  for (int g = 0; g < GATHERS; g++)
    for (bool done = tickets[g] == NONE; !done;)
      must(&t->base, dm_transport_test(transport, tickets[g], &done));
  for (int g = 0; g < GATHERS; g++) {
    move(t, DM_HOST, host, DM_DEVICE, slots + g * ROOM, ROOM);
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
  gpu_test t;
  if (!gpu_test_start(&t, false)) return SKIPPED;
  for (int late = 0; late < t.base.run.ranks; late++) gathers(&t, late);
  return gpu_test_end(&t);
}
