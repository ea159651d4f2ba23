/* ranks: 1 3. The library keeps of a C that is not stored what options say, for rank 0 until the
 * next call: of one process in memory, whose ranks may be threads; what several processes have is
 * refused on all ranks. */
#include "library_matrices.h"

enum { ROWS = 12, COLS = 5, TOP = 3 };

typedef struct keeping {
  rank_test *test;
  damier_context *context;
  double x[ROWS][COLS], c[ROWS][ROWS];
} keeping;

static void keeping_fill(keeping *k) {
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLS; j++) k->x[i][j] = (double)((7 * i + 5 * j * j) % 11 - 4);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++)
      for (int l = 0; l < COLS; l++) k->c[i][j] += k->x[i][l] * k->x[j][l];
}

static int keeping_gram(keeping *k, damier_error *error) {
  const damier_matrix x = damier_on_one(DAMIER_F64, ROWS, COLS, 0, &k->x[0][0], 0),
                      c = damier_kept();
  return damier_gram(k->context, &x, 1, &c, error);
}

/* The place of element J among those of row I, best first. */
static int keeping_place(const keeping *k, int i, int j) {
  int better = 0;
  for (int l = 0; l < ROWS; l++)
    better += k->c[i][l] > k->c[i][j] || (k->c[i][l] == k->c[i][j] && l < j);
  return better;
}

static void keeping_expect_top(keeping *k) {
  damier_array values = {0}, indices = {0};
  damier_error error;
  int wrong = 0;
  damier_set(k->context, "top", "3", NULL);
  const int code = keeping_gram(k, &error);
  CHECK(k->test, code == DAMIER_OK, "top: %s", error.message);
  if (code) return;
  if (k->test->run.rank > 0) {
    CHECK(k->test, !damier_kept_array(k->context, 0, &values), "arrays on other ranks");
    return;
  }
  CHECK(k->test,
        damier_kept_array(k->context, 0, &values) && damier_kept_array(k->context, 1, &indices) &&
            !damier_kept_array(k->context, 2, &indices) && strcmp(values.name, "values") == 0 &&
            !values.whole && values.type == DAMIER_F64 && indices.whole && values.rows == ROWS &&
            values.cols == TOP,
        "arrays");
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < TOP; j++) {
      const int64_t at = ((const int64_t *)indices.data)[i * TOP + j];
      wrong += keeping_place(k, i, (int)at) != j ||
               ((const double *)values.data)[i * TOP + j] != k->c[i][at];
    }
  CHECK(k->test, wrong == 0, "top: %d wrong", wrong);
}

static void keeping_expect_sum(keeping *k) {
  damier_array sums = {0};
  damier_error error;
  damier_set(k->context, "top", NULL, NULL);
  damier_set(k->context, "reduce", "sum", NULL);
  const int code = keeping_gram(k, &error);
  CHECK(k->test, code == DAMIER_OK, "sum: %s", error.message);
  double sum = 0;
  for (int j = 0; j < ROWS; j++) sum += k->c[4][j];
  if (k->test->run.rank == 0)
    CHECK(k->test,
          damier_kept_array(k->context, 0, &sums) && sums.cols == 0 &&
              ((const double *)sums.data)[4] == sum,
          "another sum");
  damier_set(k->context, "reduce", NULL, NULL);
}

static void keeping_refusals(keeping *k) {
  damier_array array;
  damier_error error;
  const damier_matrix x = damier_on_one(DAMIER_F64, ROWS, COLS, 0, &k->x[0][0], 0);
  damier_matrix none = damier_kept(), c = damier_on_one(DAMIER_F64, ROWS, ROWS, 0, &k->c[0][0], 0);
  CHECK(k->test, keeping_gram(k, &error) == DAMIER_E_USAGE && error.agreed, "nothing to keep");
  CHECK(k->test, !damier_kept_array(k->context, 0, &array), "a result of a call that failed");
  damier_set(k->context, "top", "3", NULL);
  CHECK(k->test, damier_gram(k->context, &x, 1, &c, &error) == DAMIER_E_USAGE && error.agreed,
        "kept in C");
  CHECK(k->test, damier_gram(k->context, &none, 1, &c, &error) == DAMIER_E_USAGE && error.agreed,
        "X that is kept");
  damier_set(k->context, "beta", "1", NULL);
  CHECK(k->test, keeping_gram(k, &error) == DAMIER_E_USAGE && error.agreed, "beta");
  damier_set(k->context, "beta", NULL, NULL);
}

TEST_PROGRAM(test_library_kept) {
  rank_test test = rank_test_start();
  damier_error error;
  keeping k = {.test = &test};
  keeping_fill(&k);
  const int code = damier_open(MPI_COMM_WORLD, &k.context, &error);
  CHECK(&test, code == DAMIER_OK, "%s", error.message);
  if (!code) keeping_refusals(&k);
  if (!code) keeping_expect_top(&k);
  if (!code) keeping_expect_sum(&k);
  damier_close(k.context);
  return rank_test_end(&test);
}
