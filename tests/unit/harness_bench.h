/* harness_bench: a harness, and a product of odd size in it. */
#ifndef DM_TESTS_HARNESS_BENCH_H
#define DM_TESTS_HARNESS_BENCH_H

#include "backend/backend.h"
#include "backend/harness.h"
#include "bench/bench_kernels.h"
#include "cuda_test.h"

enum { M = 67, N = 45, K = 130 };

typedef struct bench {
  dm_backend *gpu;
  dm_harness *harness;
  pair a, b, c;
  dm_harness_work work; /* C and its factors A and B */
} bench;

static inline bench bench_open(dm_dtype dtype) {
  bench t = {.gpu = open_gpu("auto", false, 0)};
  dm_generator random = {
      .kind = dtype == DM_I8 ? DM_INTEGER : DM_UNIFORM, .seed = 5, .parameter = 100};
  ok(dm_harness_open(t.gpu, &t.harness));
  t.a = make_pair(t.gpu, dtype, M, K, 3, random);
  random.seed++;
  t.b = make_pair(t.gpu, dtype, K, N, 1, random);
  random.seed++;
  t.c = make_pair(t.gpu, dm_compute_sum(dtype), M, N, 2, random);
  t.work = (dm_harness_work){.op = DM_GEMM, .out = t.c.device, .x = t.a.device, .y = t.b.device};
  return t;
}

static inline void bench_close(bench *t) {
  free_pair(t->gpu, t->a), free_pair(t->gpu, t->b), free_pair(t->gpu, t->c);
  dm_harness_close(t->harness);
  dm_backend_close(t->gpu);
}

#endif
