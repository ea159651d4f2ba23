/* The harness: every kernel on small shapes, series of calls, and the driver's information on a
 * kernel.
 */
#include "backend/kernel_list.h"
#include "harness_bench.h"

/* Whether KERNEL can run here: not if it is for another GPU. */
static bool runs(const dm_harness_limits *limits, const dm_kernel *kernel) {
  return limits->capability >= kernel->first && limits->capability <= kernel->last;
}

/* Every kernel of the registry on the small shapes, in all its types. */
TEST(edges) {
  bench t = bench_open(DM_F32);
  dm_harness_limits limits;
  ok(dm_harness_limits_of(t.gpu, &limits));
  assert_true(limits.processors > 0 && limits.registers > 0 && limits.l2 > 0);
  for (int i = 0; i < DM_KERNEL_COUNT; i++)
    for (int type = 0; type < DM_KERNEL_TYPES; type++) {
      const dm_kernel *kernel = &dm_cuda_registry()[i];
      const dm_operand operand = dm_kernel_types[type];
      dm_edge_check check;
      if (!dm_kernel_takes(kernel, operand) || !runs(&limits, kernel)) continue;
      ok(dm_check_edges(t.gpu, t.harness, kernel, operand, 1, &check));
      if (check.failed > 0)
        fail_msg("%s, %s: %d of %d: %s", kernel->name, dm_operand_name(operand), check.failed,
                 check.trials, check.first);
    }
  bench_close(&t);
}

/* A series runs all its calls, with and without a graph, and takes time. */
TEST(series) {
  bench t = bench_open(DM_F32);
  const dm_harness_work works[2] = {t.work, t.work};
  for (int graph = 0; graph < 2; graph++) {
    dm_harness_series s = {.works = works, .sets = 2, .launches = 7, .graph = graph};
    double seconds = 0.0;
    ok(dm_harness_run(t.harness, works));
    ok(dm_harness_prepare(t.harness, &s));
    assert_true(s.graph == graph);
    ok(dm_harness_start(t.harness, &s));
    ok(dm_harness_finish(t.harness, &seconds));
    assert_true(seconds > 0.0 && s.next == 1);
    dm_harness_forget(t.harness, &s);
  }
  bench_close(&t);
}

CUDA_TESTS(test_cuda_harness)
