/* ranks: 1 2 3 4 8. Counters in shared memory of all ranks, inaccessible to others. */
#include <sched.h>

#include "rank_test.h"
#include "transport/shared_memory.h"

enum { STEPS = 200 };

/* Every rank counts in its own line, waiting for its left neighbour to reach the same count. */
static void count_in_turn(rank_test *t, dm_shared_line *line) {
  const int ranks = t->run.ranks, left = (t->run.rank + ranks - 1) % ranks;
  for (uint64_t step = 1; step <= STEPS; step++) {
    for (int c = 0; c < DM_PAGE_COUNTERS; c++)
      atomic_store_explicit(&line[t->run.rank].counter[c], step, memory_order_release);
    while (atomic_load_explicit(&line[left].counter[DM_PAGE_COUNTERS - 1], memory_order_acquire) <
           step)
      sched_yield();
    for (int c = 0; c < DM_PAGE_COUNTERS; c++)
      CHECK(t, line[left].counter[c] >= step, "counter %d of rank %d is behind", c, left);
  }
}

static void all_begin_with_0(rank_test *t, const dm_shared_line *line) {
  for (int r = 0; r < t->run.ranks; r++)
    for (int c = 0; c < DM_PAGE_COUNTERS; c++)
      CHECK(t, line[r].counter[c] == 0, "counter %d of rank %d is not 0", c, r);
}

TEST_PROGRAM(test_shared_page) {
  rank_test test = rank_test_start();
  dm_shared_memory page[2];
  for (int i = 0; i < 2; i++) {
    must(&test,
         dm_shared_memory_open(test.run.world, dm_shared_lines_bytes(test.run.world), &page[i]));
    all_begin_with_0(&test, dm_shared_lines(&page[i]));
    must(&test, dm_comm_barrier(test.run.world));
  }
  count_in_turn(&test, dm_shared_lines(&page[0]));
  all_begin_with_0(&test, dm_shared_lines(&page[1])); /* the pages are distinct */
  for (int i = 0; i < 2; i++) {
    dm_shared_memory_close(&page[i]);
    dm_shared_memory_close(&page[i]); /* closing twice does no harm */
  }
  return rank_test_end(&test);
}
