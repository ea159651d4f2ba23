/* Tests of the harness's judge: its reference compared with sums in long double on the host, and
 * its verdict on corrupted results. */
#include "harness_bench.h"

/* C + A B in long double, rounded to C's type, on the host and then on the GPU. */
static void right_result(const bench *p) {
  double *a = widened(p->a.host), *b = widened(p->b.host), *c = widened(p->c.host);
  const int parts = dm_dtype_is_complex(p->a.host.dtype) ? 2 : 1;
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
    dm_store_wide(dm_view_at(p->c.host, i, 0), p->c.host.dtype, 1, c + i * N * parts, N);
  move(p->gpu, p->c.device_all, p->c.host_all);
  free(a), free(b), free(c);
}

static double worst(const bench *p) {
  const int64_t count = dm_harness_judged(p->harness);
  double *errors = malloc((size_t)count * sizeof *errors);
  assert_non_null(errors);
  ok(dm_harness_judge(p->harness, p->c.device, errors));
  const double most = dm_largest(errors, count);
  free(errors);
  return most;
}

/* Adds one unit in the last place to an element in ROW of C, or sets it to NaN. */
static void spoil(const bench *p, int64_t row, bool nan) {
  double wide[2];
  void *at = dm_view_at(p->c.host, row, N - 1);
  dm_load_wide(wide, at, p->c.host.dtype, 1, 1);
  const double step = dm_dtype_is_integer(p->c.host.dtype) ? 1.0 : 1e-3;
  wide[0] = nan ? (double)NAN : wide[0] + step;
  dm_store_wide(at, p->c.host.dtype, 1, wide, 1);
  move(p->gpu, p->c.device_all, p->c.host_all);
}

static void judged(dm_dtype dtype) {
  bench t = bench_open(dtype);
  int64_t rows[M];
  for (int64_t i = 0; i < M; i++) rows[i] = i;
  t.work.accumulate = true;
  ok(dm_harness_expect(t.harness, &t.work, rows, M));
  right_result(&t);
  const double u = dm_dtype_roundoff(t.c.host.dtype);
  assert_true(worst(&t) <= 1.01 * u); /* one rounding; long double adds its own */
  spoil(&t, M - 1, false);
  assert_true(worst(&t) > 100 * u);
  ok(dm_harness_expect(t.harness, &t.work, rows,
                       M - 1)); /* now C differs: all elements are wrong, but not its shape */
  assert_true(dm_harness_judged(t.harness) == (M - 1) * N * (dm_dtype_is_complex(dtype) ? 2 : 1));
  bench_close(&t);
}

TEST(reference) {
  const dm_dtype dtypes[] = {DM_F64, DM_F32, DM_F16, DM_BF16, DM_C64, DM_C128, DM_I8};
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) judged(dtypes[i]);
}

TEST(not_a_number) {
  bench t = bench_open(DM_F32);
  const int64_t row = 3;
  t.work.accumulate = true;
  ok(dm_harness_expect(t.harness, &t.work, &row, 1));
  right_result(&t);
  assert_true(isfinite(worst(&t)));
  spoil(&t, row + 1, true); /* this row is not checked */
  assert_true(isfinite(worst(&t)));
  spoil(&t, row, true);
  assert_true(isinf(worst(&t)));
  bench_close(&t);
}

CUDA_TESTS(test_cuda_reference)
