/* ranks: 1 2 3. The library's principal components and truncated SVD of a matrix that ranks have in
 * any division: rank 0 gets vectors that are eigenvectors of what the test computes itself, by both
 * methods; what is no matrix, or has fewer components, is refused on all ranks. */
#include <math.h>

#include "library_matrices.h"

enum { ROWS = 37, COLS = 6, COUNT = 3, TURNS = 6 };

typedef struct finding {
  rank_test *test;
  damier_context *context;
  double x[ROWS][COLS];
  random_state draws;
  bool svd;
} finding;

/* Columns of unlike size, with means. */
static void finding_fill(finding *f) {
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLS; j++)
      f->x[i][j] = 3.0 + j + (double)draw(&f->draws, -1000, 1000) / (double)(100 << j);
}

/* X, of which this rank has its part; OF_ROWS: turned. */
static spread finding_divide(finding *f, bool of_rows) {
  const int64_t rows = of_rows ? COLS : ROWS, cols = of_rows ? ROWS : COLS;
  spread s = random_spread(f->test, &f->draws, DAMIER_F64, rows, cols);
  double *data = s.m.data;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) {
      int64_t row, col;
      const int rank = owner(&s, i, j, &row, &col);
      if (rank < 0 || rank == f->test->run.rank)
        data[row * s.m.row_stride + col * s.m.col_stride] = of_rows ? f->x[j][i] : f->x[i][j];
    }
  return s;
}

/* G = Y^T Y of the centered X, or of X. */
static void finding_products(const finding *f, double g[COLS][COLS]) {
  double mean[COLS] = {0.0};
  for (int j = 0; j < COLS; j++)
    for (int i = 0; i < ROWS && !f->svd; i++) mean[j] += f->x[i][j] / ROWS;
  for (int j = 0; j < COLS; j++)
    for (int l = 0; l < COLS; l++) {
      g[j][l] = 0.0;
      for (int i = 0; i < ROWS; i++) g[j][l] += (f->x[i][j] - mean[j]) * (f->x[i][l] - mean[l]);
    }
}

/* How far COUNT vectors are from eigenvectors that are orthonormal, relative to the largest. */
static double finding_error(const finding *f, const double *v, const double *sigma) {
  double g[COLS][COLS], most = 0.0;
  finding_products(f, g);
  for (int c = 0; c < COUNT; c++) {
    const double *one = v + c * COLS;
    for (int j = 0; j < COLS; j++) {
      double r = -sigma[c] * sigma[c] * one[j];
      for (int l = 0; l < COLS; l++) r += g[j][l] * one[l];
      most = fmax(most, fabs(r) / (sigma[0] * sigma[0]));
    }
    for (int d = 0; d <= c; d++) {
      double sum = c == d ? -1.0 : 0.0;
      for (int j = 0; j < COLS; j++) sum += one[j] * v[d * COLS + j];
      most = fmax(most, fabs(sum));
    }
    most = fmax(most, c > 0 && sigma[c] > sigma[c - 1] ? 1.0 : 0.0);
  }
  return most;
}

static int finding_call(const finding *f, const damier_matrix *x, bool of_rows,
                        const damier_matrix *result, damier_error *error) {
  return (f->svd ? damier_svd : damier_pca)(f->context, x, of_rows, result, error);
}

static const double *finding_array(const finding *f, const char *name, int64_t rows, int64_t cols) {
  damier_array array;
  for (int i = 0; damier_kept_array(f->context, i, &array); i++)
    if (strcmp(array.name, name) == 0)
      return array.type == DAMIER_F64 && array.rows == rows && array.cols == cols ? array.data
                                                                                  : NULL;
  return NULL;
}

static void finding_turn(finding *f, int turn) {
  damier_error error;
  damier_array array;
  const bool of_rows = turn % 2;
  const damier_matrix kept = damier_kept();
  f->svd = turn % 3 == 2;
  finding_fill(f);
  const spread s = finding_divide(f, of_rows);
  damier_set(f->context, "method", turn < TURNS / 2 ? "gram" : "passes", NULL);
  const int code = finding_call(f, &s.m, of_rows, &kept, &error);
  free(s.m.data);
  CHECK(f->test, code == DAMIER_OK, "turn %d: %s", turn, error.message);
  if (code) return;
  if (f->test->run.rank > 0) {
    CHECK(f->test, !damier_kept_array(f->context, 0, &array), "arrays on other ranks");
    return;
  }
  const double *v = finding_array(f, "components", COUNT, COLS),
               *sigma = finding_array(f, "singular_values", COUNT, 0);
  CHECK(f->test, v && sigma, "turn %d: no arrays", turn);
  if (!v || !sigma) return;
  const double off = finding_error(f, v, sigma);
  CHECK(f->test, off <= 1e-6, "turn %d: off by %g", turn, off);
  CHECK(f->test, (finding_array(f, "mean", COLS, 0) != NULL) == !f->svd, "turn %d: means", turn);
}

static void finding_refusals(finding *f) {
  damier_error error;
  const damier_matrix kept = damier_kept();
  const spread s = finding_divide(f, false);
  damier_matrix none = kept;
  damier_set(f->context, "rank", NULL, NULL);
  CHECK(f->test, damier_pca(f->context, &s.m, 0, &kept, &error) == DAMIER_E_USAGE && error.agreed,
        "no number of components");
  damier_set(f->context, "rank", "7", NULL);
  CHECK(f->test, damier_pca(f->context, &s.m, 0, &kept, &error) == DAMIER_E_INPUT && error.agreed,
        "more components than variables: %s", error.message);
  damier_set(f->context, "rank", "3", NULL);
  CHECK(f->test, damier_pca(f->context, &none, 0, &kept, &error) == DAMIER_E_USAGE && error.agreed,
        "X that is kept");
  CHECK(f->test, damier_pca(f->context, &s.m, 0, &s.m, &error) == DAMIER_E_USAGE && error.agreed,
        "components in a matrix");
  free(s.m.data);
}

TEST_PROGRAM(test_library_components) {
  rank_test test = rank_test_start();
  damier_error error;
  finding f = {.test = &test, .draws = {5}};
  finding_fill(&f);
  const int code = damier_open(MPI_COMM_WORLD, &f.context, &error);
  CHECK(&test, code == DAMIER_OK, "%s", error.message);
  if (!code) finding_refusals(&f);
  for (int turn = 0; !code && turn < TURNS; turn++) finding_turn(&f, turn);
  damier_close(f.context);
  return rank_test_end(&test);
}
