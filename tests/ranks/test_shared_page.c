/* ranks: 1 2 3 4 8.  Counters that all ranks see, under a name that nobody finds. */
#include <sched.h>

#include "rank_test.h"
#include "transport/shared_page.h"

enum { STEPS = 200 };

static bool exists(const char *name) {
  char path[100];
  snprintf(path, sizeof path, "/dev/shm%s", name);
  FILE *file = fopen(path, "rb");
  if (file) fclose(file);
  return file != NULL;
}

/* Every rank counts in its own line and waits for its left neighbour to have counted as far. */
static void count_in_turn(rank_test *t, const dm_shared_page *page) {
  const int ranks = t->run.ranks, left = (t->run.rank + ranks - 1) % ranks;
  for (uint64_t step = 1; step <= STEPS; step++) {
    for (int c = 0; c < DM_PAGE_COUNTERS; c++)
      atomic_store_explicit(&page->line[t->run.rank].counter[c], step, memory_order_release);
    while (atomic_load_explicit(&page->line[left].counter[DM_PAGE_COUNTERS - 1],
                                memory_order_acquire) < step)
      sched_yield();
    for (int c = 0; c < DM_PAGE_COUNTERS; c++)
      CHECK(t, page->line[left].counter[c] >= step, "counter %d of rank %d is behind", c, left);
  }
}

TEST_PROGRAM(test_shared_page) {
  rank_test test = rank_test_start();
  dm_shared_page page[2];
  for (int i = 0; i < 2; i++) {
    must(&test, dm_shared_page_open(test.run.world, &page[i]));
    CHECK(&test, !exists(page[i].name), "%s still exists", page[i].name);
    for (int r = 0; r < test.run.ranks; r++)
      CHECK(&test, page[i].line[r].counter[0] == 0, "a counter that does not begin with 0");
    must(&test, dm_comm_barrier(test.run.world));
  }
  CHECK(&test, strcmp(page[0].name, page[1].name) != 0, "two pages of one name");
  count_in_turn(&test, &page[0]);
  for (int r = 0; r < test.run.ranks; r++)
    CHECK(&test, page[1].line[r].counter[0] == 0, "one page is the other");
  for (int i = 0; i < 2; i++) {
    dm_shared_page_close(&page[i]);
    dm_shared_page_close(&page[i]); /* once more does no harm */
  }
  return rank_test_end(&test);
}
