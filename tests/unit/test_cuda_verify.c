/* probe, scan, checksums and fill on the GPU give the host's results, the latter two with the same
 * bits. */
#include "backend/backend.h"
#include "backend/probe.h"
#include "backend/verify_sums.h"
#include "cuda_test.h"

static const int64_t shapes[][3] = {/* rows, cols, padding */
                                    {1, 1, 0},     {1, 5000, 0},  {5000, 1, 0},
                                    {37, 1029, 0}, {33, 64, 0},   {33, 64, 16},
                                    {300, 513, 3}, {8, 16384, 0}, {2000, 130, 1}};

/* Every seventh x is 0, and its column is NaN if the type has NaN. */
static void hide_columns(dm_backend *gpu, pair *p, double *x, int64_t parts) {
  const dm_generator nan = {.kind = DM_CONSTANT, .parameter = (double)NAN};
  for (int64_t j = 3; j < p->host.cols; j += 7) {
    memset(x + j * parts, 0, (size_t)parts * sizeof(double));
    if (!dm_dtype_is_integer(p->host.dtype))
      dm_fill(dm_view_sub(p->host, 0, j, p->host.rows, 1), &nan, 0, 0);
  }
  move(gpu, p->device_all, p->host_all);
}

typedef pair make_one(dm_backend *gpu, dm_dtype dtype, int64_t rows, int64_t cols, int64_t pad,
                      dm_generator generator);

static void check_probe(dm_backend *gpu, make_one *make, dm_dtype dtype, int64_t rows, int64_t cols,
                        int64_t pad) {
  const int64_t parts = dm_dtype_is_complex(dtype) ? 2 : 1;
  const bool integer = dm_dtype_is_integer(dtype);
  const dm_generator generator = {.kind = integer ? DM_INTEGER : DM_NORMAL, .parameter = 100.0};
  pair p = make(gpu, dtype, rows, cols, pad, generator);
  double *x = malloc((size_t)(cols * parts) * 8), *y[2], *squares[2];
  for (int64_t j = 0; j < cols * parts; j++) {
    const int64_t bits = (int64_t)dm_random_bits(3, j, 0, 0);
    if (integer)
      memcpy(&x[j], &bits, 8);
    else
      x[j] = bits & 1 ? 1.0 : -0.75;
  }
  hide_columns(gpu, &p, x, parts);
  for (int i = 0; i < 2; i++) { /* the second adds to the first */
    y[i] = calloc((size_t)(rows * parts), 8);
    squares[i] = calloc((size_t)rows, 8);
    if (!integer) y[i][0] = squares[i][0] = 2.5;
  }
  ok(dm_host_probe(gpu, p.host, x, y[0], integer ? NULL : squares[0]));
  ok(dm_backend_probe(gpu, p.device, x, y[1], integer ? NULL : squares[1]));
  ok(dm_backend_settle(gpu));
  if (integer) assert_memory_equal(y[0], y[1], (size_t)rows * 8);
  for (int64_t i = 0; !integer && i < rows * parts; i++)
    assert_true(fabs(y[0][i] - y[1][i]) <= 1e-14 * (double)(cols + 16) * 5.0);
  for (int64_t i = 0; i < rows; i++)
    assert_true(fabs(squares[0][i] - squares[1][i]) <= 1e-12 * squares[0][i]);
  ok(dm_backend_probe(gpu, p.device, x, y[1], NULL));
  ok(dm_backend_settle(gpu));
  for (int i = 0; i < 2; i++) free(y[i]), free(squares[i]);
  free(x);
  free_pair(gpu, p);
}

static void check_scan(dm_backend *gpu, make_one *make, dm_dtype dtype, int64_t rows, int64_t cols,
                       int64_t pad) {
  const dm_generator generator = {
      .kind = dm_dtype_is_integer(dtype) ? DM_INTEGER : DM_NORMAL, .seed = 9, .parameter = 100.0};
  pair p = make(gpu, dtype, rows, cols, pad, generator);
  double *sums[2];
  for (int i = 0; i < 2; i++) {
    sums[i] = calloc((size_t)cols, 8);
    sums[i][0] = 1.5;
  }
  ok(dm_host_scan(gpu, p.host, sums[0]));
  ok(dm_backend_scan(gpu, p.device, sums[1]));
  ok(dm_host_scan(gpu, dm_sample(p.host, 0, 3), sums[0]));
  ok(dm_backend_scan(gpu, dm_sample(p.device, 0, 3), sums[1]));
  ok(dm_backend_settle(gpu));
  for (int64_t j = 0; j < cols; j++)
    assert_true(fabs(sums[0][j] - sums[1][j]) <= 1e-13 * (double)(1 + rows / 100) * sums[0][j]);
  for (int i = 0; i < 2; i++) free(sums[i]);
  free_pair(gpu, p);
}

