/* ranks: 1 2 3 4. If one rank has no memory to split a communicator, all ranks get the error and
 * continue. */
#include "rank_test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
TEST_PROGRAM(test_split_memory) {
  return SKIPPED; /* the sanitizer has its own allocator */
}
#else

extern void *__libc_calloc(size_t count, size_t size);
void *calloc(size_t count, size_t size);

static _Thread_local bool refuses;

/* While REFUSES is set, fails the program's first call. */
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
