/* ranks: 1 2 3 5. The first ranks of a run form a run of their own; the remaining ones sleep. */
#include <math.h>
#include <time.h>

#include "core/clock.h"
#include "rank_test.h"

static void check_part(rank_test *t, int count) {
  dm_run part;
  must(t, dm_run_part_open(&t->run, count, &part));
  const bool in = t->run.rank < count; /* all ranks are on one node here */
  CHECK(t, (part.world != NULL) == in, "who is in a part of %d?", count);
  if (in) {
    int64_t sum = 1;
    CHECK(t, part.rank == t->run.rank && part.ranks == count, "rank %d of %d", part.rank,
          part.ranks);
    CHECK(t, part.nodes == 1 && dm_comm_size(part.near) == count, "%d nodes", part.nodes);
    CHECK(t, part.local_ranks == t->run.local_ranks, "shares of the node are those of the run");
    must(t, dm_comm_sum_i64(part.world, &sum, 1));
    CHECK(t, sum == count, "a sum of %lld", (long long)sum);
  }
  dm_run_part_close(&part);
}

/* With two pretended nodes a part has the nodes of its ranks. */
static void check_pretended(rank_test *t, int count) {
  const int ranks = t->run.ranks, first = (ranks + 1) / 2; /* ranks of the first node */
  const bool both = count > first;
  dm_run part;
  must(t, dm_run_part_open(&t->run, count, &part));
  if (part.world) {
    const int near = part.rank < first ? (int)(count < first ? count : first) : count - first;
    CHECK(t, part.nodes == 1 + both && part.pretends == both, "%d nodes of %d ranks", part.nodes,
          count);
    CHECK(t, dm_comm_size(part.near) == near, "%d near, not %d", dm_comm_size(part.near), near);
    CHECK(t, dm_comm_size(part.node) == count, "one computer");
  }
  dm_run_part_close(&part);
}

static double processor_time(void) {
  struct timespec spent;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return (double)spent.tv_sec + 1e-9 * (double)spent.tv_nsec;
}

/* Rank 0 is late; the others sleep meanwhile. */
static void check_rest(rank_test *t) {
  const struct timespec late = {.tv_sec = 1};
  must(t, dm_comm_barrier(t->run.world));
  const double began = dm_now(), before = processor_time();
  if (t->run.rank == 0) nanosleep(&late, NULL);
  must(t, dm_comm_idle_barrier(t->run.world));
  const double spent = processor_time() - before, lasted = dm_now() - began;
  CHECK(t, spent < 0.3 * fmax(1.0, lasted), "%.2f s of processor time in a rest of %.2f s", spent,
        lasted);
}

/* The span lasts from the first start to the last end of all ranks. */
static void check_span(rank_test *t) {
  const double start = 100.0 + t->run.rank, end = start + 0.5;
  double seconds;
  must(t, dm_run_span(&t->run, start, end, &seconds));
  CHECK(t, seconds == t->run.ranks - 0.5, "%g s", seconds);
}

TEST_PROGRAM(test_run_part) {
  rank_test test = rank_test_start();
  for (int count = 1; count <= test.run.ranks; count++) check_part(&test, count);
  check_rest(&test);
  check_span(&test);
  if (test.run.ranks > 1) {
    must(&test, dm_run_pretend_nodes(&test.run, 2));
    for (int count = 1; count <= test.run.ranks; count++) check_pretended(&test, count);
  }
  return rank_test_end(&test);
}
