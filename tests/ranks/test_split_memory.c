/* ranks: 1 2 3 4.  Where one rank has no memory for what is split off, all hear of it and go on. */
#include "rank_test.h"

#ifdef __SANITIZE_ADDRESS__
TEST_PROGRAM(test_split_memory) {
  return SKIPPED; /* it has an allocator of its own */
}
#else

extern void *__libc_calloc(size_t count, size_t size);
void *calloc(size_t count, size_t size);

static bool refuses;

/* The first of the program's after REFUSES fails. */
void *calloc(size_t count, size_t size) {
  if (!refuses) return __libc_calloc(count, size);
  refuses = false;
  return NULL;
}

static void expect_refusal(rank_test *t, dm_status status, const char *what) {
  CHECK(t, status && status->code == DM_E_FIT, "%s: %s", what, status ? status->message : "done");
  dm_status_free(status);
  int64_t ranks = 1;
  must(t, dm_comm_sum_i64(t->run.world, &ranks, 1));
  CHECK(t, ranks == t->run.ranks, "%s: %lld ranks go on", what, (long long)ranks);
}

TEST_PROGRAM(test_split_memory) {
  rank_test test = rank_test_start();
  const int me = test.run.rank;
  dm_comm *part;
  for (int failing = 0; failing < test.run.ranks; failing++) {
    refuses = me == failing;
    expect_refusal(&test, dm_comm_split(test.run.world, me % 2, me, &part), "split");
    refuses = me == failing;
    expect_refusal(&test, dm_comm_split_node(test.run.world, &part), "split by nodes");
  }
  must(&test, dm_comm_split(test.run.world, me % 2, me, &part));
  dm_comm_free(part);
  return rank_test_end(&test);
}
#endif
