/* ranks: 2 3. A pair of ranks is checked before it is measured: wrong bytes in either direction,
 * and a failing link, are errors on both ranks. */
#include "backend/backend.h"
#include "backend/cpu.h"
#include "bench/bench.h"
#include "faulty_transport.h"

static void check(rank_test *t, dm_backend *cpu, const dm_transport_ops *ops, const char *wanted) {
  /* For both rank counts; kept after an abort, where a search for leaks finds it. */
  static dm_link links[3][5 * 2];
  static _Thread_local int count;
  dm_link *link = &links[t->run.rank][count++];
  const int other = t->run.rank < 2 ? 1 - t->run.rank : -1; /* a third rank has no partner */
  must(t, dm_link_open(&t->run, cpu, ops, other, 5000, link));
  CHECK(t, link->served == (t->run.rank < 2), "who is served?");
  const int64_t size =
      fault == FAILING_POST ? 99 : 4999; /* small messages are sent without a receiver */
  dm_status status = link->served ? dm_link_check(link, size) : DM_OK;
  if (!wanted || !link->served)
    CHECK(t, !status, "a sound pair was refused: %s", status->message);
  else
    CHECK(t, status && strstr(status->message, wanted), "wanted '%s'", wanted);
  if (!wanted) dm_link_close(link);
  dm_status_free(status);
}

TEST_PROGRAM(test_link_pairs) {
  rank_test test = rank_test_start();
  const dm_backend_config config = {.local_ranks = test.run.ranks, .threads = 1, .kernel = "auto"};
  dm_backend *cpu;
  must(&test, dm_backend_open(&dm_backend_cpu, &config, &cpu));
  fault = SOUND;
  check(&test, cpu, dm_transport_find("host"), NULL);
  check(&test, cpu, dm_transport_find("shared"), NULL);
  fault = WRONG_BYTE;
  check(&test, cpu, &faulty_ops, "arrived as");
  fault_of_first = true;
  check(&test, cpu, &faulty_ops, "arrived as");
  fault_of_first = false;
  fault = FAILING_POST;
  check(&test, cpu, &faulty_ops, "the link is down");
  dm_backend_close(cpu);
  return rank_test_end(&test);
}
