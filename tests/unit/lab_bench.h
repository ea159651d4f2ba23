/* lab_bench: a lab, and a product of odd size in it. */
#ifndef DM_TESTS_LAB_BENCH_H
#define DM_TESTS_LAB_BENCH_H

#include "backend/backend.h"
#include "backend/lab.h"
#include "bench/bench_kernels_impl.h"
#include "cuda_test.h"

enum { M = 67, N = 45, K = 130 };

typedef struct bench {
  dm_backend *gpu;
  dm_lab *lab;
  pair a, b, c;
  dm_lab_work work; /* C and its factors A and B */
} bench;

static inline bench bench_open(dm_dtype dtype) {
  bench t = {.gpu = open_gpu("auto", false, 0)};
  dm_generator random = {
      .kind = dtype == DM_I8 ? DM_INTEGER : DM_UNIFORM, .seed = 5, .parameter = 100};
  ok(dm_lab_open(t.gpu, &t.lab));
  t.a = make_pair(t.gpu, dtype, M, K, 3, random);
  random.seed++;
  t.b = make_pair(t.gpu, dtype, K, N, 1, random);
  random.seed++;
  t.c = make_pair(t.gpu, dm_compute_sum(dtype), M, N, 2, random);
  t.work = (dm_lab_work){.op = DM_GEMM, .out = t.c.device, .x = t.a.device, .y = t.b.device};
  return t;
}

static inline void bench_close(bench *t) {
  free_pair(t->gpu, t->a), free_pair(t->gpu, t->b), free_pair(t->gpu, t->c);
  dm_lab_close(t->lab);
  dm_backend_close(t->gpu);
}

#endif
