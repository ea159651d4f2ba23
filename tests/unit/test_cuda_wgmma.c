/* The kernel wgmma: every type on shapes around its tiles, aligned and unaligned; B by rows and by
 * columns; the same bits for any division of C and in repeated runs. Integers must be exact; an old
 * C of NaN and the elements after rows of A and B must not matter. */
#include "cuda_test.h"

static const dm_dtype dtypes[] = {DM_BF16, DM_F16, DM_F32, DM_I8};
static const int64_t shapes[][3] = {{1, 1, 1},      {1, 300, 33},     {65, 1, 130},
                                    {63, 64, 65},   {128, 256, 64},   {129, 257, 63},
                                    {255, 31, 127}, {260, 520, 1000}, {2050, 2100, 48}};
/* Elements after each row of A, B, C: 8 or 16 keep rows aligned in some types. */
static const int64_t pads[][3] = {{0, 0, 0}, {1, 3, 1}, {16, 32, 4}};

/* Few PROCESSORS, so that each computes several tiles. */
static void multiply_on(dm_backend *gpu, dm_view c, dm_view a, dm_view b, bool accumulate,
                        int processors) {
  dm_gemm product = {.c = dm_gemm_matrix_of(c),
                     .a = dm_gemm_matrix_of(a),
                     .b = dm_gemm_matrix_of(b),
                     .dtype = a.dtype,
                     .size = (int)dm_dtype_size(a.dtype),
                     .tf32 = a.dtype == DM_F32,
                     .accumulate = accumulate,
                     .processors = processors};
  const int64_t bytes = dm_kernels_tma_scratch(&product);
  if (bytes > 0) ok(dm_backend_alloc(gpu, DM_DEVICE, bytes, &product.scratch));
  cuda_ok(dm_kernels_wgmma(&product));
  if (bytes > 0) dm_backend_release(gpu, DM_DEVICE, product.scratch);
}

static void check(pair a, dm_view b, pair c, dm_view got, bool accumulate) {
  const int64_t m = c.host.rows, n = c.host.cols, k = a.host.cols;
  const int64_t step = m * n > 20000 ? 997 : 1; /* of a large C only enough elements */
  for (int64_t at = 0; at < m * n; at += step) {
    const int64_t i = at / n, j = at % n;
    double sum = accumulate ? number(c.host, i, j) : 0.0;
    for (int64_t l = 0; l < k; l++) sum += number(a.host, i, l) * number(b, l, j);
    if (number(got, i, j) != sum)
      fail_msg("%s %lldx%lldx%lld%s: C(%lld, %lld) is %g, not %g", dm_dtype_name(a.host.dtype),
               (long long)m, (long long)n, (long long)k, accumulate ? ", accumulated" : "",
               (long long)i, (long long)j, number(got, i, j), sum);
  }
  for (int64_t i = 0; i < m; i++)
    assert_memory_equal(dm_view_at(got, i, n), dm_view_at(c.host_all, i, n),
                        (size_t)((c.host_all.cols - n) * dm_dtype_size(c.host.dtype)));
}

static void try_shape(dm_backend *gpu, dm_dtype dtype, const int64_t shape[3], const int64_t pad[3],
                      bool by_columns, bool accumulate) {
  dm_generator whole = {.kind = DM_INTEGER, .seed = 3, .parameter = 3.0};
  const dm_generator poison = {.kind = DM_CONSTANT, .parameter = (double)NAN};
  const int64_t m = shape[0], n = shape[1], k = shape[2];
  pair a = make_pair(gpu, dtype, m, k, pad[0], whole);
  whole.seed++;
  pair b = by_columns ? make_pair(gpu, dtype, n, k, pad[1], whole)
                      : make_pair(gpu, dtype, k, n, pad[1], whole);
  const dm_dtype sum = dm_compute_sum(dtype);
  whole.seed++;
  pair c = make_pair(gpu, sum, m, n, pad[2], accumulate || sum == DM_I32 ? whole : poison);
  multiply_on(gpu, c.device, a.device, by_columns ? dm_view_transpose(b.device) : b.device,
              accumulate, m % 2 ? 132 : 6);
  dm_view got = c.host_all;
  got.base = fetched(gpu, c);
  check(a, by_columns ? dm_view_transpose(b.host) : b.host, c, got, accumulate);
  free(got.base);
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
}

TEST(test_shapes) {
  dm_backend *gpu = *state;
  for (int t = 0; t < 4; t++)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
      for (int rest = 0; rest < 12; rest++)
        try_shape(gpu, dtypes[t], shapes[s], pads[rest / 4], rest & 1, rest & 2);
}

/* C += A B in blocks of HEIGHT x WIDTH. */
static void *product_in_cuts(dm_backend *gpu, pair c, pair a, pair b, int64_t height,
                             int64_t width) {
  move(gpu, c.device_all, c.host_all);
  for (int64_t i = 0; i < c.host.rows; i += height)
    for (int64_t j = 0; j < c.host.cols; j += width) {
      const int64_t rows = c.host.rows - i < height ? c.host.rows - i : height;
      const int64_t cols = c.host.cols - j < width ? c.host.cols - j : width;
      multiply_on(gpu, dm_view_sub(c.device, i, j, rows, cols),
                  dm_view_sub(a.device, i, 0, rows, a.device.cols),
                  dm_view_sub(b.device, 0, j, b.device.rows, cols), true, 132);
    }
  return fetched(gpu, c);
}

/* C += A B, TIMES times, mostly at once. */
static void try_same_bits(dm_backend *gpu, dm_dtype dtype, dm_generator of_a, dm_generator of_c,
                          int times) {
  static const int64_t cuts[][2] = {{64, 64}, {128, 500}, {301, 99}, {1, 643}};
  pair a = make_pair(gpu, dtype, 517, 331, 5, of_a), b = make_pair(gpu, dtype, 331, 643, 5, of_a);
  pair c = make_pair(gpu, dm_compute_sum(dtype), 517, 643, 1, of_c);
  void *first = product_in_cuts(gpu, c, a, b, 517, 643);
  for (int i = 0; i < times; i++) {
    const int64_t *cut = i % 100 < 4 ? cuts[i % 100] : (int64_t[]){517, 643};
    void *next = product_in_cuts(gpu, c, a, b, cut[0], cut[1]);
    assert_memory_equal(first, next, (size_t)bytes_of(c.host_all));
    free(next);
  }
  free(first);
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
}

TEST(test_same_bits) {
  const dm_generator zero = {.kind = DM_CONSTANT}, tiny = {.kind = DM_CONSTANT, .parameter = 1e-40};
  for (int t = 0; t < 4; t++) {
    const dm_generator random = {
        .kind = dtypes[t] == DM_I8 ? DM_INTEGER : DM_UNIFORM, .seed = 9, .parameter = 100.0};
    try_same_bits(*state, dtypes[t], random, random, 1000);
    try_same_bits(*state, dtypes[t], zero, tiny, 4); /* subnormal numbers in C */
  }
}

TEST_PROGRAM(test_cuda_wgmma) {
  return run_on_gpu(&(dm_backend_config){.local_ranks = 1, .kernel = "wgmma"});
}
