/* Products of f32 from f16 (--compute f32:f16) on the CPU, against exact sums. */
#include "core/compute_choice.h"
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

/* High and low parts hold a number to 23 bits, small ones to 2^-36; scaled, the largest is below
 * the largest f16. */
TEST(parts) {
  for (int e = -149; e < 128; e++)
    for (int i = 0; i < 300; i++) {
      const float x = (float)ldexp(1.0 + i / 300.0, e);
      dm_split_line line = dm_split_look(dm_split_nothing(), x);
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

/* A line of which one number is 2^-DOWN of the others has no exponent beyond 33 or 34 binades. */
TEST(lines) {
  for (int down = 0; down < 60; down++) {
    dm_split_line line = dm_split_look(dm_split_nothing(), -1.0f);
    line = dm_split_look(dm_split_look(line, 0.0f), ldexpf(1.0f, -down));
    assert_int_equal(dm_split_exponent(line) == DM_SPLIT_NATIVE, down > 33);
  }
  const float special[] = {NAN, -INFINITY, INFINITY};
  for (int i = 0; i < 3; i++)
    assert_int_equal(dm_split_exponent(dm_split_look(dm_split_nothing(), special[i])),
                     DM_SPLIT_NATIVE);
  assert_int_equal(dm_split_exponent(dm_split_nothing()), 0);
}

/* C = A B, then C += A B, of all kinds of data. */
TEST(products) {
  static const int64_t shapes[][3] = {{1, 1, 1},      {7, 5, 3},      {64, 129, 70},
                                      {33, 65, 1000}, {130, 40, 257}, {600, 3, 130}};
  for (split_data data = 0; data < SPLIT_DATA; data++)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
      const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
      dm_backend *backend = split_of(s % 2 ? 64 : 0);
      const dm_view a = guarded(DM_F32, m, k, DM_NORMAL, 1, 1);
      const dm_view b = guarded(DM_F32, k, n, DM_NORMAL, 2, 1);
      const dm_view c = guarded(DM_F32, m, n, DM_NORMAL, 3, 1);
      float *old = malloc((size_t)(m * n) * sizeof *old);
      assert_non_null(old);
      split_fill(a, data, SPLIT_A);
      split_fill(b, data, SPLIT_B);
      for (int64_t i = 0; i < m; i++) memset(dm_view_at(c, i, 0), 0xff, (size_t)n * sizeof(float));
      dm_event done;
      ok(dm_backend_gemm(backend, c, a, b, false, &done));
      ok(dm_backend_wait(backend, done));
      split_check(c, a, b, NULL, data);
      dm_copy(dm_view_row_major(old, DM_F32, m, n), c, false);
      ok(dm_backend_gemm(backend, c, a, b, true, &done));
      ok(dm_backend_wait(backend, done));
      split_check(c, a, b, old, data);
      check_guards(c);
      free(a.base), free(b.base), free(c.base), free(old);
      dm_backend_close(backend);
    }
}

/* Rows and columns without an exponent are counted; the others keep their bits. */
TEST(native_lines) {
  dm_backend *backend = split_of(0);
  const dm_view a = guarded(DM_F32, 40, 100, DM_NORMAL, 1, 1);
  const dm_view b = guarded(DM_F32, 100, 50, DM_NORMAL, 2, 1);
  const dm_view c[] = {guarded(DM_F32, 40, 50, DM_NORMAL, 3, 1),
                       guarded(DM_F32, 40, 50, DM_NORMAL, 3, 1)};
  int64_t lines[2];
  dm_event done;
  for (int i = 0; i < 2; i++) {
    ok(dm_backend_gemm(backend, c[i], a, b, false, &done));
    ok(dm_backend_wait(backend, done));
    ok(dm_backend_natively(backend, &lines[i]));
    *(float *)dm_view_at(a, 7, 3) = 1e-20f;
    *(float *)dm_view_at(b, 99, 13) = NAN;
    *(float *)dm_view_at(b, 0, 49) = 1e30f;
  }
  assert_int_equal(lines[0], 0);
  assert_int_equal(lines[1], 3);
  for (int64_t i = 0; i < 40; i++)
    for (int64_t j = 0; j < 49; j++)
      if (i != 7 && j != 13)
        assert_true(*(float *)dm_view_at(c[0], i, j) == *(float *)dm_view_at(c[1], i, j));
  for (int64_t i = 0; i < 40; i++) assert_true(isnan(*(float *)dm_view_at(c[1], i, 13)));
  for (int i = 0; i < 2; i++) free(c[i].base);
  free(a.base), free(b.base);
  dm_backend_close(backend);
}

RUN_ALL(test_backend_split)
