/* dense: small dense problems in f64 in host memory, solved by the BLAS library and its LAPACK.
 *
 * Matrices are row-major and packed; sets of vectors have a vector in each row. */
#ifndef DM_BACKEND_DENSE_H
#define DM_BACKEND_DENSE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"

/* Whether the linked library has LAPACK. DM_E_DEVICE: it does not. */
dm_status dm_dense_check(void);

/* The threads of the library, for the calls below. */
void dm_dense_threads(int threads);

/* The COUNT largest eigenvalues of the symmetric A, N x N, which is destroyed, in descending order,
 * and their VECTORS, COUNT x N. DM_E_FIT; DM_E_BUG: no convergence. */
dm_status dm_dense_eigen(int64_t n, double *a, int64_t count, double *values, double *vectors);

/* The same of A = Y Y^T of N lines Y, by Jacobi's rotations: where lines of Y are nearly
 * orthogonal, small eigenvalues have as many digits as large ones (Demmel, Veselic 1992), and
 * dsyevr's have lost those below the rounding of the largest. Takes some ten N^3 operations.
 * (dense_graded.c) */
dm_status dm_dense_eigen_graded(int64_t n, double *a, int64_t count, double *values,
                                double *vectors);

/* C (+)= ALPHA op(A) op(B), op: transposed or not. C is M x N, the sums have K terms. */
typedef struct dm_dense_product {
  double alpha;
  bool turn_a, turn_b, adds;
} dm_dense_product;
void dm_dense_multiply(dm_dense_product how, int64_t m, int64_t n, int64_t k, const double *a,
                       const double *b, double *c);

/* Makes the ROWS vectors of P, of SIZE numbers, orthonormal by CholeskyQR2: P becomes L^-1 P. Where
 * P P^T is too close to singular for a Cholesky factor, the first factor is of a shifted one, and
 * there are three. Z (ROWS x Z_SIZE; NULL: none) becomes L^-1 Z, and B, ROWS x ROWS (NULL: none),
 * L^-1 B L^-T. DM_E_BUG: they stay dependent. */
typedef struct dm_dense_beside {
  double *z;
  int64_t z_size;
  double *b;
} dm_dense_beside;
dm_status dm_dense_orthonormalise(int64_t rows, int64_t size, double *p,
                                  const dm_dense_beside *beside);

/* Gram and Schmidt: orthonormal vectors Q of those of P, in their order, from M = P P^T alone. M
 * becomes L, with P = L Q, and X, of SIZE columns, L^-1 X; false: it has no factor. */
bool dm_dense_in_order(int64_t rows, double *m, int64_t size, double *x);

/* The largest element of |P P^T - 1|. */
dm_status dm_dense_orthogonality(int64_t rows, int64_t size, const double *p, double *loss);

double dm_dense_norm(int64_t size, const double *x);

#endif
