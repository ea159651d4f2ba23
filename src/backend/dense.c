#include "backend/dense.h"

#include <cblas.h>
#include <float.h>
#include <limits.h>
#include <math.h>

#include "backend/cpu.h"
#include "core/buffer.h"
#include "core/checked.h"

#ifdef DAMIER_HAVE_LAPACK

/* LAPACK's Fortran symbols; the last numbers are the lengths of the texts. */
void dsyevr_(const char *job, const char *range, const char *half, const int *n, double *a,
             const int *lda, const double *vl, const double *vu, const int *il, const int *iu,
             const double *tolerance, int *found, double *w, double *z, const int *ldz,
             int *support, double *work, const int *work_size, int *whole, const int *whole_size,
             int *info, size_t, size_t, size_t);
void dpotrf_(const char *half, const int *n, double *a, const int *lda, int *info, size_t);

dm_status dm_dense_check(void) {
  return DM_OK;
}

/* A is symmetric, so it is its own transpose; vectors are columns for Fortran, rows here. */
static dm_status dense_call_eigen(int n, double *a, int count, double *w, double *vectors,
                                  int *support, double *work, int work_size, int *whole,
                                  int whole_size) {
  const int first = n - count + 1;
  const double none = 0.0, tolerance = 0.0;
  int found = 0, info = 0;
  dsyevr_("V", count < n ? "I" : "A", "L", &n, a, &n, &none, &none, &first, &n, &tolerance, &found,
          w, vectors, &n, support, work, &work_size, whole, &whole_size, &info, 1, 1, 1);
  return info == 0 && (work_size < 0 || found == count)
             ? DM_OK
             : dm_fail(DM_E_BUG, "LAPACK's dsyevr returned %d, %d of %d eigenvalues", info, found,
                       count);
}

static void dense_turn_round(int64_t count, int64_t n, double *w, double *vectors) {
  for (int64_t i = 0, j = count - 1; i < j; i++, j--) {
    const double value = w[i];
    w[i] = w[j];
    w[j] = value;
    cblas_dswap((int)n, vectors + i * n, 1, vectors + j * n, 1);
  }
}

dm_status dm_dense_eigen(int64_t n, double *a, int64_t count, double *values, double *vectors) {
  DM_FREED double *w = NULL, *work = NULL;
  DM_FREED int *whole = NULL, *support = NULL;
  double best = 0.0;
  int whole_best = 0;
  if (n > INT_MAX / 64)
    return dm_fail(DM_E_FIT, "a matrix of %lld rows has too many for LAPACK", (long long)n);
  DM_TRY(dm_buffer_table(n, &w));
  DM_TRY(dm_buffer_table(2 * n, &support));
  DM_TRY(dense_call_eigen((int)n, a, (int)count, w, vectors, support, &best, -1, &whole_best, -1));
  DM_TRY(dm_buffer_table((int64_t)best, &work));
  DM_TRY(dm_buffer_table(whole_best, &whole));
  DM_TRY(dense_call_eigen((int)n, a, (int)count, w, vectors, support, work, (int)best, whole,
                          whole_best));
  dense_turn_round(count, n, w, vectors);
  memcpy(values, w, (size_t)count * sizeof *w);
  return DM_OK;
}

/* M = L L^T, in the lower half of M as rows; false: it is not positive definite. */
static bool dense_factor(int64_t rows, double *m) {
  const int n = (int)rows;
  int info = 0;
  dpotrf_("U", &n, m, &n, &info, 1); /* the upper half of Fortran's columns */
  return info == 0;
}

#else

dm_status dm_dense_check(void) {
  return dm_hint(dm_fail(DM_E_DEVICE, "this build has no LAPACK"),
                 "build damier with OpenBLAS, MKL or another CBLAS library that has dsyevr");
}

dm_status dm_dense_eigen(int64_t n, double *a, int64_t count, double *values, double *vectors) {
  (void)n, (void)a, (void)count, (void)values, (void)vectors;
  return dm_dense_check();
}

static bool dense_factor(int64_t rows, double *m) {
  (void)rows, (void)m;
  return false;
}

