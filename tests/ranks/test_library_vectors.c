/* ranks: 1 3. The library takes weights, centers and scales from the caller's memory, of any real
 * type, until they are set again; what does not fit is refused on all ranks. */
#include <math.h>

#include "library_matrices.h"

enum { ROWS = 12, COLS = 3 };

typedef struct vectors {
  rank_test *test;
  damier_context *context;
  double x[ROWS][COLS], c[COLS][COLS];
  double numbers[ROWS];
} vectors;

static void vectors_fill(vectors *v) {
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < COLS; j++) v->x[i][j] = (double)((7 * i + 5 * j * j) % 11) + 100.0;
    v->numbers[i] = (double)(1 + i % 4);
  }
}

static damier_matrix vectors_matrix(const vectors *v, int64_t rows, int64_t cols, double *data) {
  return damier_on_one(DAMIER_F64, rows, cols, v->test->run.ranks - 1, data, 0);
}

static int vectors_cov(vectors *v, damier_error *error) {
  const damier_matrix x = vectors_matrix(v, ROWS, COLS, &v->x[0][0]),
                      c = vectors_matrix(v, COLS, COLS, &v->c[0][0]);
  return damier_cov(v->context, &x, 0, &c, error);
}

/* numpy.cov with aweights; WEIGHTS NULL: all are 1. */
static double vectors_wanted(const vectors *v, const double *weights, int i, int j) {
  double sum = 0, squares = 0, mean[2] = {0, 0}, products = 0;
  const int col[2] = {i, j};
  for (int r = 0; r < ROWS; r++) {
    const double w = weights ? weights[r] : 1.0;
    sum += w;
    squares += w * w;
    for (int k = 0; k < 2; k++) mean[k] += w * v->x[r][col[k]];
  }
  for (int r = 0; r < ROWS; r++)
    products +=
        (weights ? weights[r] : 1.0) * (v->x[r][i] - mean[0] / sum) * (v->x[r][j] - mean[1] / sum);
  return products / (sum - squares / sum);
}

static void vectors_expect(vectors *v, const char *what, const double *weights) {
  damier_error error;
  int64_t wrong = 0;
  memset(v->c, 0, sizeof v->c);
  const int code = vectors_cov(v, &error);
  CHECK(v->test, code == DAMIER_OK, "%s: %s", what, error.message);
  for (int i = 0; i < COLS && v->test->run.rank == v->test->run.ranks - 1; i++)
    for (int j = 0; j < COLS; j++)
      wrong += !(fabs(v->c[i][j] - vectors_wanted(v, weights, i, j)) <= 1e-10);
  CHECK(v->test, wrong == 0, "%s: %lld wrong", what, (long long)wrong);
}

static void vectors_set(vectors *v, const char *option, damier_type type, int64_t count,
                        const void *numbers) {
  damier_error error;
  const int code = damier_set_vector(v->context, option, 0, type, count, numbers, &error);
  CHECK(v->test, code == DAMIER_OK, "%s: %s", option, error.message);
}

/* The library has copies, as f64. */
static void vectors_of_types(vectors *v) {
  double as_f64[ROWS];
  float as_f32[ROWS];
  int32_t as_i32[ROWS];
  int8_t as_i8[ROWS];
  for (int i = 0; i < ROWS; i++) {
    as_f64[i] = v->numbers[i];
    as_f32[i] = (float)v->numbers[i];
    as_i32[i] = (int32_t)v->numbers[i];
    as_i8[i] = (int8_t)v->numbers[i];
  }
  vectors_expect(v, "no weights", NULL);
  vectors_set(v, "weights", DAMIER_F64, ROWS, as_f64);
  memset(as_f64, 0xff, sizeof as_f64);
  vectors_expect(v, "f64", v->numbers);
  vectors_expect(v, "f64 again", v->numbers);
  vectors_set(v, "weights", DAMIER_F32, ROWS, as_f32);
  vectors_expect(v, "f32", v->numbers);
  vectors_set(v, "weights", DAMIER_I8, ROWS, as_i8);
  vectors_expect(v, "i8", v->numbers);
  damier_set(v->context, "weights", NULL, NULL);
  vectors_expect(v, "without weights again", NULL);
  vectors_set(v, "weights", DAMIER_I32, ROWS, as_i32);
  vectors_expect(v, "i32", v->numbers);
}

