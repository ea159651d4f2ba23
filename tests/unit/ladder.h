/* ladder: runs single kernels on shapes that break kernels: single elements, primes, one less and
 * one more than a tile, k = 1, unaligned rows, operands inside larger matrices. Each test judges
 * the elements of C. */
#ifndef DM_TESTS_LADDER_H
#define DM_TESTS_LADDER_H

#include "cuda_test.h"

typedef struct trial {
  const dm_kernel *kernel;
  dm_dtype dtype;
  bool tf32;
  int64_t m, n, k;
  int layout;
  bool accumulate, whole; /* whole: integers */
} trial;

/* Fails unless RESULT is valid for C(i, j): OLD + sum over l of a[l] b[l * n]; all have two parts
 * if T's type is complex. */
typedef void (*dm_judge)(const trial *t, const double *a, const double *b, const double *old,
                         const double *result);

static inline void refuse_element(const trial *t, double result, double wanted) {
  fail_msg("%s %s%s %lldx%lldx%lld, layout %d%s%s: %.17g, not %.17g", t->kernel->name,
           dm_dtype_name(t->dtype), t->tf32 ? " (tf32)" : "", (long long)t->m, (long long)t->n,
           (long long)t->k, t->layout, t->accumulate ? ", accumulated" : "",
           t->whole ? ", whole" : "", result, wanted);
}

/* ROWS x COLS in T's layout. 0: packed; 1: PAD elements after each row; 2: rows of whole vectors,
 * unlike the shape; 3: from the second column of a wider matrix. */
static inline pair operand(dm_backend *gpu, const trial *t, dm_dtype dtype, int64_t rows,
                           int64_t cols, int64_t pad, dm_generator generator) {
  const int64_t vector = 16 / dm_dtype_size(dtype), rest = (vector - cols % vector) % vector;
  const int64_t behind[] = {0, pad, rest, 1 + pad};
  pair p = make_pair(gpu, dtype, rows, cols, behind[t->layout], generator);
  if (t->layout == 3) {
    p.host = dm_view_sub(p.host_all, 0, 1, rows, cols);
    p.device = dm_view_sub(p.device_all, 0, 1, rows, cols);
  }
  return p;
}

/* Only C itself may change. */
static inline void check_beside(const trial *t, pair c, dm_view got) {
  const int64_t size = dm_dtype_size(got.dtype), first = t->layout == 3, end = first + t->n;
  for (int64_t i = 0; i < got.rows; i++) {
    assert_memory_equal(dm_view_at(got, i, 0), dm_view_at(c.host_all, i, 0),
                        (size_t)(first * size));
    if (end < got.cols)
      assert_memory_equal(dm_view_at(got, i, end), dm_view_at(c.host_all, i, end),
                          (size_t)((got.cols - end) * size));
  }
}

static inline void check_elements(const trial *t, dm_judge judge, pair a, pair b, pair c,
                                  dm_view got) {
  double *wide_a = widened(a.host), *wide_b = widened(b.host), *old = widened(c.host);
  double *result = widened(dm_view_sub(got, 0, t->layout == 3, t->m, t->n));
  const int64_t step = t->m * t->n * t->k / 1000000 | 1; /* of a large C only enough elements */
  const int parts = dm_dtype_is_complex(t->dtype) ? 2 : 1;
  static const double zero[2];
  for (int64_t at = 0; at < t->m * t->n; at += step)
    judge(t, wide_a + at / t->n * t->k * parts, wide_b + at % t->n * parts,
          t->accumulate ? old + at * parts : zero, result + at * parts);
  free(wide_a), free(wide_b), free(old), free(result);
}

static inline void run_trial(dm_backend *gpu, const trial *t, dm_judge judge) {
  const dm_dtype sum = dm_compute_sum(t->dtype);
  dm_generator generator = {
      .kind = t->whole ? DM_INTEGER : DM_UNIFORM, .seed = 11, .parameter = 3.0};
  const dm_generator poison = {.kind = DM_CONSTANT,
                               .parameter = sum == DM_I32 ? 77.0 : (double)NAN};
  pair a = operand(gpu, t, t->dtype, t->m, t->k, 3, generator);
  generator.seed++;
  pair b = operand(gpu, t, t->dtype, t->k, t->n, 1, generator);
  generator.seed++;
  pair c = operand(gpu, t, sum, t->m, t->n, 5, t->accumulate ? generator : poison);
  multiply(gpu, c.device, a.device, b.device, t->accumulate);
  dm_view got = c.host_all;
  got.base = fetched(gpu, c);
  check_beside(t, c, got);
  check_elements(t, judge, a, b, c, got);
  free(got.base);
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
}

/* Tests KERNEL in one of its types; skips kernels for other GPUs. TILE: size of its blocks. */
static inline void run_trials(const dm_kernel *kernel, dm_dtype dtype, bool tf32, int64_t tile,
                              dm_judge judge) {
  static const int64_t shapes[][3] = {
      {1, 1, 1},      {1, 7, 31},     {31, 1, 2},     {127, 129, 1},
      {129, 127, 17}, {65, 63, 8},    {257, 131, 37}, {255, 257, 9},
      {3, 523, 100},  {128, 256, 64}, {17, 13, 4099}, {1033, 2053, 33},
  };
  dm_backend *gpu;
  const dm_backend_config config = {.local_ranks = 1,
                                    .kernel = kernel->name,
                                    .compute = tf32 ? dm_compute_by(DM_TF32) : NULL,
                                    .tile = tile};
  dm_status status = dm_backend_open(&dm_backend_cuda, &config, &gpu);
  if (status && status->code == DM_E_USAGE) {
    dm_status_free(status);
    skip();
  }
  ok(status);
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (int rest = 0; rest < 16; rest++) {
      if (shapes[s][0] > 1000 && rest % 5 != 0) continue; /* large shapes: only a few cases */
      const bool whole = rest & 2 || dtype == DM_I8;
      const trial t = {kernel,       dtype,    tf32,     shapes[s][0], shapes[s][1],
                       shapes[s][2], rest / 4, rest & 1, whole};
      run_trial(gpu, &t, judge);
    }
  dm_backend_close(gpu);
}

/* Runs TEST for each of our own kernels whose products are summed as SUMS or ALSO. */
static inline int run_ladder(CMUnitTestFunction test, dm_kernel_sums sums, dm_kernel_sums also) {
  if (dm_cuda_device_count() == 0) return SKIPPED;
  struct CMUnitTest tests[DM_KERNEL_COUNT];
  size_t count = 0;
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_cuda_registry()[i];
    if (kernel->op != DM_GEMM || kernel->maker != DM_BY_KERNEL) continue;
    if (kernel->sums != sums && kernel->sums != also) continue;
    tests[count++] = (struct CMUnitTest){
        .name = kernel->name, .test_func = test, .initial_state = (void *)kernel};
  }
  return _cmocka_run_group_tests("ladder", tests, count, NULL, NULL);
}

#endif
