/* The judge of the lab must be right itself: its reference against sums in long double on the host,
 * and its verdict on results that were made wrong. */
#include "cuda_test.h"

#include "backend/lab.h"
#include "measure/bench_kernels_impl.h"

enum { M = 67, N = 45, K = 130 };

typedef struct product {
  pair a, b, c;
} product;

static product make_product(dm_backend *gpu, dm_dtype dtype) {
  const dm_generator random = {.kind = dtype == DM_I8 ? DM_INTEGER : DM_UNIFORM,
                               .seed = 5,
                               .parameter = 100},
                     other = {.kind = random.kind, .seed = 6, .parameter = 100},
                     third = {.kind = random.kind, .seed = 7, .parameter = 100};
  return (product){make_pair(gpu, dtype, M, K, 3, random), make_pair(gpu, dtype, K, N, 1, other),
                   make_pair(gpu, dm_compute_sum(dtype), M, N, 2, third)};
}

static void free_product(dm_backend *gpu, product p) {
  free_pair(gpu, p.a), free_pair(gpu, p.b), free_pair(gpu, p.c);
}

/* C + A B in long double, rounded to C's type, on the host and then on the GPU. */
static void right_result(dm_backend *gpu, product p) {
  double *a = widened(p.a.host), *b = widened(p.b.host), *c = widened(p.c.host);
  const int parts = dm_dtype_is_complex(p.a.host.dtype) ? 2 : 1;
  for (int64_t i = 0; i < M; i++)
    for (int64_t j = 0; j < N; j++) {
      double *z = c + (i * N + j) * parts;
      long double sum[2] = {z[0], parts == 2 ? z[1] : 0.0};
      for (int64_t k = 0; k < K; k++) {
        const double *x = a + (i * K + k) * parts, *y = b + (k * N + j) * parts;
        sum[0] += (long double)x[0] * y[0];
        if (parts == 1) continue;
        sum[0] -= (long double)x[1] * y[1];
        sum[1] += (long double)x[0] * y[1] + (long double)x[1] * y[0];
      }
      for (int part = 0; part < parts; part++) z[part] = (double)sum[part];
    }
  for (int64_t i = 0; i < M; i++)
    dm_store_wide(dm_view_at(p.c.host, i, 0), p.c.host.dtype, 1, c + i * N * parts, N);
  move(gpu, p.c.device_all, p.c.host_all);
  free(a), free(b), free(c);
}

static double worst(dm_lab *lab, dm_view out) {
  const int64_t count = dm_lab_judged(lab);
  double *errors = malloc((size_t)count * sizeof *errors);
  assert_non_null(errors);
  ok(dm_lab_judge(lab, out, errors));
  const double most = dm_largest(errors, count);
  free(errors);
  return most;
}

/* ROW of C gets one more unit in the last place, or NaN. */
static void spoil(dm_backend *gpu, product p, int64_t row, bool nan) {
  double wide[2];
  void *at = dm_view_at(p.c.host, row, N - 1);
  dm_load_wide(wide, at, p.c.host.dtype, 1, 1);
  const double step = dm_dtype_is_integer(p.c.host.dtype) ? 1.0 : 1e-3;
  wide[0] = nan ? (double)NAN : wide[0] + step;
  dm_store_wide(at, p.c.host.dtype, 1, wide, 1);
  move(gpu, p.c.device_all, p.c.host_all);
}

static void judged(dm_dtype dtype) {
  dm_backend *gpu = open_gpu("auto", false, 0);
  dm_lab *lab;
  int64_t rows[M];
  ok(dm_lab_open(gpu, &lab));
  for (int64_t i = 0; i < M; i++) rows[i] = i;
  product p = make_product(gpu, dtype);
  const dm_lab_work work = {
      .op = DM_GEMM, .accumulate = true, .out = p.c.device, .x = p.a.device, .y = p.b.device};
  ok(dm_lab_expect(lab, &work, rows, M));
  right_result(gpu, p);
  const double u = dm_dtype_roundoff(p.c.host.dtype);
  assert_true(worst(lab, p.c.device) <= 1.01 * u); /* one rounding; long double has its own */
  spoil(gpu, p, M - 1, false);
  assert_true(worst(lab, p.c.device) > 100 * u);
  ok(dm_lab_expect(lab, &work, rows, M - 1)); /* now C is another, so all is wrong but its size */
  assert_true(dm_lab_judged(lab) == (M - 1) * N * (dm_dtype_is_complex(dtype) ? 2 : 1));
  free_product(gpu, p);
  dm_lab_close(lab);
  dm_backend_close(gpu);
}

static void reference(void **state) {
  (void)state;
  const dm_dtype dtypes[] = {DM_F64, DM_F32, DM_F16, DM_BF16, DM_C64, DM_C128, DM_I8};
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) judged(dtypes[i]);
}

static void not_a_number(void **state) {
  (void)state;
  dm_backend *gpu = open_gpu("auto", false, 0);
  dm_lab *lab;
  const int64_t row = 3;
  ok(dm_lab_open(gpu, &lab));
  product p = make_product(gpu, DM_F32);
  const dm_lab_work work = {
      .op = DM_GEMM, .accumulate = true, .out = p.c.device, .x = p.a.device, .y = p.b.device};
  ok(dm_lab_expect(lab, &work, &row, 1));
  right_result(gpu, p);
  assert_true(isfinite(worst(lab, p.c.device)));
  spoil(gpu, p, row + 1, true); /* not looked at */
  assert_true(isfinite(worst(lab, p.c.device)));
  spoil(gpu, p, row, true);
  assert_true(isinf(worst(lab, p.c.device)));
  free_product(gpu, p);
  dm_lab_close(lab);
  dm_backend_close(gpu);
}

TEST_PROGRAM(test_cuda_reference) {
  if (dm_cuda_device_count() == 0) return SKIPPED;
  const struct CMUnitTest tests[] = {cmocka_unit_test(reference), cmocka_unit_test(not_a_number)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
