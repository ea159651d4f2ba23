/* Products of f32 and c64 from f16 (--compute f32:f16) on the CPU, compared with exact sums. */
#include "core/compute.h"
#include "cpu_cases.h"
#include "split_cases.h"

static dm_backend *split_of(int64_t tile) {
  dm_compute row;
  dm_compute_choice choice;
  dm_backend *backend;
  assert_true(dm_compute_parse("f32:f16", &choice));
  ok(dm_compute_choose(choice, DM_F32, 100, &row));
  dm_backend_config config = {
      .local_ranks = 1, .threads = 1, .tile = tile, .compute = &row, .kernel = "auto"};
  ok(dm_backend_open(&dm_backend_cpu, &config, &backend));
  return backend;
}

/* High and low parts represent a number to 23 bits, small ones to 2^-36; scaled, the largest is
 * below the maximum of f16. */
TEST(parts) {
  for (int e = -149; e < 128; e++)
    for (int i = 0; i < 300; i++) {
      const float x = (float)ldexp(1.0 + i / 300.0, e);
      dm_split_line line = dm_split_include(dm_split_nothing(), x);
      const int32_t s = dm_split_exponent(line);
      assert_int_equal(s == DM_SPLIT_NATIVE, e < -111);
      if (s == DM_SPLIT_NATIVE) continue;
      const double scaled = ldexp(x, s);
      if (scaled > 65504.0 || scaled < 32750.0) fail_msg("%g is scaled to %g", x, scaled);
      assert_true(x * dm_split_scale(s) == (float)scaled);
      for (int down = 0; down < 40; down++) {
        const float part = (float)ldexp(scaled, -down);
        const float high = dm_f16_to_f32(dm_f64_to_f16((double)part));
        const float low = dm_f16_to_f32(dm_f64_to_f16((double)((part - high) * 0x1p11f)));
        const double lost = fabs((double)part - ((double)high + (double)low * 0x1p-11));
        if (lost > fmax(0x1p-23 * part, 0x1p-36)) fail_msg("%g of %g is lost", lost, part);
      }
    }
}

/* A row or column with one number 2^-DOWN times the others has no exponent beyond 33 or 34 binades.
 */
TEST(lines) {
  for (int down = 0; down < 60; down++) {
    dm_split_line line = dm_split_include(dm_split_nothing(), -1.0f);
    line = dm_split_include(dm_split_include(line, 0.0f), ldexpf(1.0f, -down));
    assert_int_equal(dm_split_exponent(line) == DM_SPLIT_NATIVE, down > 33);
  }
  const float special[] = {NAN, -INFINITY, INFINITY};
  for (int i = 0; i < 3; i++)
    assert_int_equal(dm_split_exponent(dm_split_include(dm_split_nothing(), special[i])),
                     DM_SPLIT_NATIVE);
  assert_int_equal(dm_split_exponent(dm_split_nothing()), 0);
}

/* C = A B, then C += A B. */
static void check_product(dm_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t tile,
                          split_data data) {
  dm_backend *backend = split_of(tile);
  const dm_view a = guarded(dtype, m, k, DM_NORMAL, 1, 1);
  const dm_view b = guarded(dtype, k, n, DM_NORMAL, 2, 1);
  const dm_view c = guarded(dtype, m, n, DM_NORMAL, 3, 1);
  const size_t row = (size_t)(n * dm_dtype_size(dtype));
  float *old = malloc((size_t)m * row);
  assert_non_null(old);
  split_fill(a, data, SPLIT_A);
  split_fill(b, data, SPLIT_B);
  for (int64_t i = 0; i < m; i++) memset(dm_view_at(c, i, 0), 0xff, row);
  dm_event done;
  ok(dm_backend_gemm(backend, c, a, b, false, &done));
  ok(dm_backend_wait(backend, done));
  split_check(c, a, b, NULL, data);
  dm_copy(dm_view_row_major(old, dtype, m, n), c, false);
  ok(dm_backend_gemm(backend, c, a, b, true, &done));
  ok(dm_backend_wait(backend, done));
  split_check(c, a, b, old, data);
  check_guards(c);
  free(a.base), free(b.base), free(c.base), free(old);
  dm_backend_close(backend);
}

TEST(products) {
  static const int64_t shapes[][3] = {{1, 1, 1},      {7, 5, 3},      {64, 129, 70},
                                      {33, 65, 1000}, {130, 40, 257}, {600, 3, 130}};
  for (split_data data = 0; data < SPLIT_DATA; data++)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
      const int64_t *shape = shapes[s], tile = s % 2 ? 64 : 0;
      check_product(DM_F32, shape[0], shape[1], shape[2], tile, data);
      check_product(DM_C64, shape[0], shape[1], shape[2], tile, data);
    }
  check_product(DM_C64, 3, 1030, 65, 0, SPLIT_NORMAL); /* wider than a piece */
}

/* Rows and columns without an exponent are counted; the others keep their bits. In complex numbers
 * one such part is enough. */
static void check_native_lines(dm_dtype dtype) {
  dm_backend *backend = split_of(0);
  const int64_t parts = dm_dtype_is_complex(dtype) ? 2 : 1, k = 100 / parts;
  const dm_view a = guarded(dtype, 40, k, DM_NORMAL, 1, 1);
  const dm_view b = guarded(dtype, k, 50, DM_NORMAL, 2, 1);
  const dm_view c[] = {guarded(dtype, 40, 50, DM_NORMAL, 3, 1),
                       guarded(dtype, 40, 50, DM_NORMAL, 3, 1)};
  int64_t lines[2];
  dm_event done;
  for (int i = 0; i < 2; i++) {
    ok(dm_backend_gemm(backend, c[i], a, b, false, &done));
    ok(dm_backend_wait(backend, done));
    ok(dm_backend_natively(backend, &lines[i]));
    ((float *)dm_view_at(a, 7, 3))[parts - 1] = 1e-20f;
    ((float *)dm_view_at(b, k - 1, 13))[parts - 1] = NAN;
    *(float *)dm_view_at(b, 0, 49) = 1e30f;
  }
  assert_int_equal(lines[0], 0);
  assert_int_equal(lines[1], 3);
  for (int64_t i = 0; i < 40; i++)
    for (int64_t j = 0; j < 49; j++)
      if (i != 7 && j != 13)
        assert_memory_equal(dm_view_at(c[0], i, j), dm_view_at(c[1], i, j),
                            (size_t)dm_dtype_size(dtype));
  for (int64_t i = 0; i < 40; i++)
    for (int64_t part = 0; part < parts; part++)
      assert_true(isnan(((float *)dm_view_at(c[1], i, 13))[part]));
  for (int i = 0; i < 2; i++) free(c[i].base);
  free(a.base), free(b.base);
  dm_backend_close(backend);
}

TEST(native_lines) {
  check_native_lines(DM_F32);
  check_native_lines(DM_C64);
}

RUN_ALL(test_backend_split)
