/* Products of f32 and c64 from f16 (--compute f32:f16) on the GPU, compared with exact sums: shapes
 * and strides that break kernels, all kinds of data, and the same bits for any division of C. */
#include "core/compute.h"
#include "cuda_test.h"
#include "split_cases.h"

static pair split_pair(dm_backend *gpu, dm_dtype dtype, int64_t rows, int64_t cols, int64_t pad,
                       split_data data, int matrix) {
  const dm_generator plain = {.kind = DM_NORMAL, .seed = 7, .parameter = 1.0};
  const pair p = make_pair(gpu, dtype, rows, cols, pad, plain);
  split_fill(p.host, data, matrix);
  move(gpu, p.device_all, p.host_all);
  return p;
}

/* Checks the elements after the rows of C. */
static void check_padding(pair c, const char *got) {
  const int64_t size = dm_dtype_size(c.host.dtype), row = c.host.cols * size;
  const int64_t stride = c.host_all.cols * size;
  const char *before = c.host_all.base;
  for (int64_t i = 0; i < c.host.rows; i++)
    if (memcmp(got + i * stride + row, before + i * stride + row, (size_t)(stride - row)) != 0)
      fail_msg("padding of row %lld is overwritten", (long long)i);
}

/* C = A B, or C += A B. */
static void check_product(dm_backend *gpu, dm_dtype dtype, const int64_t shape[3], int64_t pad,
                          split_data data, bool accumulate) {
  const int64_t m = shape[0], n = shape[1], k = shape[2];
  const pair a = split_pair(gpu, dtype, m, k, pad, data, SPLIT_A);
  const pair b = split_pair(gpu, dtype, k, n, pad, data, SPLIT_B);
  const pair c = make_pair(gpu, dtype, m, n, pad,
                           (dm_generator){.kind = DM_NORMAL, .seed = 3, .parameter = 1.0});
  float *old = malloc((size_t)(m * n * dm_dtype_size(dtype)) + 1);
  assert_non_null(old);
  dm_copy(dm_view_row_major(old, dtype, m, n), c.host, false);
  multiply(gpu, c.device, a.device, b.device, accumulate);
  void *got = fetched(gpu, c);
  check_padding(c, got);
  split_check(dm_view_strided(got, dtype, DM_HOST, m, n, n + pad), a.host, b.host,
              accumulate ? old : NULL, data);
  free(got), free(old);
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
}

TEST(test_split_shapes) {
  static const int64_t sizes[] = {1, 7, 64, 129, 1000};
  static const int64_t pads[] = {0, 1, 4, 3};
  int turn = 0;
  for (int x = 0; x < 5; x++)
    for (int y = 0; y < 5; y++)
      for (int z = 0; z < 5; z++, turn++) {
        const int64_t shape[] = {sizes[x], sizes[y], sizes[z]};
        const int64_t halves[] = {sizes[x], sizes[y] / 2 + 1, sizes[z] / 2 + 1};
        check_product(*state, DM_F32, shape, pads[turn % 4], SPLIT_NORMAL, turn % 2);
        check_product(*state, DM_C64, halves, pads[turn % 4], SPLIT_NORMAL, turn % 2);
      }
}

TEST(test_split_data) {
  static const int64_t shapes[][3] = {
      {129, 300, 1000}, {513, 200, 70}, {64, 1000, 7}, {33, 5, 200}};
  for (split_data data = 0; data < SPLIT_DATA; data++)
    for (int s = 0; s < 4; s++)
      for (int accumulate = 0; accumulate < 2; accumulate++) {
        check_product(*state, DM_F32, shapes[s], s, data, accumulate);
        check_product(*state, DM_C64, shapes[s], s, data, accumulate);
      }
}

/* C in 2 x 2 blocks; some rows and columns are multiplied natively. Blocks begin at multiples of
 * 64, as with --reproducible. */
static void check_same_bits(dm_backend *gpu, dm_dtype dtype) {
  const int64_t m = 700, n = 900, k = 333;
  const pair a = split_pair(gpu, dtype, m, k, 3, SPLIT_UNLIKE, SPLIT_A);
  const pair b = split_pair(gpu, dtype, k, n, 3, SPLIT_UNLIKE, SPLIT_B);
  const pair c[] = {split_pair(gpu, dtype, m, n, 1, SPLIT_NORMAL, SPLIT_A),
                    split_pair(gpu, dtype, m, n, 1, SPLIT_NORMAL, SPLIT_A)};
  const int64_t rows[] = {0, 192, m}, cols[] = {0, 512, n};
  for (int turn = 0; turn < 2; turn++) {
    multiply(gpu, c[0].device, a.device, b.device, turn);
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++) {
        const int64_t down = rows[i + 1] - rows[i], across = cols[j + 1] - cols[j];
        multiply(gpu, dm_view_sub(c[1].device, rows[i], cols[j], down, across),
                 dm_view_sub(a.device, rows[i], 0, down, k),
                 dm_view_sub(b.device, 0, cols[j], k, across), turn);
      }
    void *got[] = {fetched(gpu, c[0]), fetched(gpu, c[1])};
    assert_memory_equal(got[0], got[1], (size_t)bytes_of(c[0].host_all));
    free(got[0]), free(got[1]);
  }
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c[0]), free_pair(gpu, c[1]);
}

TEST(test_split_same_bits) {
  check_same_bits(*state, DM_F32);
  check_same_bits(*state, DM_C64);
}

