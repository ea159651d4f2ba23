/* spoil_shim: a cblas_dgemm of which one call is wrong in one element: call SPOIL_CALL of rank
 * SPOIL_RANK. */
#include <dlfcn.h>
#include <stdlib.h>

typedef void product(int, int, int, int, int, int, double, const double *, int, const double *, int,
                     double, double *, int);

static int rank_here(void) {
  const char *open_mpi = getenv("OMPI_COMM_WORLD_RANK"), *mpich = getenv("PMI_RANK");
  return open_mpi ? atoi(open_mpi) : mpich ? atoi(mpich) : 0;
}

static int is_spoilt(void) {
  static int calls;
  const char *call = getenv("SPOIL_CALL"), *rank = getenv("SPOIL_RANK");
  return call && rank && calls++ == atoi(call) && rank_here() == atoi(rank);
}

void cblas_dgemm(int order, int op_a, int op_b, int m, int n, int k, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc) {
  static product *real;
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "cblas_dgemm");
  if (!real) abort();
  real(order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (is_spoilt()) c[0] += 1e-6 * (c[0] < 0 ? -1 : 1) * (double)k;
}