static void vectors_refuse(vectors *v, const char *option, damier_type type, int64_t count,
                           const void *numbers, const char *words) {
  damier_error error;
  const int code = damier_set_vector(v->context, option, 0, type, count, numbers, &error);
  CHECK(v->test, code == DAMIER_E_USAGE && strstr(error.message, words), "%s: %d: '%s'", words,
        code, error.message);
  vectors_expect(v, "after a refusal", v->numbers);
}

static void vectors_refusals(vectors *v) {
  damier_error error;
  double other[ROWS];
  vectors_refuse(v, "grid", DAMIER_F64, ROWS, v->numbers, "takes no vector");
  vectors_refuse(v, "nowhere", DAMIER_F64, ROWS, v->numbers, "no option");
  vectors_refuse(v, NULL, DAMIER_F64, ROWS, v->numbers, "NULL");
  vectors_refuse(v, "weights", DAMIER_F64, ROWS, NULL, "NULL");
  vectors_refuse(v, "weights", DAMIER_F64, 0, v->numbers, "not a number of elements");
  vectors_refuse(v, "weights", DAMIER_F64, INT64_MAX, v->numbers, "not a number of elements");
  vectors_refuse(v, "weights", DAMIER_C64, ROWS / 2, v->numbers, "real type");
  vectors_refuse(v, "weights", (damier_type)77, ROWS, v->numbers, "real type");
  memcpy(other, v->numbers, sizeof other);
  if (v->test->run.rank == 0) other[5] += 1.0; /* on one rank alone */
  vectors_set(v, "weights", DAMIER_F64, ROWS, other);
  if (v->test->run.ranks > 1) {
    const int code = vectors_cov(v, &error);
    CHECK(v->test, code == DAMIER_E_USAGE && error.agreed && strstr(error.message, "weights"),
          "others on one rank: %d: %s", code, error.message);
  }
  vectors_set(v, "weights", DAMIER_F64, ROWS - 1, v->numbers);
  int code = vectors_cov(v, &error);
  CHECK(v->test, code == DAMIER_E_INPUT && error.agreed, "too few: %d: %s", code, error.message);
  memcpy(other, v->numbers, sizeof other);
  other[3] = -2.0;
  vectors_set(v, "weights", DAMIER_F64, ROWS, other);
  code = vectors_cov(v, &error);
  CHECK(v->test, code == DAMIER_E_INPUT && strstr(error.message, "memory:weights"),
        "negative: %d: %s", code, error.message);
  damier_set(v->context, "weights", NULL, NULL);
  vectors_expect(v, "after all", NULL);
}

/* X^T X of columns less 100 and divided by 2, by numbers of the user on either side. */
static void vectors_centers(vectors *v) {
  const double center[COLS] = {100, 100, 100}, scale[COLS] = {2, 2, 2};
  damier_error error;
  int64_t wrong = 0;
  vectors_set(v, "center-a", DAMIER_F64, COLS, center);
  vectors_set(v, "center-b", DAMIER_F64, COLS, center);
  vectors_set(v, "scale-a", DAMIER_F64, COLS, scale);
  vectors_set(v, "scale-b", DAMIER_F64, COLS, scale);
  damier_set(v->context, "op-a", "t", NULL);
  const damier_matrix x = vectors_matrix(v, ROWS, COLS, &v->x[0][0]),
                      c = vectors_matrix(v, COLS, COLS, &v->c[0][0]);
  const int code = damier_multiply(v->context, &x, &x, &c, &error);
  CHECK(v->test, code == DAMIER_OK, "centers: %s", error.message);
  for (int i = 0; i < COLS && v->test->run.rank == v->test->run.ranks - 1; i++)
    for (int j = 0; j < COLS; j++) {
      double sum = 0;
      for (int r = 0; r < ROWS; r++) sum += (v->x[r][i] - 100) / 2 * (v->x[r][j] - 100) / 2;
      wrong += !(fabs(v->c[i][j] - sum) <= 1e-10);
    }
  CHECK(v->test, wrong == 0, "centers: %lld wrong", (long long)wrong);
}

TEST_PROGRAM(test_library_vectors) {
  rank_test test = rank_test_start();
  damier_error error;
  vectors v = {.test = &test};
  vectors_fill(&v);
  const int code = damier_open(MPI_COMM_WORLD, &v.context, &error);
  CHECK(&test, code == DAMIER_OK, "%s", error.message);
  if (!code) {
    vectors_of_types(&v);
    vectors_refusals(&v);
    vectors_centers(&v);
  }
  damier_close(v.context);
  return rank_test_end(&test);
}
