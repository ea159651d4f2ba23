/* pdgemm: times ScaLAPACK's product of two random f64 matrices in its own block-cyclic layout, and
 * checks it like damier, by a random vector (Freivalds 1979); or, unchecked, pdsyrk's half of A^T
 * A. Built only by scripts/bench/scalapack.sh; prints one line of JSON to standard output.
 *
 *     mpirun -n P pdgemm N BLOCK ROWS COLUMNS REPETITIONS THREADS GIT "COMMAND" [syrk] */
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern void Cblacs_get(int context, int what, int *value);
extern void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
extern void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
extern void Cblacs_gridexit(int context);
extern int numroc_(const int *n, const int *block, const int *me, const int *first, const int *all);
extern void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb,
                      const int *row, const int *column, const int *context, const int *lld,
                      int *info);
extern void pdgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
                    const double *alpha, const double *a, const int *ia, const int *ja,
                    const int *da, const double *b, const int *ib, const int *jb, const int *db,
                    const double *beta, double *c, const int *ic, const int *jc, const int *dc);
extern void pdsyrk_(const char *half, const char *trans, const int *n, const int *k,
                    const double *alpha, const double *a, const int *ia, const int *ja,
                    const int *da, const double *beta, double *c, const int *ic, const int *jc,
                    const int *dc);
extern void openblas_set_num_threads(int threads);
extern char *openblas_get_config(void);

/* This process's part of an n x n matrix, column-major. */
typedef struct layout {
  int n, block, prow, pcol, row, col;
  int rows, cols; /* local */
} layout;

static int64_t global(int local, int block, int me, int all) {
  return ((int64_t)(local / block) * all + me) * block + local % block;
}

static double uniform(uint64_t x) { /* in [-1, 1); SplitMix64's mixing */
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return (double)((x ^ x >> 31) >> 11) * 0x1p-52 - 1.0;
}

static void fill(const layout *l, double *matrix, uint64_t seed) {
  for (int j = 0; j < l->cols; j++)
    for (int i = 0; i < l->rows; i++)
      matrix[(int64_t)j * l->rows + i] =
          uniform((seed << 60) + (uint64_t)(global(i, l->block, l->row, l->prow) * l->n +
                                            global(j, l->block, l->col, l->pcol)));
}

/* y = M x, with both vectors complete on every process. */
static void apply(const layout *l, const double *matrix, const double *x, double *y) {
  for (int i = 0; i < l->n; i++) y[i] = 0.0;
  for (int j = 0; j < l->cols; j++) {
    const double factor = x[global(j, l->block, l->col, l->pcol)];
    const double *column = matrix + (int64_t)j * l->rows;
    for (int i = 0; i < l->rows; i++) y[global(i, l->block, l->row, l->prow)] += column[i] * factor;
  }
  MPI_Allreduce(MPI_IN_PLACE, y, l->n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* The largest difference of C w and A (B w), in units of n^3 u, about the maximum effect of
 * rounding; correct runs stay far below 1. */
static double residual(const layout *l, const double *a, const double *b, const double *c) {
  double *w = malloc(4 * sizeof *w * (size_t)l->n), worst = 0.0;
  if (!w) MPI_Abort(MPI_COMM_WORLD, 5);
  double *bw = w + l->n, *abw = bw + l->n, *cw = abw + l->n;
  for (int i = 0; i < l->n; i++) w[i] = uniform(7 + ((uint64_t)3 << 60) + (uint64_t)i) < 0 ? -1 : 1;
  apply(l, b, w, bw);
  apply(l, a, bw, abw);
  apply(l, c, w, cw);
  for (int i = 0; i < l->n; i++) worst = fmax(worst, fabs(cw[i] - abw[i]));
  free(w);
  return worst / (0x1p-53 * (double)l->n * (double)l->n * (double)l->n);
}

static double *matrix_of(const layout *l) {
  double *matrix = malloc(sizeof *matrix * (size_t)l->rows * (size_t)l->cols + 1);
  if (!matrix) MPI_Abort(MPI_COMM_WORLD, 5);
  return matrix;
}

/* B NULL: half of A^T A. */
static double multiply(const layout *l, int context, const double *a, const double *b, double *c) {
  const int one = 1, zero = 0, lead = l->rows > 0 ? l->rows : 1;
  const double alpha = 1.0, beta = 0.0;
  int desc[9], info;
  descinit_(desc, &l->n, &l->n, &l->block, &l->block, &zero, &zero, &context, &lead, &info);
  if (info != 0) MPI_Abort(MPI_COMM_WORLD, 70);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime(), seconds;
  if (b)
    pdgemm_("N", "N", &l->n, &l->n, &l->n, &alpha, a, &one, &one, desc, b, &one, &one, desc, &beta,
            c, &one, &one, desc);
  else
    pdsyrk_("L", "T", &l->n, &l->n, &alpha, a, &one, &one, desc, &beta, c, &one, &one, desc);
  seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

int main(int count, char **words) {
  int ranks, rank, context;
  MPI_Init(&count, &words);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool half = count == 10 && strcmp(words[9], "syrk") == 0;
  if ((count != 9 && !half) || atoi(words[3]) * atoi(words[4]) != ranks)
    MPI_Abort(MPI_COMM_WORLD, 2);
  layout l = {.n = atoi(words[1]), .block = atoi(words[2])};
  const int repetitions = atoi(words[5]), threads = atoi(words[6]), zero = 0;
  openblas_set_num_threads(threads);
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, "Row", atoi(words[3]), atoi(words[4]));
  Cblacs_gridinfo(context, &l.prow, &l.pcol, &l.row, &l.col);
  l.rows = numroc_(&l.n, &l.block, &l.row, &zero, &l.prow);
  l.cols = numroc_(&l.n, &l.block, &l.col, &zero, &l.pcol);
  double *a = matrix_of(&l), *b = half ? NULL : matrix_of(&l), *c = matrix_of(&l);
  fill(&l, a, 1);
  if (b) fill(&l, b, 2);
  (void)multiply(&l, context, a, b, c); /* warms up */
  char date[32];
  const time_t now = time(NULL);
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
  if (rank == 0)
    printf("{\"verb\":\"bench %s\",\"git\":\"%s\",\"date\":\"%s\",\"command\":\"%s\",\"problem\":{"
           "\"shape\":\"%d x %d x %d\",\"m\":%d,\"n\":%d,\"k\":%d,\"work\":\"f64\"},\"machine\":{"
           "\"library\":\"ScaLAPACK, %s\",\"ranks\":%d,\"threads\":%d},\"bench\":{\"block\":%d,"
           "\"grid\":\"%dx%d\"},\"repetitions\":{\"multiply_s\":[",
           half ? "pdsyrk" : "pdgemm", words[7], date, words[8], l.n, l.n, l.n, l.n, l.n, l.n,
           openblas_get_config(), ranks, threads, l.block, l.prow, l.pcol);
  for (int i = 0; i < repetitions; i++) {
    const double seconds = multiply(&l, context, a, b, c);
    if (rank == 0) printf("%s%.9f", i ? "," : "", seconds);
  }
  const double rest = b ? residual(&l, a, b, c) : 0;
  if (rank == 0)
    printf("]},\"verification\":{\"verdict\":\"%s\",\"residual\":%.3g}}\n",
           half       ? "none"
           : rest < 1 ? "PASS"
                      : "FAIL",
           rest);
  Cblacs_gridexit(context);
  MPI_Finalize();
  return rest < 1 ? 0 : 1;
}
