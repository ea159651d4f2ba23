/* Products on the CPU: every type, odd strides, in pieces as in one go; and the sums of the check.
 */
#include "checks.h"

#include "backend/cpu.h"
#include "core/copy.h"
#include "core/fill.h"

enum { PAD = 5, GUARD = 0x5c };

/* A generated matrix with PAD guard elements behind each row. */
static dm_view matrix(dm_dtype dtype, int64_t rows, int64_t cols, dm_kind kind, uint64_t seed) {
  int64_t bytes = (rows * (cols + PAD) + 1) * dm_dtype_size(dtype);
  void *memory = malloc((size_t)bytes);
  assert_non_null(memory);
  memset(memory, GUARD, (size_t)bytes);
  dm_view view = dm_view_strided(memory, dtype, DM_HOST, rows, cols, cols + PAD);
  dm_fill(view, &(dm_generator){.kind = kind, .seed = seed, .parameter = 8}, 0, 0);
  return view;
}

static dm_backend *cpu(int64_t tile) {
  dm_backend_config config = {.local_ranks = 1, .threads = 1, .tile = tile, .kernel = "auto"};
  dm_backend *backend;
  ok(dm_backend_open(&dm_backend_cpu, &config, &backend));
  return backend;
}

static void load(dm_view view, int64_t i, int64_t j, double value[2]) {
  value[1] = 0.0;
  dm_load_wide(value, dm_view_at(view, i, j), view.dtype, 1, 1);
}

static void compare(dm_view c, dm_view a, dm_view b, int times) {
  for (int64_t i = 0; i < c.rows; i++) {
    for (int64_t j = 0; j < c.cols; j++) {
      double sum[2] = {0.0, 0.0}, got[2], x[2], y[2];
      for (int64_t k = 0; k < a.cols; k++) {
        load(a, i, k, x);
        load(b, k, j, y);
        sum[0] += x[0] * y[0] - x[1] * y[1];
        sum[1] += x[0] * y[1] + x[1] * y[0];
      }
      load(c, i, j, got);
      if (got[0] != times * sum[0] || got[1] != times * sum[1])
        fail_msg("%s, %lld x %lld x %lld: C(%lld, %lld) = %g, wanted %g", dm_dtype_name(a.dtype),
                 (long long)c.rows, (long long)c.cols, (long long)a.cols, (long long)i,
                 (long long)j, got[0], times * sum[0]);
    }
    const unsigned char *behind = dm_view_at(c, i, c.cols - 1);
    behind += dm_dtype_size(c.dtype);
    for (int64_t p = 0; p < PAD * dm_dtype_size(c.dtype); p++) assert_int_equal(behind[p], GUARD);
  }
}

/* Whole numbers: C = A B, then C += A B twice, exactly; the memory of C begins as NaN. */
static void products(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{1, 1, 1},     {5, 7, 3},    {1, 130, 65}, {130, 1, 1030},
                                      {33, 65, 257}, {300, 20, 9}, {2, 3, 2200}};
  for (dm_dtype work = DM_F64; work <= DM_I8; work++) {
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
      dm_backend *backend = cpu(s % 2 ? 64 : 0);
      const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
      dm_view a = matrix(work, m, k, DM_INTEGER, 1), b = matrix(work, k, n, DM_INTEGER, 2);
      dm_view c = matrix(dm_compute_sum(work), m, n, DM_CONSTANT, 3);
      for (int64_t i = 0; i < m; i++)
        memset(dm_view_at(c, i, 0), 0xff, (size_t)(n * dm_dtype_size(c.dtype)));
      dm_event events[3];
      for (int i = 0; i < 3; i++) ok(dm_backend_gemm(backend, c, a, b, i > 0, &events[i]));
      ok(dm_backend_wait(backend, events[0]));
      compare(c, a, b, 1);
      ok(dm_backend_wait(backend, events[2]));
      compare(c, a, b, 3);
      free(a.base), free(b.base), free(c.base);
      dm_backend_close(backend);
    }
  }
}

/* Asking after a product computes a piece; as many as there are, the bits are those of waiting. */
static void pieces(void **state) {
  (void)state;
  for (dm_dtype work = DM_F64; work <= DM_I8; work++) {
    dm_backend *backend = cpu(32);
    dm_view a = matrix(work, 150, 90, DM_NORMAL, 1), b = matrix(work, 90, 101, DM_NORMAL, 2);
    dm_view c[2];
    dm_event event;
    for (int i = 0; i < 2; i++) c[i] = matrix(dm_compute_sum(work), 150, 101, DM_CONSTANT, 3);
    ok(dm_backend_gemm(backend, c[0], a, b, false, &event));
    ok(dm_backend_wait(backend, event));
    ok(dm_backend_gemm(backend, c[1], a, b, false, &event));
    int asked = 0;
    for (bool done = false; !done; asked++) ok(dm_backend_test(backend, event, &done));
    assert_int_equal(asked, 5 * 4);
    for (int64_t i = 0; i < 150; i++)
      assert_memory_equal(dm_view_at(c[0], i, 0), dm_view_at(c[1], i, 0),
                          (size_t)(101 * dm_dtype_size(c[0].dtype)));
    free(a.base), free(b.base), free(c[0].base), free(c[1].base);
    dm_backend_close(backend);
  }
}

/* More posted than the queue holds, into one C: all are added. */
static void many_posted(void **state) {
  (void)state;
  dm_backend *backend = cpu(0);
  dm_view a = matrix(DM_F64, 9, 11, DM_INTEGER, 1), b = matrix(DM_F64, 11, 7, DM_INTEGER, 2);
  dm_view c = matrix(DM_F64, 9, 7, DM_CONSTANT, 3);
  dm_event event = 0;
  for (int i = 0; i < 200; i++) ok(dm_backend_gemm(backend, c, a, b, i > 0, &event));
  ok(dm_backend_wait(backend, event));
  compare(c, a, b, 200);
  free(a.base), free(b.base), free(c.base);
  dm_backend_close(backend);
}

TEST_PROGRAM(test_backend_cpu) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products),
      cmocka_unit_test(pieces),
      cmocka_unit_test(many_posted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
