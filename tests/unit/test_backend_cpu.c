/* Products on the CPU: every type, odd strides, in pieces and as a whole; and the sums of the
 * check. */
#include "backend/cpu.h"
#include "cpu_cases.h"

static dm_view matrix(dm_dtype dtype, int64_t rows, int64_t cols, dm_kind kind, uint64_t seed) {
  return guarded(dtype, rows, cols, kind, seed, 8);
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
  }
  check_guards(c);
}

/* Integers: C = A B, then C += A B twice, exactly; C's memory starts as NaN. */
TEST(products) {
  static const int64_t shapes[][3] = {{1, 1, 1},     {5, 7, 3},    {1, 130, 65}, {130, 1, 1030},
                                      {33, 65, 257}, {300, 20, 9}, {2, 3, 2200}};
  for (dm_dtype work = DM_F64; work <= DM_I8; work++) {
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
      dm_backend *backend = cpu_of(s % 2 ? 64 : 0, 1);
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

/* Half of LEFT times its transpose, twice added up, and mirrored. */
static void try_square(dm_backend *backend, dm_view c, dm_view left) {
  dm_event done;
  ok(dm_backend_syrk(backend, c, left, false, &done));
  ok(dm_backend_syrk(backend, c, left, true, &done));
  ok(dm_backend_mirror(backend, c, 0, false, &done));
  ok(dm_backend_wait(backend, done));
  compare(c, left, dm_view_transpose(left), 2);
}

/* Operands by columns, in each place; and squares of A and its transpose, which are mirrored. */
TEST(transposed_operands) {
  enum { N = 70, DEPTH = 1100 };
  for (dm_dtype work = DM_F64; work <= DM_I8; work++) {
    dm_backend *backend = cpu_of(0, 1);
    dm_view rows = matrix(work, N, DEPTH, DM_INTEGER, 1),
            other = matrix(work, N, DEPTH, DM_INTEGER, 2);
    dm_view turned = matrix(work, DEPTH, N, DM_INTEGER, 3);
    dm_view c = matrix(dm_compute_sum(work), N, N, DM_CONSTANT, 4);
    const dm_view lefts[] = {rows, dm_view_transpose(turned)};
    const dm_view rights[] = {turned, dm_view_transpose(other)};
    dm_event done;
    for (int l = 0; l < 2; l++)
      for (int r = 0; r < 2; r++) {
        ok(dm_backend_gemm(backend, c, lefts[l], rights[r], false, &done));
        ok(dm_backend_wait(backend, done));
        compare(c, lefts[l], rights[r], 1);
      }
    for (int l = 0; l < 2; l++) try_square(backend, c, lefts[l]);
    free(rows.base), free(other.base), free(turned.base), free(c.base);
    dm_backend_close(backend);
  }
}

/* Half of a square that several threads share in strips, and one that is too small for that. */
TEST(halves) {
  enum { DEPTH = 3 };
  static const int64_t sizes[] = {1760, 1700};
  for (dm_dtype work = DM_F64; work <= DM_F32; work++)
    for (int s = 0; s < 2; s++) {
      dm_backend *backend = cpu_of(0, 2);
      dm_view rows = matrix(work, sizes[s], DEPTH, DM_INTEGER, 1);
      dm_view cols = matrix(work, DEPTH, sizes[s], DM_INTEGER, 2);
      dm_view c = matrix(work, sizes[s], sizes[s], DM_CONSTANT, 3);
      const dm_view lefts[] = {rows, dm_view_transpose(cols)};
      assert_true(dm_backend_halves(backend, work, sizes[s]) == (s == 0));
      for (int l = 0; l < 2; l++) try_square(backend, c, lefts[l]);
      free(rows.base), free(cols.base), free(c.base);
      dm_backend_close(backend);
    }
}

/* A C of one column or one row, of operands in either order, whose lines are not packed. */
TEST(vectors) {
  enum { N = 70, DEPTH = 130 };
  for (dm_dtype work = DM_F64; work <= DM_I8; work++)
    for (int one = 0; one < 3; one++) {
      const int64_t m = one == 1 ? N : 1, n = one == 2 ? N : 1;
      dm_backend *backend = cpu_of(0, 1);
      dm_view a[] = {matrix(work, m, DEPTH, DM_INTEGER, 1), matrix(work, DEPTH, m, DM_INTEGER, 2)};
      dm_view b[] = {matrix(work, DEPTH, n, DM_INTEGER, 3), matrix(work, n, DEPTH, DM_INTEGER, 4)};
      const dm_view lefts[] = {a[0], dm_view_transpose(a[1])};
      const dm_view rights[] = {b[0], dm_view_transpose(b[1])};
      dm_view c = matrix(dm_compute_sum(work), m, n, DM_CONSTANT, 5);
      for (int64_t i = 0; i < m; i++)
        memset(dm_view_at(c, i, 0), 0xff, (size_t)(n * dm_dtype_size(c.dtype))); /* NaN */
      dm_event done;
      for (int l = 0; l < 2; l++)
        for (int r = 0; r < 2; r++) {
          for (int i = 0; i < 2; i++)
            ok(dm_backend_gemm(backend, c, lefts[l], rights[r], i > 0, &done));
          ok(dm_backend_wait(backend, done));
          compare(c, lefts[l], rights[r], 2);
        }
      free(a[0].base), free(a[1].base), free(b[0].base), free(b[1].base), free(c.base);
      dm_backend_close(backend);
    }
}

/* Each test of a product computes a piece; with any number of pieces the bits are those of waiting.
 */
TEST(pieces) {
  for (dm_dtype work = DM_F64; work <= DM_I8; work++) {
    dm_backend *backend = cpu_of(32, 1);
    dm_view a = matrix(work, 150, 90, DM_NORMAL, 1), b = matrix(work, 90, 101, DM_NORMAL, 2);
    dm_view c[2];
    dm_event event;
    for (int i = 0; i < 2; i++) c[i] = matrix(dm_compute_sum(work), 150, 101, DM_CONSTANT, 3);
    ok(dm_backend_gemm(backend, c[0], a, b, false, &event));
    ok(dm_backend_wait(backend, event));
    ok(dm_backend_gemm(backend, c[1], a, b, false, &event));
    int asked = 0;
    for (bool done = false; !done; asked++) ok(dm_backend_test(backend, event, &done));
    assert_int_equal(asked, dm_dtype_is_short(work) ? 5 * 4 : 5);
    for (int64_t i = 0; i < 150; i++)
      assert_memory_equal(dm_view_at(c[0], i, 0), dm_view_at(c[1], i, 0),
                          (size_t)(101 * dm_dtype_size(c[0].dtype)));
    free(a.base), free(b.base), free(c[0].base), free(c[1].base);
    dm_backend_close(backend);
  }
}

/* Tiles have the same bits on any number of threads. */
TEST(threads_and_bits) {
  for (dm_dtype work = DM_F64; work <= DM_I8; work++) {
    dm_view a = matrix(work, 333, 190, DM_NORMAL, 1), b = matrix(work, 190, 201, DM_NORMAL, 2);
    dm_view c[4];
    for (int i = 0; i < 4; i++) {
      dm_event event;
      dm_backend *backend = cpu_of(64, i == 3 ? 7 : i + 1);
      c[i] = matrix(dm_compute_sum(work), 333, 201, DM_CONSTANT, 3);
      for (int again = 0; again < 2; again++)
        ok(dm_backend_gemm(backend, c[i], a, b, again, &event));
      ok(dm_backend_wait(backend, event));
      dm_backend_close(backend);
      for (int64_t r = 0; r < 333; r++)
        assert_memory_equal(dm_view_at(c[0], r, 0), dm_view_at(c[i], r, 0),
                            (size_t)(201 * dm_dtype_size(c[0].dtype)));
    }
    for (int i = 0; i < 4; i++) free(c[i].base);
    free(a.base), free(b.base);
  }
}

/* Posts more products into one C than the queue holds: all are added. */
TEST(many_posted) {
  dm_backend *backend = cpu_of(0, 1);
  dm_view a = matrix(DM_F64, 9, 11, DM_INTEGER, 1), b = matrix(DM_F64, 11, 7, DM_INTEGER, 2);
  dm_view c = matrix(DM_F64, 9, 7, DM_CONSTANT, 3);
  dm_event event = 0;
  for (int i = 0; i < 200; i++) ok(dm_backend_gemm(backend, c, a, b, i > 0, &event));
  ok(dm_backend_wait(backend, event));
  compare(c, a, b, 200);
  free(a.base), free(b.base), free(c.base);
  dm_backend_close(backend);
}

RUN_ALL(test_backend_cpu)
