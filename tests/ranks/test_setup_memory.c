/* ranks: 1 2 4. The memory that a plan may use is the least that any rank has beside its own
 * process, whatever the processes of the others need. */
#include "engine/setup.h"
#include "lib/product_problem.h"
#include "rank_test.h"

enum { MIB = 1 << 20, BESIDE = 100 };

/* PROCESS and LIMIT of this rank, in MiB; every plan may use LEFT beside the largest process. */
static void expect_left(rank_test *test, int64_t process, int64_t limit, int64_t left) {
  const dm_problem problem = product_problem(60, 50, 40, DM_F64);
  const dm_engine_options engine = {.backend = "cpu",
                                    .kernel = "auto",
                                    .transport = "auto",
                                    .threads = 1,
                                    .memory_host = limit * MIB,
                                    .process_bytes = process * MIB};
  dm_setup setup;
  must(test, dm_setup_open(&test->run, &engine, &problem, &setup));
  const int64_t beside = setup.machine.host_bytes - setup.machine.process_bytes;
  CHECK(test, beside == left * MIB, "%lld bytes are left, wanted %lld MiB", (long long)beside,
        (long long)left);
  dm_setup_close(&setup);
}

TEST_PROGRAM(test_setup_memory) {
  rank_test test = rank_test_start();
  const int rank = test.run.rank, last = test.run.ranks - 1;
  expect_left(&test, 48, 48 + BESIDE, BESIDE);
  expect_left(&test, 48 + 16 * rank, 48 + 16 * rank + BESIDE, BESIDE); /* processes differ */
  expect_left(&test, 48 + 16 * rank, 48 + BESIDE, BESIDE - 16 * last); /* limits do not */
  return rank_test_end(&test);
}
