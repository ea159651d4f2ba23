/* The choice of kernels, and cuBLAS, in every type: integers exactly, random numbers within |C -
 * C'| <= f(k) u |A||B|. */
#include <complex.h>

#include "ladder.h"

static void judge(const trial *t, const double *a, const double *b, const double *old,
                  const double *result) {
  const int parts = dm_dtype_is_complex(t->dtype) ? 2 : 1;
  const double u = t->tf32 ? 0x1p-11 : dm_dtype_roundoff(dm_compute_sum(t->dtype));
  double sum[2] = {old[0], parts == 2 ? old[1] : 0.0}, magnitude = 1.0;
  for (int64_t l = 0; l < t->k; l++) {
    const double *x = a + l * parts, *y = b + l * t->n * parts;
    const double xi = parts == 2 ? x[1] : 0.0, yi = parts == 2 ? y[1] : 0.0;
    sum[0] += x[0] * y[0] - xi * yi;
    sum[1] += x[0] * yi + xi * y[0];
    magnitude += (fabs(x[0]) + fabs(xi)) * (fabs(y[0]) + fabs(yi));
  }
  const double bound = t->whole ? 0.0 : (4.0 * (double)t->k + 16.0) * u * magnitude;
  for (int part = 0; part < parts; part++)
    if (!(fabs(result[part] - sum[part]) <= bound)) refuse_element(t, result[part], sum[part]);
}

static void check_kernel(const char *name, bool tf32, int64_t tile) {
  static const dm_dtype dtypes[] = {DM_F64, DM_F32, DM_F16, DM_BF16, DM_C64, DM_C128, DM_I8};
  const dm_kernel kernel = {.name = name};
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
    if (dm_backend_cuda.kernel_multiplies(
            name, dtypes[d], dm_compute_by(tf32 ? DM_TF32 : (dm_operand)dtypes[d]), NULL))
      run_trials(&kernel, dtypes[d], tf32, tile, judge);
}

/* i8 in several bands: the same as the tiled kernel. */
TEST(test_i8_bands) {
  const int64_t m = 10007, n = 1501, k = 1009;
  const dm_generator generator = {.kind = DM_INTEGER, .seed = 3, .parameter = 127.0};
  void *results[2];
  for (int i = 0; i < 2; i++) {
    dm_backend *gpu = open_gpu(i ? "tiled_32" : "cublas", false, 0);
    pair a = make_pair(gpu, DM_I8, m, k, 2, generator),
         b = make_pair(gpu, DM_I8, k, n, 0, generator);
    pair c = make_pair(gpu, DM_I32, m, n, 1, generator);
    for (int accumulate = 0; accumulate < 2; accumulate++)
      multiply(gpu, c.device, a.device, b.device, accumulate);
    results[i] = fetched(gpu, c);
    free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
    dm_backend_close(gpu);
  }
  assert_memory_equal(results[0], results[1], (size_t)(m * (n + 1) * 4));
  free(results[0]), free(results[1]);
}

TEST(test_cublas) {
  check_kernel("cublas", false, 0);
  check_kernel("cublas", true, 0);
}

TEST(test_cublaslt) {
  check_kernel("cublaslt", false, 0);
  check_kernel("cublaslt", true, 0);
}

TEST(test_auto) {
  check_kernel("auto", false, 0);
  check_kernel("auto", true, 0);
}

TEST(test_tiled) {
  check_kernel("tiled", false, 0);
  check_kernel("jit", false, 0); /* skips the rest without NVRTC */
}

TEST(test_pieces) {
  check_kernel("cublas", false, 32);
  check_kernel("cublaslt", false, 32);
  check_kernel("auto", false, 32);
}

/* MADE is alpha A B + beta C of P, whose numbers are small and whole. */
static void check_on_host(const dm_whole_product *p, dm_view made) {
  const int64_t m = p->c.rows, n = p->c.cols, k = p->a.cols;
  const double complex alpha = CMPLX(p->alpha[0], p->alpha[1]),
                       beta = CMPLX(p->beta[0], p->beta[1]);
  double complex *a = (double complex *)widened(p->a), *b = (double complex *)widened(p->b);
  double complex *c = (double complex *)widened(p->c), *x = (double complex *)widened(made);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double complex sum = 0.0;
      for (int64_t l = 0; l < k; l++) sum += a[i * k + l] * b[l * n + j];
      assert_true(x[i * n + j] == alpha * sum + beta * c[i * n + j]);
    }
  free(a), free(b), free(c), free(x);
}

/* cuBLAS takes complex scalars at multiples of 16 bytes; those of a whole product lie anywhere. */
TEST(test_scalars) {
  _Alignas(16) char room[sizeof(dm_whole_product) + 8];
  dm_backend *gpu = *state;
  const dm_generator generator = {.kind = DM_INTEGER, .seed = 5, .parameter = 7.0};
  for (int d = 0; d < 2; d++)
    for (int offset = 0; offset <= 8; offset += 8)
      for (int64_t n = 1; n < 40; n += 19) {
        const dm_dtype dtype = d ? DM_C128 : DM_C64;
        pair a = make_pair(gpu, dtype, 2, 2, 0, generator),
             b = make_pair(gpu, dtype, 2, n, 0, generator);
        pair c = make_pair(gpu, dtype, 2, n, 0, generator);
        dm_whole_product *p = (dm_whole_product *)(void *)(room + offset);
        *p = (dm_whole_product){
            .c = c.device, .a = a.device, .b = b.device, .alpha = {-1.0, 2.0}, .beta = {3.0, 1.0}};
        dm_event done;
        assert_true(dm_backend_can_multiply(gpu, p));
        ok(dm_backend_multiply(gpu, p, NULL, &done));
        ok(dm_backend_wait(gpu, done));
        p->a = a.host, p->b = b.host, p->c = c.host;
        void *made = fetched(gpu, c);
        check_on_host(p, dm_view_row_major(made, dtype, 2, n));
        free(made);
        free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
      }
}

CUDA_TESTS(test_cuda_gemm)
