/* Eigenvalues of a matrix of scalar products, the small ones as exactly as the large ones. */
#include <math.h>
#include <string.h>

#include "backend/dense.h"
#include "core/buffer.h"

enum { GRADED_SWEEPS = 40 };

/* Rows I and J of X, of N numbers, turned by the angle of cosine C and sine S. */
static void turn_lines(int64_t n, double *x, int64_t i, int64_t j, double c, double s) {
  double *xi = x + i * n, *xj = x + j * n;
  for (int64_t l = 0; l < n; l++) {
    const double a = xi[l], b = xj[l];
    xi[l] = c * a - s * b;
    xj[l] = s * a + c * b;
  }
}

/* Makes A(I, J) vanish. The diagonal is changed by what is small beside it. */
static void turn_pair(int64_t n, double *a, double *v, int64_t i, int64_t j) {
  const double small = a[i * n + j], ii = a[i * n + i], jj = a[j * n + j];
  const double theta = (jj - ii) / (2.0 * small);
  const double t = copysign(1.0, theta) / (fabs(theta) + hypot(theta, 1.0));
  const double c = 1.0 / hypot(t, 1.0), s = t * c;
  turn_lines(n, a, i, j, c, s);
  for (int64_t l = 0; l < n; l++) {
    a[l * n + i] = a[i * n + l];
    a[l * n + j] = a[j * n + l];
  }
  a[i * n + i] = ii - t * small;
  a[j * n + j] = jj + t * small;
  a[i * n + j] = a[j * n + i] = 0.0;
  turn_lines(n, v, i, j, c, s);
}

/* One pass over all pairs; whether any of them was turned. */
static bool turn_pairs(int64_t n, double *a, double *v) {
  bool turned = false;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++) {
      const double both = sqrt(fmax(0.0, a[i * n + i])) * sqrt(fmax(0.0, a[j * n + j]));
      if (!(fabs(a[i * n + j]) > 0x1p-52 * both) || both == 0.0) continue;
      turn_pair(n, a, v, i, j);
      turned = true;
    }
  return turned;
}

dm_status dm_dense_eigen_graded(int64_t n, double *a, int64_t count, double *values,
                                double *vectors) {
  DM_FREED double *v = NULL;
  DM_TRY(dm_buffer_table(n * n, &v));
  for (int64_t i = 0; i < n; i++) v[i * n + i] = 1.0;
  int sweeps = 0;
  while (turn_pairs(n, a, v))
    if (++sweeps == GRADED_SWEEPS)
      return dm_fail(DM_E_BUG, "the eigenvalues of %lld products did not converge", (long long)n);
  for (int64_t i = 0; i < count; i++) { /* the largest that is left */
    int64_t best = -1;
    for (int64_t j = 0; j < n; j++)
      if (!isnan(a[j * n + j]) && (best < 0 || a[j * n + j] > a[best * n + best])) best = j;
    if (best < 0) return dm_fail(DM_E_BUG, "an eigenvalue is NaN");
    values[i] = a[best * n + best];
    memcpy(vectors + i * n, v + best * n, (size_t)n * sizeof *v);
    a[best * n + best] = NAN;
  }
  return DM_OK;
}
