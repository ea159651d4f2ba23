/* ranks: 1 2 3 4. The cost of other nodes' messages for products is measured on pretended nodes,
 * also of unequal size; it terminates and gives all ranks the same result. On one node there is
 * none. */
#include "backend/cpu.h"
#include "measure/rates_measure.h"
#include "rank_test.h"

static void measure(rank_test *t, dm_backend *cpu, double network, bool some) {
  double rate = -1, extremes[2];
  must(t, dm_rates_measure_beside(&t->run, cpu, network, &rate));
  extremes[0] = rate;
  extremes[1] = -rate;
  must(t, dm_comm_max_f64(t->run.world, extremes, 2));
  CHECK(t, rate >= 0 && rate < 1e15 && (some || rate == 0), "%g bytes per second", rate);
  CHECK(t, extremes[0] == rate && -extremes[1] == rate, "%g here, up to %g", rate, extremes[0]);
}

TEST_PROGRAM(test_rates_beside) {
  rank_test test = rank_test_start();
  const dm_backend_config config = {.local_ranks = test.run.ranks, .threads = 1, .kernel = "auto"};
  dm_backend *cpu;
  must(&test, dm_backend_open(&dm_backend_cpu, &config, &cpu));
  measure(&test, cpu, 1e8, false); /* one node */
  if (test.run.ranks > 1) must(&test, dm_run_pretend_nodes(&test.run, 2));
  measure(&test, cpu, 1e8, test.run.ranks > 1);
  measure(&test, cpu, 0, false); /* unmeasured links */
  dm_backend_close(cpu);
  return rank_test_end(&test);
}