#endif

void dm_dense_threads(int threads) {
  (void)dm_cpu_set_threads(threads);
}

void dm_dense_multiply(dm_dense_product how, int64_t m, int64_t n, int64_t k, const double *a,
                       const double *b, double *c) {
  if (m == 0 || n == 0) return;
  cblas_dgemm(CblasRowMajor, how.turn_a ? CblasTrans : CblasNoTrans,
              how.turn_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, how.alpha, a,
              (int)(how.turn_a ? m : k), b, (int)(how.turn_b ? k : n), how.adds ? 1.0 : 0.0, c,
              (int)n);
}

double dm_dense_norm(int64_t size, const double *x) {
  return cblas_dnrm2((int)size, x, 1);
}

/* M = P P^T, on and below the diagonal. */
static void dense_gram(int64_t rows, int64_t size, const double *p, double *m) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)rows, (int)size, 1.0, p, (int)size, 0.0,
              m, (int)rows);
}

static void dense_divide(int64_t rows, int64_t size, const double *factor, double *x) {
  cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)rows,
              (int)size, 1.0, factor, (int)rows, x, (int)size);
}

bool dm_dense_in_order(int64_t rows, double *m, int64_t size, double *x) {
  if (!dense_factor(rows, m)) return false;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = i + 1; j < rows; j++) m[i * rows + j] = 0.0;
  dense_divide(rows, size, m, x);
  return true;
}

static void dense_divide_all(int64_t rows, int64_t size, const double *factor, double *p,
                             const dm_dense_beside *beside) {
  dense_divide(rows, size, factor, p);
  if (!beside) return;
  if (beside->z) dense_divide(rows, beside->z_size, factor, beside->z);
  if (!beside->b) return;
  dense_divide(rows, rows, factor, beside->b);
  cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)rows, (int)rows,
              1.0, factor, (int)rows, beside->b, (int)rows);
}

/* One round of CholeskyQR; *shifted: with a shift, as P P^T has no factor (Fukaya and others,
 * 2020). */
static dm_status dense_round(int64_t rows, int64_t size, double *p, const dm_dense_beside *beside,
                             double *m, bool *shifted) {
  dense_gram(rows, size, p, m);
  double trace = 0.0;
  for (int64_t i = 0; i < rows; i++) trace += m[i * rows + i];
  *shifted = !dense_factor(rows, m);
  if (*shifted) {
    const double terms = (double)size * (double)rows + (double)rows * ((double)rows + 1.0);
    dense_gram(rows, size, p, m);
    for (int64_t i = 0; i < rows; i++)
      m[i * rows + i] += 11.0 * terms * (DBL_EPSILON / 2.0) * trace;
    if (!dense_factor(rows, m)) return dm_fail(DM_E_BUG, "vectors of a basis are not finite");
  }
  dense_divide_all(rows, size, m, p, beside);
  return DM_OK;
}

dm_status dm_dense_orthonormalise(int64_t rows, int64_t size, double *p,
                                  const dm_dense_beside *beside) {
  enum { DENSE_ROUNDS = 2, DENSE_MOST = 8 };
  DM_FREED double *m = NULL;
  int good = 0;
  DM_TRY(dm_buffer_table(rows * rows, &m));
  for (int round = 0; round < DENSE_MOST && good < DENSE_ROUNDS; round++) {
    bool shifted;
    DM_TRY(dense_round(rows, size, p, beside, m, &shifted));
    good = shifted ? 0 : good + 1;
  }
  return good == DENSE_ROUNDS ? DM_OK : dm_fail(DM_E_BUG, "vectors of a basis stay dependent");
}

dm_status dm_dense_orthogonality(int64_t rows, int64_t size, const double *p, double *loss) {
  DM_FREED double *m = NULL;
  DM_TRY(dm_buffer_table(rows * rows, &m));
  dense_gram(rows, size, p, m);
  *loss = 0.0;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j <= i; j++) *loss = fmax(*loss, fabs(m[i * rows + j] - (i == j)));
  return DM_OK;
}