/* The host's sum, and 0 once it is subtracted; any changed bit is detected. */
static void check_checksum(dm_backend *gpu, dm_dtype dtype, int64_t rows, int64_t cols,
                           int64_t pad) {
  const dm_element_place place = {(1ll << 31) + 5, 77, (1ll << 33) + 1};
  pair p = make_pair(gpu, dtype, rows, cols, pad, (dm_generator){.kind = DM_NORMAL, .seed = 2});
  uint64_t sums[2] = {0, 7}, *device;
  const dm_view here = dm_view_row_major(sums, DM_I32, 1, 4);
  ok(dm_backend_alloc(gpu, DM_DEVICE, sizeof sums, (void **)&device));
  const dm_view there = dm_view_strided(device, DM_I32, DM_DEVICE, 1, 4, 4);
  move(gpu, there, here);
  ok(dm_backend_checksum(gpu, p.device, place, false, device));
  ok(dm_backend_checksum(gpu, p.device, place, true, device + 1));
  ok(dm_backend_settle(gpu));
  move(gpu, here, there);
  const uint64_t want = dm_checksum_view(p.host, place.row, place.col, place.cols);
  assert_true(sums[0] == want && sums[1] == 7 - want);
  unsigned char *last = (unsigned char *)dm_view_at(p.host, rows - 1, cols - 1);
  last[dm_dtype_size(dtype) - 1] ^= 0x80;
  move(gpu, p.device_all, p.host_all);
  ok(dm_backend_checksum(gpu, p.device, place, true, device));
  ok(dm_backend_settle(gpu));
  move(gpu, here, there);
  assert_true(sums[0] != 0);
  dm_backend_release(gpu, DM_DEVICE, device);
  free_pair(gpu, p);
}

TEST(test_sums) {
  dm_backend *gpu = *state;
  for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
      const int64_t *shape = shapes[s];
      for (int by_columns = 0; by_columns < 2; by_columns++) {
        make_one *make = by_columns ? make_pair_by_columns : make_pair;
        check_probe(gpu, make, (dm_dtype)dtype, shape[0], shape[1], shape[2]);
        check_scan(gpu, make, (dm_dtype)dtype, shape[0], shape[1], shape[2]);
      }
      check_checksum(gpu, (dm_dtype)dtype, shape[0], shape[1], shape[2]);
    }
}

/* More vectors and matrices than the GPU keeps at a time. */
TEST(test_many_sums) {
  enum { ROWS = 600000, COLS = 3, TIMES = 300 };
  dm_backend *gpu = *state;
  const dm_generator whole = {.kind = DM_INTEGER, .seed = 4, .parameter = 9.0};
  pair p = make_pair(gpu, DM_F32, ROWS, COLS, 1, whole);
  const double x[COLS] = {1.0, -2.0, 3.0};
  double *y[2], *squares[2];
  for (int i = 0; i < 2; i++) y[i] = calloc(ROWS, 8), squares[i] = calloc(ROWS, 8);
  for (int t = 0; t < TIMES; t++) {
    const int64_t rows = t < 5 ? ROWS : 1000 + t;
    ok(dm_host_probe(gpu, dm_view_sub(p.host, 0, 0, rows, COLS), x, y[0], squares[0]));
    ok(dm_backend_probe(gpu, dm_view_sub(p.device, 0, 0, rows, COLS), x, y[1], squares[1]));
  }
  ok(dm_backend_settle(gpu));
  assert_memory_equal(y[0], y[1], ROWS * sizeof(double));
  assert_memory_equal(squares[0], squares[1], ROWS * sizeof(double));
  for (int i = 0; i < 2; i++) free(y[i]), free(squares[i]);
  free_pair(gpu, p);
}

static void check_fill(dm_backend *gpu, dm_dtype dtype, dm_generator generator) {
  const int64_t row = 12345, col = (1ll << 33) + 7;
  pair p = make_pair(gpu, dtype, 61, 1500, 3, (dm_generator){.kind = DM_CONSTANT});
  dm_fill(p.host, &generator, row, col);
  ok(dm_backend_fill(gpu, p.device, &generator, row, col));
  check_twin(gpu, p, dm_kind_name(generator.kind));
  free_pair(gpu, p);
}

TEST(test_fill) {
  dm_backend *gpu = *state;
  for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++)
    for (int kind = DM_UNIFORM; kind <= DM_HILBERT; kind++)
      for (double parameter = 2.0; parameter < 9.0; parameter += 6.0) /* f16: subnormal, infinite */
        check_fill(gpu, (dm_dtype)dtype,
                   (dm_generator){.kind = (dm_kind)kind, .seed = 42, .parameter = parameter});
}

CUDA_TESTS(test_cuda_verify)
