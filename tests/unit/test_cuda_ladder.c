/* Every kernel of the registry, in each of its real types, on the shapes that break kernels: single
 * elements, primes, one less and one more than a tile, k = 1, rows that are not aligned.  Whole
 * numbers must come out exactly, random ones within k u |A||B|, and to the last bit as the one
 * chain of fused multiply-adds over k that kernels.h promises (all but kahan). */
#include "cuda_test.h"

static const int64_t shapes[][3] = {
    {1, 1, 1},      {1, 7, 31},    {31, 1, 2},    {127, 129, 1},  {129, 127, 17}, {65, 63, 8},
    {257, 131, 37}, {255, 257, 9}, {3, 523, 100}, {128, 256, 64}, {17, 13, 4099}, {1033, 2053, 33},
};

/* Rows have PAD elements behind them: unaligned, or aligned though the shape is not. */
typedef struct layout {
  int64_t a, b, c;
} layout;

static layout layout_of(const int64_t shape[3], int kind) {
  const int64_t n = shape[1], k = shape[2];
  if (kind == 0) return (layout){0, 0, 0};
  if (kind == 1) return (layout){3, 1, 5};
  return (layout){-k & 3, -n & 3, -n & 3}; /* rows of vectors */
}

static double value(dm_view view, int64_t row, int64_t col) {
  double wide;
  dm_load_wide(&wide, dm_view_at(view, row, col), view.dtype, 1, 1);
  return wide;
}

/* One element of C, and the sum of the magnitudes that went into it; CHAIN: in the kernel's type,
 * else as exactly as f64 allows. */
static double element(const double *a, const double *b, int64_t k, int64_t n, double old,
                      bool single, bool chain, double *magnitude) {
  double sum = old;
  *magnitude = fabs(old);
  for (int64_t l = 0; l < k; l++) {
    sum = single && chain ? (double)fmaf((float)a[l], (float)b[l * n], (float)sum)
                          : fma(a[l], b[l * n], sum);
    *magnitude += fabs(a[l] * b[l * n]);
  }
  return sum;
}

typedef struct trial {
  const char *kernel;
  dm_dtype dtype;
  const int64_t *shape;
  int layout;
  bool accumulate, whole;
} trial;

/* Nothing behind the rows of C may change. */
static void check_padding(pair c, dm_view got) {
  for (int64_t i = 0; i < c.host.rows; i++)
    for (int64_t j = c.host.cols; j < c.host_all.cols; j++)
      assert_memory_equal(dm_view_at(got, i, j), dm_view_at(c.host_all, i, j),
                          (size_t)dm_dtype_size(c.host.dtype));
}

static void check_elements(const trial *t, pair a, pair b, pair c, dm_view got) {
  const int64_t m = t->shape[0], n = t->shape[1], k = t->shape[2];
  const bool kahan = strcmp(t->kernel, "kahan") == 0, single = t->dtype == DM_F32;
  const double u = dm_dtype_roundoff(t->dtype);
  double *wide_a = widened(a.host), *wide_b = widened(b.host);
  const int64_t step = m * n > 100000 ? 37 : 1; /* of a large C, enough elements */
  for (int64_t at = 0; at < m * n; at += step) {
    const int64_t i = at / n, j = at % n;
    const double old = t->accumulate ? value(c.host, i, j) : 0.0;
    double magnitude, result = value(got, i, j);
    const double *row = wide_a + i * k, *col = wide_b + j;
    const double near = element(row, col, k, n, old, single, false, &magnitude);
    const double chain = element(row, col, k, n, old, single, true, &magnitude);
    const double bound = t->whole ? 0.0 : (kahan ? 3.0 : (double)k + 1.0) * u * magnitude;
    const bool far = single ? !(fabs(result - near) <= bound) : false; /* f64: the chain alone */
    if (far || (!kahan && result != chain))
      fail_msg("%s %s %lldx%lldx%lld, layout %d%s%s: C(%lld, %lld) is %.17g, not %.17g", t->kernel,
               dm_dtype_name(t->dtype), (long long)m, (long long)n, (long long)k, t->layout,
               t->accumulate ? ", accumulated" : "", t->whole ? ", whole" : "", (long long)i,
               (long long)j, result, kahan ? near : chain);
  }
  free(wide_a), free(wide_b);
}

static void run_trial(dm_backend *gpu, const trial *t) {
  const layout pad = layout_of(t->shape, t->layout);
  dm_generator generator = {
      .kind = t->whole ? DM_INTEGER : DM_UNIFORM, .seed = 11, .parameter = 3.0};
  const dm_generator poison = {.kind = DM_CONSTANT, .parameter = (double)NAN};
  pair a = make_pair(gpu, t->dtype, t->shape[0], t->shape[2], pad.a, generator);
  generator.seed++;
  pair b = make_pair(gpu, t->dtype, t->shape[2], t->shape[1], pad.b, generator);
  generator.seed++;
  pair c =
      make_pair(gpu, t->dtype, t->shape[0], t->shape[1], pad.c, t->accumulate ? generator : poison);
  dm_event done;
  ok(dm_backend_gemm(gpu, c.device, a.device, b.device, t->accumulate, &done));
  ok(dm_backend_wait(gpu, done));
  dm_view got = c.host_all;
  got.base = fetched(gpu, c);
  check_padding(c, got);
  check_elements(t, a, b, c, got);
  free(got.base);
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
}

static void test_kernel(void **state) {
  const dm_kernel *kernel = *state;
  dm_backend *gpu;
  const dm_backend_config config = {.local_ranks = 1, .kernel = kernel->name};
  dm_status status = dm_backend_open(&dm_backend_cuda, &config, &gpu);
  if (status && status->code == DM_E_USAGE) { /* written for another GPU */
    dm_status_free(status);
    skip();
  }
  ok(status);
  const dm_dtype dtypes[] = {DM_F32, DM_F64};
  for (int d = 0; d < 2; d++)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
      for (int rest = 0; rest < 12 && kernel->types >> dtypes[d] & 1; rest++)
        run_trial(gpu, &(trial){kernel->name, dtypes[d], shapes[s], rest / 4, rest & 1, rest & 2});
  dm_backend_close(gpu);
}

int main(void) {
  if (dm_cuda_device_count() == 0) return SKIPPED;
  struct CMUnitTest tests[DM_KERNEL_COUNT];
  size_t count = 0;
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_cuda_registry()[i];
    if (kernel->op != DM_GEMM || kernel->maker != DM_BY_KERNEL) continue;
    tests[count++] = (struct CMUnitTest){
        .name = kernel->name, .test_func = test_kernel, .initial_state = (void *)kernel};
  }
  return _cmocka_run_group_tests("ladder", tests, count, NULL, NULL);
}
