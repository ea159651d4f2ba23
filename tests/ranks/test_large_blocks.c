/* ranks: 2 (long). A panel of more than 2^31 elements in shared memory, and by messages a piece of
 * more than 2 GiB with another one after it. */
#include "core/buffer.h"
#include "engine/execute.h"
#include "large_pattern.h"
#include "small_product.h"

enum { M = 1100000, N = 2, K = 2048 };

static const int64_t large = (INT64_C(1) << 31) + 70001, small = 12345, gib = 1 << 30;

/* Compares the first and last rows of C, and those around element 2^31 of A. */
static void compare(product *p) {
  const int64_t seam = (INT64_C(1) << 31) / K, from[] = {0, seam - 40, M - 80};
  for (int part = 0; part < 3; part++)
    for (int64_t i = from[part]; i < from[part] + 80; i++)
      for (int64_t j = p->local.cols.begin; j < p->local.cols.end; j++) {
        double want = 0.0;
        for (int64_t k = 0; k < K; k++)
          want += dm_element(&p->a, i, k, 0) * dm_element(&p->b, k, j, 0);
        const int32_t *row = dm_view_at(p->local.c, i, j - p->local.cols.begin);
        CHECK(p->test, *row == (int32_t)want, "C(%lld, %lld) = %d, wanted %.0f", (long long)i,
              (long long)j, *row, want);
      }
}

static void large_panel(rank_test *t) {
  const dm_machine machine = one_node(t, NULL, true);
  product p = product_open_on(t, &machine, product_problem(M, N, K, DM_I8),
                              (dm_wishes){.pm = 1, .pn = 2, .pk = 1, .panel = K}, DM_INTEGER, 3);
  CHECK(t, p.plan.shared_a && p.plan.kb == K, "not one panel in shared slots");
  product_fill(&p);
  product_run(&p, DM_PRODUCTS);
  compare(&p);
  product_close(&p);
}

static void large_piece(rank_test *t) {
  const int me = t->run.rank;
  const int64_t offset[2] = {0, large}, bytes[2] = {large, small};
  unsigned char *slot = memory_of(t, large + small);
  pattern(slot, offset[me], offset[me] + bytes[me], 0, true);
  dm_transport *host;
  const dm_transport_config config = {.group = t->run.world, .device = -1};
  must(t, dm_transport_open(dm_transport_find("host"), &config, &host));
  const dm_gather gather = {.group = t->run.world,
                            .own = slot + offset[me],
                            .slot = slot,
                            .offset = offset,
                            .bytes = bytes};
  int ticket;
  must(t, dm_transport_post(host, &gather, &ticket));
  for (bool done = false; !done;) must(t, dm_transport_test(host, ticket, &done));
  CHECK(t, pattern(slot, 0, large + small, 0, false),
        "a piece of %lld bytes did not arrive as it was", (long long)large);
  CHECK(t, dm_transport_received(host) == bytes[1 - me], "received %lld",
        (long long)dm_transport_received(host));
  dm_transport_close(host);
  free(slot);
}

TEST_PROGRAM(test_large_blocks) {
  rank_test test = rank_test_start();
  int64_t short_of_memory = dm_memory_available() < 6 * gib;
  must(&test, dm_comm_max_i64(test.run.world, &short_of_memory, 1));
  if (!short_of_memory) {
    large_panel(&test);
    large_piece(&test);
    return rank_test_end(&test);
  }
  dm_run_stop(&test.run);
  return SKIPPED;
}
