/* ranks: 2 3. A flow goes on while the host waits for something else: pieces travel, and work on
 * what has arrived is posted unless that has to wait. */
#include "core/clock.h"
#include "gpu_ranks.h"
#include "layout/flow.h"

enum { ITEMS = 6, PIECE = 64, FIRST = 1 };

/* Of each item every rank gives PIECE bytes to all, at its own place. */
typedef struct giving {
  gpu_test *t;
  dm_workspace *space;
  char *own;
  int64_t taken;
} giving;

static int64_t before(const void *context, int64_t item) {
  (void)context;
  (void)item;
  return -1;
}

static dm_status done(const void *context, int64_t item, bool *is_done) {
  (void)context;
  (void)item;
  *is_done = true;
  return DM_OK;
}

static char *place_of(const giving *g, int64_t item) {
  return (char *)g->space->memory + item * g->t->base.run.ranks * PIECE;
}

static dm_status give(void *context, int64_t item, dm_event *copied) {
  const giving *g = context;
  char *to = place_of(g, item) + g->t->base.run.rank * PIECE;
  return dm_backend_copy(g->t->gpu, dm_view_strided(to, DM_I8, DM_DEVICE, 1, PIECE, PIECE),
                         dm_view_strided(g->own, DM_I8, DM_DEVICE, 1, PIECE, PIECE), copied);
}

static void lay_out(const void *context, int64_t item, const dm_flow_lists *lists,
                    dm_gather *gather) {
  const giving *g = context;
  const int rank = g->t->base.run.rank, ranks = g->t->base.run.ranks;
  const int64_t place = item * ranks * PIECE;
  gather->own = place_of(g, item) + rank * PIECE;
  gather->slot = place_of(g, item);
  for (int r = 0; r < ranks; r++) {
    lists->offset[r] = r * PIECE;
    lists->source[r] = place + lists->offset[r];
    lists->sent[r] = place + rank * PIECE;
    lists->bytes[r] = lists->sent_bytes[r] = r == rank ? 0 : PIECE;
  }
}

static dm_status take(void *context, int64_t item, bool *taken, bool *moved) {
  giving *g = context;
  (void)item;
  g->taken++;
  *taken = *moved = true;
  return DM_OK;
}

static void check_polls(giving *g, bool waits) {
  static const dm_flow_ops ops = {before, done, give, lay_out, take};
  rank_test *base = &g->t->base;
  dm_flow flow = {.ops = &ops,
                  .context = g,
                  .run = &base->run,
                  .space = g->space,
                  .items = ITEMS,
                  .waits = waits};
  g->taken = 0;
  dm_flow_start(&flow, FIRST);
  CHECK(base, flow.arrived < ITEMS, "the host did not wait for all items");
  CHECK(base, g->taken == 0, "none is taken at the start");
  const double end = dm_now() + 60;
  const int64_t *count = waits ? &flow.arrived : &flow.taken;
  while (*count < ITEMS && dm_now() < end) dm_flow_poll(&flow);
  CHECK(base, flow.arrived == ITEMS, "items arrive while the host polls");
  CHECK(base, g->taken == (waits ? 0 : ITEMS), "%lld were taken", (long long)g->taken);
  dm_flow_take(&flow);
  CHECK(base, g->taken == ITEMS, "all are taken");
  must(base, dm_flow_end(&flow));
}

TEST_PROGRAM(test_flow_gpu) {
  gpu_test test;
  if (!gpu_test_start(&test, false)) return SKIPPED;
  rank_test *base = &test.base;
  dm_workspace space = {0};
  bool there;
  const int64_t bytes = (int64_t)ITEMS * PIECE * base->run.ranks;
  must(base, dm_workspace_open(&space, &base->run, test.gpu, "auto", bytes, &there));
  CHECK(base, there, "a workspace");
  giving g = {&test, &space, gpu_memory(&test, PIECE), 0};
  check_polls(&g, true);
  check_polls(&g, false);
  dm_workspace_close(&space);
  dm_backend_release(test.gpu, DM_DEVICE, g.own);
  return gpu_test_end(&test);
}