/* Deeper than one call of the kernel; a few rows and columns are counted. */
static void check_deep(dm_backend *gpu, dm_dtype dtype) {
  const int64_t m = 40, n = 70, k = dtype == DM_C64 ? 20001 : 40001;
  int64_t before, after;
  const pair a = split_pair(gpu, dtype, m, k, 0, SPLIT_NORMAL, SPLIT_A);
  const pair b = split_pair(gpu, dtype, k, n, 0, SPLIT_NORMAL, SPLIT_B);
  const pair c = split_pair(gpu, dtype, m, n, 0, SPLIT_NORMAL, SPLIT_A);
  *(float *)dm_view_at(a.host, 7, 3) = 1e-30f;
  *(float *)dm_view_at(b.host, k - 1, 60) = 1e30f;
  move(gpu, a.device_all, a.host_all), move(gpu, b.device_all, b.host_all);
  ok(dm_backend_native_lines(gpu, &before));
  multiply(gpu, c.device, a.device, b.device, false);
  ok(dm_backend_native_lines(gpu, &after));
  assert_int_equal(after - before, 2);
  void *got = fetched(gpu, c);
  split_check(dm_view_row_major(got, dtype, m, n), a.host, b.host, NULL, SPLIT_UNLIKE);
  free(got);
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
}

TEST(test_split_deep) {
  check_deep(*state, DM_F32);
  check_deep(*state, DM_C64);
}

/* C = alpha X^T X + beta C, half of it multiplied in lanes of k. ODD: a column of unlike elements,
 * for which all is multiplied natively. */
static void check_gram(dm_backend *gpu, int64_t n, int64_t k, int64_t pad, bool by_rows, bool odd) {
  const dm_generator normal = {.kind = DM_NORMAL, .seed = 3, .parameter = 1.0};
  const double beta = by_rows ? 0.5 : 0.0;
  const pair x = split_pair(gpu, DM_F32, k, n, pad, SPLIT_NORMAL, SPLIT_B);
  const pair c = make_pair(gpu, DM_F32, n, n, pad, normal);
  int64_t before, after;
  dm_event done;
  if (odd) {
    *(float *)dm_view_at(x.host, 1, n / 2) = 1e-30f; /* in the first lane */
    move(gpu, x.device_all, x.host_all);
  }
  for (int64_t i = 0; i < n; i++) /* symmetric */
    for (int64_t j = 0; j < i; j++)
      *(float *)dm_view_at(c.host, j, i) = *(float *)dm_view_at(c.host, i, j);
  move(gpu, c.device_all, c.host_all);
  const dm_whole_product product = {.c = by_rows ? c.device : dm_view_transpose(c.device),
                                    .a = dm_view_transpose(x.device),
                                    .b = x.device,
                                    .symmetric = true,
                                    .alpha = {2.0},
                                    .beta = {beta}};
  assert_true(dm_backend_can_multiply(gpu, &product));
  ok(dm_backend_native_lines(gpu, &before));
  ok(dm_backend_multiply(gpu, &product, NULL, &done));
  ok(dm_backend_wait(gpu, done));
  ok(dm_backend_native_lines(gpu, &after));
  assert_int_equal(after > before, odd);
  float *got = fetched(gpu, c), *old = malloc((size_t)(n * n) * sizeof *old + 1);
  assert_non_null(old);
  check_padding(c, (char *)got);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < i; j++) assert_true(got[i * (n + pad) + j] == got[j * (n + pad) + i]);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) { /* half of it, for the sums alone */
      got[i * (n + pad) + j] /= 2.0f;
      old[i * n + j] = (float)(beta / 2.0) * *(float *)dm_view_at(c.host, i, j);
    }
  split_check(dm_view_strided(got, DM_F32, DM_HOST, n, n, n + pad), dm_view_transpose(x.host),
              x.host, old, SPLIT_UNLIKE);
  free(got), free(old);
  free_pair(gpu, x), free_pair(gpu, c);
}

TEST(test_split_gram) {
  dm_compute row;
  dm_compute_choice choice = 0;
  assert_true(dm_compute_parse("f32:f16", &choice));
  ok(dm_compute_choose(choice, DM_F32, 1000, &row));
  ok(dm_backend_set_mode(*state, &(dm_backend_mode){.compute = &row, .kernel = "auto"}));
  static const int64_t columns[] = {1, 5, 64, 65, 200, 257}, rows[] = {1100, 4097, 40001};
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 3; j++) check_gram(*state, columns[i], rows[j], (i + j) % 4, j % 2, false);
  check_gram(*state, 520, 2200, 0, true, false);
  check_gram(*state, 1000, 4001, 1, false, false);
  check_gram(*state, 30, 600000, 0, true, false); /* several rounds */
  check_gram(*state, 65, 4097, 0, false, true);
  check_gram(*state, 200, 1100, 3, true, true);
}

TEST_PROGRAM(test_cuda_split) {
  dm_compute row;
  dm_compute_choice choice = 0;
  ok(dm_compute_parse("f32:f16", &choice) ? DM_OK : dm_fail(DM_E_BUG, "there is no f32:f16"));
  ok(dm_compute_choose(choice, DM_F32, 1000, &row));
  return run_on_gpu(&(dm_backend_config){.local_ranks = 1, .kernel = "auto", .compute = &row});
}
