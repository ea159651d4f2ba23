/* Sums and dot products on the CPU, for every type and with gaps after rows, compared with the
 * plain arithmetic defined in backend.h. */
#include "backend/probe.h"
#include "cpu_cases.h"

enum { ROWS = 7, COLS = 611 };

static dm_view matrix(dm_dtype dtype, dm_kind kind, uint64_t seed) {
  return guarded(dtype, ROWS, COLS, kind, seed, dtype == DM_I8 ? 100.0 : 2e9);
}

static double sum_of(double alpha, double x, double beta, double y) {
  if (alpha == 0.0) return beta == 0.0 ? 0.0 : beta * y;
  return beta == 0.0 ? alpha * x : alpha * x + beta * y;
}

/* PLACE: Z is separate (0), X (1), or Y (2). Operands with factor 0 are NaN. */
static void check_add(dm_dtype dtype, double alpha, double beta, int place) {
  const bool whole = dtype == DM_I32;
  const dm_kind kind = whole ? DM_INTEGER : DM_NORMAL;
  dm_backend *backend = cpu_of(0, 1);
  dm_view x = matrix(dtype, kind, 1), y = matrix(dtype, kind, 2), own = matrix(dtype, kind, 3);
  const dm_generator nan = {.kind = DM_CONSTANT, .parameter = (double)NAN};
  if (!whole && alpha == 0.0 && place != 1) dm_fill(x, &nan, 0, 0);
  if (!whole && beta == 0.0 && place != 2) dm_fill(y, &nan, 0, 0);
  dm_view z = place == 0 ? own : place == 1 ? x : y;
  const int parts = dm_dtype_is_complex(dtype) ? 2 : 1;
  double *wide[2], got[2 * COLS];
  for (int i = 0; i < 2; i++) {
    wide[i] = malloc(sizeof(double) * 2 * ROWS * COLS);
    for (int64_t row = 0; row < ROWS; row++)
      dm_load_wide(wide[i] + row * COLS * parts, dm_view_at(i ? y : x, row, 0), dtype, 1, COLS);
  }
  ok(dm_backend_add(backend, z, x, y, alpha, beta));
  for (int64_t row = 0; row < ROWS; row++) {
    dm_load_wide(got, dm_view_at(z, row, 0), dtype, 1, COLS);
    for (int64_t j = 0; j < COLS * parts; j++) {
      const int64_t at = row * COLS * parts + j;
      double wanted = sum_of(alpha, wide[0][at], beta, wide[1][at]);
      if (dtype == DM_F32 || dtype == DM_C64) wanted = (double)(float)wanted;
      if (whole) wanted = (double)(int32_t)(uint32_t)(int64_t)wanted; /* below 2^53: exact */
      if (got[j] != wanted)
        fail_msg("%s, %g X + %g Y: element %lld is %.17g, not %.17g", dm_dtype_name(dtype), alpha,
                 beta, (long long)at, got[j], wanted);
    }
  }
  check_guards(z);
  free(wide[0]), free(wide[1]), free(x.base), free(y.base), free(own.base);
  dm_backend_close(backend);
}

TEST(add) {
  static const dm_dtype dtypes[] = {DM_F64, DM_F32, DM_C64, DM_C128, DM_I32};
  static const double factors[][2] = {{1, 1}, {-3, 7}, {1, 0}, {5, 0}, {0, -2}, {0, 1}, {0, 0}};
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++)
      for (int place = 0; place < 3; place++) {
        const double scale = dtypes[d] == DM_I32 ? 1.0 : 0.3;
        check_add(dtypes[d], factors[f][0] * scale, factors[f][1] * scale, place);
      }
}

/* Within the rounding of the additions, and reproducible. */
TEST(dot) {
  dm_backend *backend = cpu_of(0, 1);
  for (dm_dtype dtype = DM_F64; dtype < DM_DTYPE_COUNT; dtype++) {
    const dm_kind kind = dm_dtype_is_integer(dtype) ? DM_INTEGER : DM_NORMAL;
    dm_view x = matrix(dtype, kind, 1), y = matrix(dtype, kind, 2);
    const int parts = dm_dtype_is_complex(dtype) ? 2 : 1;
    long double wanted = 0.0L, size = 0.0L;
    double a[2 * COLS], b[2 * COLS], sum, again;
    for (int64_t i = 0; i < ROWS; i++) {
      dm_load_wide(a, dm_view_at(x, i, 0), dtype, 1, COLS);
      dm_load_wide(b, dm_view_at(y, i, 0), dtype, 1, COLS);
      for (int j = 0; j < COLS * parts; j++) {
        wanted += (long double)a[j] * b[j];
        size += fabsl((long double)a[j] * b[j]);
      }
    }
    ok(dm_backend_dot(backend, x, y, &sum));
    ok(dm_backend_dot(backend, x, y, &again));
    assert_true(sum == again);
    ok(dm_host_dot(NULL, dm_view_transpose(x), dm_view_transpose(y), &again));
    assert_true(sum == again);
    if (!(fabsl(sum - wanted) <= ROWS * COLS * parts * 0x1p-53L * size))
      fail_msg("%s: %.17g, not %.17Lg", dm_dtype_name(dtype), sum, wanted);
    free(x.base), free(y.base);
  }
  dm_backend_close(backend);
}

TEST(refused) {
  dm_backend *backend = cpu_of(0, 1);
  dm_view x = matrix(DM_F32, DM_NORMAL, 1), y = matrix(DM_F64, DM_NORMAL, 2);
  dm_view h = matrix(DM_F16, DM_NORMAL, 2), less = dm_view_sub(x, 0, 0, ROWS, COLS - 1);
  double sum;
  dm_status refusals[] = {
      dm_backend_add(backend, x, x, y, 1.0, 1.0), dm_backend_add(backend, x, less, x, 1.0, 1.0),
      dm_backend_add(backend, h, h, h, 1.0, 1.0), dm_backend_dot(backend, x, y, &sum),
      dm_backend_dot(backend, x, less, &sum),
  };
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
    fails(refusals[i], DM_E_BUG, "");
  free(x.base), free(y.base), free(h.base);
  dm_backend_close(backend);
}

RUN_ALL(test_backend_sums)
