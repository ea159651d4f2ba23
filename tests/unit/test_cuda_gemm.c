/* Products of every type on awkward shapes against a reference in f64: integers bit by bit, random
 * numbers within |C - C'| <= f(k) u |A||B|.  Neither padding nor an old C of NaN may matter. */
#include "cuda_test.h"

static const int64_t shapes[][3] = {{1, 1, 1},     {1, 7, 31},    {31, 1, 2},   {32, 32, 32},
                                    {33, 31, 65},  {127, 129, 1}, {64, 65, 63}, {3, 257, 129},
                                    {130, 2, 300}, {1, 1, 1000}};
static const dm_dtype dtypes[] = {DM_F64, DM_F32, DM_F16, DM_BF16, DM_C64, DM_C128, DM_I8};

/* C and BOUND += A B and |A||B|. */
static void reference(dm_view a, dm_view b, double *c, double *bound) {
  const int64_t parts = dm_dtype_is_complex(a.dtype) ? 2 : 1;
  double *wa = widened(a), *wb = widened(b);
  for (int64_t i = 0; i < a.rows; i++)
    for (int64_t l = 0; l < a.cols; l++)
      for (int64_t j = 0; j < b.cols; j++) {
        const double *x = wa + (i * a.cols + l) * parts, *y = wb + (l * b.cols + j) * parts;
        double *z = c + (i * b.cols + j) * parts;
        if (parts == 1) {
          z[0] += x[0] * y[0];
          bound[i * b.cols + j] += fabs(x[0] * y[0]);
        } else {
          z[0] += x[0] * y[0] - x[1] * y[1];
          z[1] += x[0] * y[1] + x[1] * y[0];
          bound[i * b.cols + j] += (fabs(x[0]) + fabs(x[1])) * (fabs(y[0]) + fabs(y[1]));
        }
      }
  free(wa);
  free(wb);
}

static void check_padding(pair c, const void *result) {
  const int64_t size = dm_dtype_size(c.host.dtype);
  for (int64_t i = 0; i < c.host.rows; i++) {
    const int64_t at = (i * c.host_all.cols + c.host.cols) * size;
    assert_memory_equal((const char *)result + at, (char *)c.host_all.base + at,
                        (size_t)((c.host_all.cols - c.host.cols) * size));
  }
}

/* ROUNDOFF 0: exact. */
static void check_product(dm_backend *gpu, dm_dtype dtype, const int64_t shape[3], int64_t pad,
                          bool accumulate, double roundoff, dm_generator generator) {
  const int64_t m = shape[0], n = shape[1], k = shape[2];
  const int64_t parts = dm_dtype_is_complex(dtype) ? 2 : 1;
  const dm_dtype sum = dm_compute_sum(dtype);
  dm_generator old = generator;
  if (!accumulate)
    old = (dm_generator){.kind = DM_CONSTANT, .parameter = sum == DM_I32 ? 77.0 : (double)NAN};
  pair a = make_pair(gpu, dtype, m, k, pad, generator);
  generator.seed++;
  pair b = make_pair(gpu, dtype, k, n, pad ? pad + 2 : 0, generator);
  pair c = make_pair(gpu, sum, m, n, pad, old);

  double *wanted = accumulate ? widened(c.host) : calloc((size_t)(m * n * parts), sizeof(double));
  double *bound = calloc((size_t)(m * n), sizeof(double));
  reference(a.host, b.host, wanted, bound);
  dm_event done;
  ok(dm_backend_gemm(gpu, c.device, a.device, b.device, accumulate, &done));
  ok(dm_backend_wait(gpu, done));

  void *result = fetched(gpu, c);
  check_padding(c, result);
  dm_view view = c.host;
  view.base = result;
  double *got = widened(view);
  for (int64_t i = 0; i < m * n * parts; i++) {
    const double allowed = (4.0 * (double)k + 16.0) * roundoff * (bound[i / parts] + 1.0);
    if (!(fabs(got[i] - wanted[i]) <= allowed))
      fail_msg("%s %lldx%lldx%lld pad %lld: C[%lld] is %.17g, not %.17g", dm_dtype_name(dtype),
               (long long)m, (long long)n, (long long)k, (long long)pad, (long long)i, got[i],
               wanted[i]);
  }
  free(got), free(result), free(bound), free(wanted);
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
}

static void check_kernel(const char *kernel, bool tf32, int64_t tile) {
  const dm_generator whole = {.kind = DM_INTEGER, .seed = 5, .parameter = 3.0};
  const dm_generator random = {.kind = DM_UNIFORM, .seed = 7};
  dm_backend *gpu = open_gpu(kernel, tf32, tile);
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
    if (!dm_backend_cuda.takes(kernel, dtypes[d],
                               dm_compute_by(tf32 ? DM_TF32 : (dm_operand)dtypes[d]), NULL))
      continue;
    const double u = tf32 ? 0x1p-11 : dm_dtype_roundoff(dm_compute_sum(dtypes[d]));
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
      for (int64_t pad = 0; pad <= 4; pad += pad ? 3 : 1)
        for (int accumulate = 0; accumulate < 2; accumulate++) {
          check_product(gpu, dtypes[d], shapes[s], pad, accumulate, 0.0, whole);
          if (dtypes[d] != DM_I8)
            check_product(gpu, dtypes[d], shapes[s], pad, accumulate, u, random);
        }
  }
  dm_backend_close(gpu);
}

/* i8 in several bands: as the tiled kernel has it. */
static void test_i8_bands(void **state) {
  (void)state;
  const int64_t m = 10007, n = 1501, k = 1009;
  const dm_generator generator = {.kind = DM_INTEGER, .seed = 3, .parameter = 127.0};
  void *results[2];
  for (int i = 0; i < 2; i++) {
    dm_backend *gpu = open_gpu(i ? "tiled_32" : "cublas", false, 0);
    pair a = make_pair(gpu, DM_I8, m, k, 2, generator),
         b = make_pair(gpu, DM_I8, k, n, 0, generator);
    pair c = make_pair(gpu, DM_I32, m, n, 1, generator);
    for (int accumulate = 0; accumulate < 2; accumulate++) {
      dm_event done;
      ok(dm_backend_gemm(gpu, c.device, a.device, b.device, accumulate, &done));
      ok(dm_backend_wait(gpu, done));
    }
    results[i] = fetched(gpu, c);
    free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
    dm_backend_close(gpu);
  }
  assert_memory_equal(results[0], results[1], (size_t)(m * (n + 1) * 4));
  free(results[0]), free(results[1]);
}

static void test_cublas(void **state) {
  (void)state;
  check_kernel("cublas", false, 0);
  check_kernel("cublas", true, 0);
}

static void test_cublaslt(void **state) {
  (void)state;
  check_kernel("cublaslt", false, 0);
  check_kernel("cublaslt", true, 0);
}

static void test_auto(void **state) {
  (void)state;
  check_kernel("auto", false, 0);
  check_kernel("auto", true, 0);
}

static void test_tiled(void **state) {
  (void)state;
  check_kernel("tiled", false, 0);
}

static void test_pieces(void **state) {
  (void)state;
  check_kernel("cublas", false, 32);
  check_kernel("cublaslt", false, 32);
  check_kernel("auto", false, 32);
}

TEST_PROGRAM(test_cuda_gemm) {
  if (dm_cuda_device_count() == 0) return SKIPPED;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cublas), cmocka_unit_test(test_cublaslt),
      cmocka_unit_test(test_auto),   cmocka_unit_test(test_tiled),
      cmocka_unit_test(test_pieces), cmocka_unit_test(test_i8_bands)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
