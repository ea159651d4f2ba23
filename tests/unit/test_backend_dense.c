/* Small dense problems: eigenvalues, and bases that are made orthonormal. */
#include <math.h>

#include "backend/dense.h"
#include "checks.h"

/* The second difference matrix, whose eigenvalues are 2 - 2 cos(pi j / (n + 1)). */
TEST(test_dense_eigenvalues_come_largest_first) {
  enum { N = 20, COUNT = 3 };
  double a[N * N] = {0}, values[COUNT], vectors[COUNT * N], loss;
  for (int i = 0; i < N; i++) {
    a[i * N + i] = 2.0;
    if (i > 0) a[i * N + i - 1] = a[(i - 1) * N + i] = -1.0;
  }
  assert_null(dm_dense_eigen(N, a, COUNT, values, vectors));
  for (int j = 0; j < COUNT; j++)
    assert_true(fabs(values[j] - (2.0 - 2.0 * cos(M_PI * (N - j) / (N + 1)))) < 1e-13);
  for (int i = 1; i < N - 1; i++)
    assert_true(fabs(2.0 * vectors[i] - vectors[i - 1] - vectors[i + 1] - values[0] * vectors[i]) <
                1e-13);
  assert_null(dm_dense_orthogonality(COUNT, N, vectors, &loss));
  assert_true(loss < 1e-14);
}

/* Vectors that agree in all but their last digits; what is beside them follows. */
TEST(test_dense_close_vectors_become_orthonormal) {
  enum { ROWS = 3, SIZE = 50 };
  double p[ROWS * SIZE], z[ROWS * SIZE], loss;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < SIZE; j++) {
      p[i * SIZE + j] = 1.0 + 1e-9 * sin(1.0 + i * 7 + j * 3);
      z[i * SIZE + j] = 4.0 * p[i * SIZE + j];
    }
  const dm_dense_beside beside = {z, SIZE, NULL};
  assert_null(dm_dense_orthonormalise(ROWS, SIZE, p, &beside));
  assert_null(dm_dense_orthogonality(ROWS, SIZE, p, &loss));
  assert_true(loss < 1e-14);
  for (int i = 0; i < ROWS * SIZE; i++) assert_true(fabs(z[i] - 4.0 * p[i]) < 1e-5);
}

RUN_ALL(test_backend_dense)
