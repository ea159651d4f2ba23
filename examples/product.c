/* C = A B of matrices in memory: rank r has some rows of A and C; B is on rank 0.
 *     mpicc product.c $(pkg-config --cflags --libs damier) && mpirun -n 3 ./a.out */
#include <damier.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 300, N = 200, K = 400 };

int main(void) {
  int provided, rank, ranks;
  damier_context *context;
  damier_error error;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int64_t own = M * (rank + 1) / ranks - M * rank / ranks;
  double *a = malloc(sizeof *a * own * K), *c = malloc(sizeof *c * own * N);
  double *b = rank == 0 ? malloc(sizeof *b * K * N) : NULL;
  for (int64_t i = 0; i < own * K; i++) a[i] = 1.0;
  for (int64_t i = 0; i < K * N && b; i++) b[i] = 2.0;

  const damier_matrix ma = damier_by_rows(DAMIER_F64, M, K, own, a, 0);
  const damier_matrix mb = damier_on_one(DAMIER_F64, K, N, 0, b, 0);
  const damier_matrix mc = damier_by_rows(DAMIER_F64, M, N, own, c, 0);
  int failed = damier_open(MPI_COMM_WORLD, &context, &error);
  if (!failed) failed = damier_multiply(context, &ma, &mb, &mc, &error);
  if (failed) fprintf(stderr, "%s\n%s\n", error.message, error.hint);
  if (failed && !error.agreed) MPI_Abort(MPI_COMM_WORLD, failed);
  if (!failed && rank == 0) printf("C(0, 0) = %g\n", c[0]); /* 800 */
  damier_close(context);
  free(a), free(b), free(c);
  MPI_Finalize();
  return failed;
}
