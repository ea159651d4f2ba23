/* The lab: every kernel on small shapes, series of calls, and what the driver tells of a kernel. */
#include "cuda_test.h"

#include "backend/jit.h"
#include "backend/lab.h"
#include "measure/bench_kernels_impl.h"

enum { M = 67, N = 45, K = 130 };

typedef struct product {
  pair a, b, c;
} product;

static product make_product(dm_backend *gpu) {
  const dm_generator random = {.kind = DM_UNIFORM, .seed = 5};
  return (product){make_pair(gpu, DM_F32, M, K, 3, random), make_pair(gpu, DM_F32, K, N, 1, random),
                   make_pair(gpu, DM_F32, M, N, 2, random)};
}

static void free_product(dm_backend *gpu, product p) {
  free_pair(gpu, p.a), free_pair(gpu, p.b), free_pair(gpu, p.c);
}

/* Whether KERNEL can run here: another GPU, or no compiler. */
static bool runs(dm_backend *gpu, const dm_lab_limits *limits, const dm_kernel *kernel) {
  if (limits->capability < kernel->first || limits->capability > kernel->last) return false;
  if (kernel->maker != DM_BY_JIT) return true;
  dm_jit_facts facts;
  dm_status missing = gpu->ops->jit->facts(gpu, &facts);
  const bool has = !missing;
  dm_status_free(missing);
  return has;
}

/* Every kernel of the registry on the small shapes, in every type that it takes. */
static void edges(void **state) {
  (void)state;
  dm_backend *gpu = open_gpu("auto", false, 0);
  dm_lab *lab;
  dm_lab_limits limits;
  ok(dm_lab_open(gpu, &lab));
  ok(dm_lab_limits_of(gpu, &limits));
  assert_true(limits.processors > 0 && limits.registers > 0 && limits.l2 > 0);
  for (int i = 0; i < DM_KERNEL_COUNT; i++)
    for (int t = 0; t < DM_KERNEL_TYPES; t++) {
      const dm_kernel *kernel = &dm_cuda_registry()[i];
      dm_edge_check check;
      if (!dm_kernel_takes(kernel, dm_kernel_types[t]) || !runs(gpu, &limits, kernel)) continue;
      ok(dm_check_edges(gpu, lab, kernel, dm_kernel_types[t], 1, &check));
      if (check.failed > 0)
        fail_msg("%s, %s: %d of %d: %s", kernel->name, dm_operand_name(dm_kernel_types[t]),
                 check.failed, check.trials, check.first);
    }
  dm_lab_close(lab);
  dm_backend_close(gpu);
}

/* A series takes its turns, in a graph and without, and takes time. */
static void series(void **state) {
  (void)state;
  dm_backend *gpu = open_gpu("auto", false, 0);
  dm_lab *lab;
  ok(dm_lab_open(gpu, &lab));
  product p = make_product(gpu);
  const dm_lab_work works[2] = {
      {.op = DM_GEMM, .out = p.c.device, .x = p.a.device, .y = p.b.device},
      {.op = DM_GEMM, .out = p.c.device, .x = p.a.device, .y = p.b.device}};
  for (int graph = 0; graph < 2; graph++) {
    dm_lab_series s = {.works = works, .sets = 2, .launches = 7, .graph = graph};
    double seconds = 0.0;
    ok(dm_lab_run(lab, works));
    ok(dm_lab_prepare(lab, &s));
    assert_true(s.graph == graph);
    ok(dm_lab_start(lab, &s));
    ok(dm_lab_finish(lab, &seconds));
    assert_true(seconds > 0.0 && s.next == 1);
    dm_lab_forget(lab, &s);
  }
  free_product(gpu, p);
  dm_lab_close(lab);
  dm_backend_close(gpu);
}

/* The driver tells what a kernel of our own needs, without running it. */
static void occupancy(void **state) {
  (void)state;
  dm_backend *gpu = open_gpu("auto", false, 0);
  dm_lab *lab;
  dm_lab_occupancy o;
  ok(dm_lab_open(gpu, &lab));
  product p = make_product(gpu);
  const dm_lab_work work = {.op = DM_GEMM,
                            .kernel = &dm_cuda_registry()[DM_KERNEL_tiled_32],
                            .out = p.c.device,
                            .x = p.a.device,
                            .y = p.b.device};
  ok(dm_lab_occupancy_of(lab, &work, &o));
  assert_true(o.known && o.threads == 32 * 32 && o.shared == 2 * 32 * 32 * 4);
  assert_true(o.registers > 0 && o.blocks >= 1 && o.occupancy > 0.0 && o.occupancy <= 1.0);
  free_product(gpu, p);
  dm_lab_close(lab);
  dm_backend_close(gpu);
}

TEST_PROGRAM(test_cuda_lab) {
  if (dm_cuda_device_count() == 0) return SKIPPED;
  const struct CMUnitTest tests[] = {cmocka_unit_test(edges), cmocka_unit_test(series),
                                     cmocka_unit_test(occupancy)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
