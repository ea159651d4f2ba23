/* ranks: 1 2 3 4. Contexts one after the other and on parts of the ranks at the same time; plans,
 * options, and errors of files. */
#include <unistd.h>

#include "library_matrices.h"

/* ---- contexts ---- */

/* The handle that MPI returns next: it reuses freed ones. */
static int next_handle(void) {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const int handle = MPI_Comm_c2f(copy);
  MPI_Comm_free(&copy);
  return handle;
}

/* RANK: this rank in the context. */
static void multiply_ones(rank_test *test, damier_context *context, int rank, int64_t n,
                          double factor) {
  int wrong = 0;
  damier_error error;
  double *data = memory_of(test, 3 * n * n * 8), *c = data + 2 * n * n;
  for (int64_t i = 0; i < 2 * n * n; i++) data[i] = i < n * n ? 1.0 : factor;
  for (int64_t i = 0; i < n * n; i++) c[i] = -1.0;
  const damier_matrix a = damier_on_one(DAMIER_F64, n, n, 0, data, 0);
  const damier_matrix b = damier_on_one(DAMIER_F64, n, n, 0, data + n * n, 0);
  const damier_matrix result = damier_on_one(DAMIER_F64, n, n, 0, c, 0);
  const int code = damier_multiply(context, &a, &b, &result, &error);
  CHECK(test, code == DAMIER_OK, "%s", error.message);
  const bool has_it = c[0] != -1.0;
  CHECK(test, has_it == (rank == 0), "rank %d of the context has %s C", rank, has_it ? "a" : "no");
  for (int64_t i = 0; i < n * n; i++) wrong += c[i] != (has_it ? factor * (double)n : -1.0);
  CHECK(test, wrong == 0, "%d of %lld elements are wrong", wrong, (long long)(n * n));
  free(data);
}

static void in_a_row(rank_test *test) {
  damier_context *context;
  damier_error error;
  int before = 0;
  for (int i = 0; i < 21; i++) {
    const int code = damier_open(MPI_COMM_WORLD, &context, &error);
    CHECK(test, code == DAMIER_OK, "context %d: %s", i, error.message);
    if (!code) multiply_ones(test, context, test->run.rank, 20 + i, i);
    damier_close(context);
    if (i == 0) before = next_handle();
  }
  CHECK(test, next_handle() == before, "contexts keep communicators");
}

/* Each part of the ranks computes its own number of products. */
static void side_by_side(rank_test *test) {
  int rank, ranks, mine;
  MPI_Comm part;
  damier_context *whole, *half;
  damier_error error;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int side = rank < (ranks + 1) / 2 ? 0 : 1;
  MPI_Comm_split(MPI_COMM_WORLD, side, -rank, &part); /* reverse order */
  MPI_Comm_rank(part, &mine);
  CHECK(test, !damier_open(MPI_COMM_WORLD, &whole, &error), "%s", error.message);
  CHECK(test, !damier_open(part, &half, &error), "%s", error.message);
  MPI_Comm_free(&part); /* the context has a duplicate */
  for (int i = 0; i < 2 + 3 * side; i++)
    multiply_ones(test, half, mine, 30 + 40 * side + i, side + 2);
  multiply_ones(test, whole, rank, 25, 7);
  damier_close(half);
  multiply_ones(test, whole, rank, 26, 8);
  damier_close(whole);
}

/* ---- plans ---- */

static double number_of(const char *record, const char *field) {
  const char *at = strstr(record, field);
  return at ? strtod(at + strlen(field), NULL) : -1;
}

static void plans(rank_test *test, damier_context *context) {
  double c = 5;
  damier_error error;
  const int64_t own = test->run.rank == 0 ? 2000 : 0;
  const damier_matrix m = damier_by_rows(DAMIER_F64, 2000, 2000, own, &c, 0); /* never read */
  CHECK(test, !damier_plan(context, &m, &m, &m, &error), "%s", error.message);
  const char *record = damier_record(context);
  CHECK(test, number_of(record, "\"total_s\":") > 0, "no forecast: %s", record);
  CHECK(test, number_of(record, "\"host_bytes\":") > 8 * 3e6 / test->run.ranks, "no need: %s",
        record);
  CHECK(test, number_of(record, "\"panel\":") > 64, "a panel of %g",
        number_of(record, "\"panel\":"));
  CHECK(test, c == 5, "a plan wrote C");
}

/* ---- options ---- */

/* Random bits that make sums depend on their order. */
static void fill_uneven(const spread *s, int rank, int which) {
  int64_t row, col;
  for (int64_t i = 0; i < s->m.rows; i++)
    for (int64_t j = 0; j < s->m.cols; j++)
      if (owner(s, i, j, &row, &col) == rank)
        put(element(s, row, col), s->m.type,
            (double)(dm_mix((uint64_t)((which * 4096 + i) * 4096 + j)) >> 20) * 1e-13, 0);
}

static spread on_zero(rank_test *test, int64_t rows, int64_t cols) {
  const spread s = {
      .m = damier_on_one(DAMIER_F64, rows, cols, 0, memory_of(test, rows * cols * 8), 0)};
  return s;
}

/* All ranks together, and a single rank. */
static void reproducible(rank_test *test, damier_context *context) {
  enum { M = 300, N = 280, K = 1100 };
  damier_context *alone;
  damier_error error;
  spread a = on_zero(test, M, K), b = on_zero(test, K, N), c = on_zero(test, M, N);
  spread again = on_zero(test, M, N);
  fill_uneven(&a, test->run.rank, 0);
  fill_uneven(&b, test->run.rank, 1);
  damier_set(context, "reproducible", NULL, &error);
  CHECK(test, !damier_multiply(context, &a.m, &b.m, &c.m, &error), "%s", error.message);
  CHECK(test, test->run.rank > 0 || strstr(damier_record(context), "\"panel\":512"), "%s",
        damier_record(context));
  CHECK(test, !damier_set(context, "reproducible", "no", &error), "%s", error.message);
  if (test->run.rank == 0) {
    CHECK(test, !damier_open(MPI_COMM_SELF, &alone, &error), "%s", error.message);
    damier_set(alone, "reproducible", "yes", &error);
    CHECK(test, !damier_multiply(alone, &a.m, &b.m, &again.m, &error), "%s", error.message);
    CHECK(test, memcmp(c.m.data, again.m.data, M * N * 8) == 0, "one rank gets other bits");
    damier_close(alone);
  }
  free(a.m.data), free(b.m.data), free(c.m.data), free(again.m.data);
}

/* Operands of two types: promoted, refused, and in a type that is stated. */
static void types(rank_test *test, damier_context *context) {
  float a[4] = {1, 2, 3, 4};
  double b[4] = {1, 0, 0.1, 1}, c[4] = {0};
  damier_error error;
  const damier_matrix ma = damier_on_one(DAMIER_F32, 2, 2, 0, a, 0);
  const damier_matrix mb = damier_on_one(DAMIER_F64, 2, 2, 0, b, 0);
  const damier_matrix mc = damier_on_one(DAMIER_F64, 2, 2, 0, c, 0);
  CHECK(test, !damier_multiply(context, &ma, &mb, &mc, &error), "%s", error.message);
  CHECK(test, test->run.rank > 0 || c[0] == 1 + 2 * 0.1, "%.17g", c[0]);
  CHECK(test, !damier_set(context, "strict-types", "yes", &error), "%s", error.message);
  CHECK(test, damier_multiply(context, &ma, &mb, &mc, &error) == DAMIER_E_USAGE, "two types pass");
  CHECK(test, strstr(error.hint, "--type"), "the hint is '%s'", error.hint);
  CHECK(test, !damier_set(context, "type", "f64", &error), "%s", error.message);
  CHECK(test, !damier_multiply(context, &ma, &mb, &mc, &error), "%s", error.message);
  CHECK(test, test->run.rank > 0 || c[0] == 1 + 2 * 0.1, "%.17g", c[0]);
  CHECK(test, !damier_set(context, "type", NULL, &error), "%s", error.message);
  CHECK(test, !damier_set(context, "strict-types", NULL, &error), "%s", error.message);
}

/* What is refused leaves no trace in the context. */
static void refusals(rank_test *test, damier_context *context) {
  static const char *const bad[][2] = {
      {"type", "f63"}, {"type-c", "f63"}, {"machine", "gflops=x"}, {"machine", "@/nowhere"}};
  float a[4] = {1, 2, 3, 4};
  double b[4] = {1, 0, 0, 1}, c[4] = {0}, old[4] = {10, 10, 10, 10};
  damier_error error;
  const damier_matrix ma = damier_on_one(DAMIER_F32, 2, 2, 0, a, 0);
  const damier_matrix mb = damier_on_one(DAMIER_F64, 2, 2, 0, b, 0);
  const damier_matrix mc = damier_on_one(DAMIER_F64, 2, 2, 0, c, 0);
  const damier_matrix stated = damier_on_one(DAMIER_F64, 2, 2, 0, old, 0);
  const damier_matrix nameless = damier_file(NULL);
  for (int i = 0; i < 4; i++) {
    CHECK(test, damier_set(context, bad[i][0], bad[i][1], &error), "%s is taken", bad[i][1]);
    CHECK(test, !damier_set(context, "beta", "1", &error), "after %s %s: %s", bad[i][0], bad[i][1],
          error.message);
  }
  CHECK(test, !damier_set(context, "strict-types", "yes", &error), "%s", error.message);
  CHECK(test, damier_multiply(context, &ma, &mb, &mc, &error) == DAMIER_E_USAGE,
        "a refused type is used");
  CHECK(test, !damier_set(context, "strict-types", NULL, &error), "%s", error.message);
  CHECK(test, !damier_old_c(context, &stated, &error), "%s", error.message);
  CHECK(test, damier_old_c(context, &nameless, &error) == DAMIER_E_USAGE, "a file without a name");
  CHECK(test, !damier_multiply(context, &mb, &mb, &mc, &error), "%s", error.message);
  CHECK(test, test->run.rank > 0 || c[0] == 11, "the old C is not kept: %g", c[0]);
  damier_set(context, "beta", NULL, &error);
  CHECK(test, damier_multiply(context, &mb, &mb, &mc, &error) == DAMIER_E_USAGE,
        "an old C without beta is ignored");
  damier_old_c(context, NULL, &error);
  CHECK(test, !damier_multiply(context, &mb, &mb, &mc, &error), "%s", error.message);
}

/* ---- errors on files ---- */

static void files(rank_test *test, damier_context *context) {
  double data[16] = {0}, result[16];
  char text[] = "/tmp/damier_no_hdf5_XXXXXX";
  damier_error error;
  const damier_matrix m = damier_on_one(DAMIER_F64, 4, 4, 0, data, 0);
  const damier_matrix c = damier_on_one(DAMIER_F64, 4, 4, 0, result, 0);
  const damier_matrix nowhere = damier_file("/nowhere/A.h5:/a");
  CHECK(test, damier_multiply(context, &nowhere, &m, &c, &error) == DAMIER_E_IO, "it opens");
  CHECK(test, error.agreed && strstr(error.message, "/nowhere/A.h5"), "'%s'", error.message);
  if (test->run.rank == 0) {
    const int fd = mkstemp(text);
    CHECK(test, write(fd, "not HDF5", 8) == 8, "no file");
    close(fd);
  }
  must(test, dm_comm_broadcast(test->run.world, text, sizeof text, 0));
  const damier_matrix other = damier_file(text);
  CHECK(test, damier_multiply(context, &m, &other, &c, &error) == DAMIER_E_INPUT, "%d: '%s'",
        error.code, error.message);
  CHECK(test, error.agreed && strstr(error.message, text), "'%s'", error.message);
  /* Existing files are not replaced; the hint names the option. */
  CHECK(test, damier_multiply(context, &m, &m, &other, &error) == DAMIER_E_USAGE, "%d: '%s'",
        error.code, error.message);
  CHECK(test, strstr(error.hint, "--force"), "'%s'", error.hint);
  /* There is no old C to multiply by beta. */
  const damier_matrix made = damier_file("/tmp/damier_is_not_made.h5");
  damier_set(context, "beta", "1", &error);
  CHECK(test, damier_multiply(context, &m, &m, &made, &error) == DAMIER_E_USAGE, "%d", error.code);
  CHECK(test, strstr(error.hint, "damier_old_c"), "'%s'", error.hint);
  damier_set(context, "beta", NULL, &error);
  /* Without terms C is 0. */
  const damier_matrix column = damier_on_one(DAMIER_F64, 4, 0, 0, NULL, 0);
  const damier_matrix row = damier_on_one(DAMIER_F64, 0, 4, 0, NULL, 0);
  if (test->run.rank == 0) unlink(text);
  CHECK(test, !damier_multiply(context, &column, &row, &other, &error), "k = 0: %s", error.message);
  if (test->run.rank == 0) unlink(text);
}

/* ---- products like the one before, and almost like it ---- */

enum { SIDE = 6 };

static double at(const damier_matrix *m, int64_t i, int64_t j) {
  return ((const double *)m->data)[i * m->row_stride + j * m->col_stride];
}

/* SIDE x SIDE small integers on rank 0, by columns if TURNED. */
static damier_matrix integers(double *data, int seed, bool turned) {
  for (int i = 0; i < SIDE * SIDE; i++)
    data[i] = (double)(dm_mix((uint64_t)(seed * 100 + i)) % 19) - 9;
  damier_matrix m = damier_on_one(DAMIER_F64, SIDE, SIDE, 0, data, 0);
  if (turned) m.row_stride = 1, m.col_stride = SIDE;
  return m;
}

/* C = alpha A op(B) + beta OLD. */
typedef struct stated {
  double alpha, beta;
  bool op_b;
  const damier_matrix *a, *b, *old;
} stated;

static void expect(rank_test *test, damier_context *context, const stated *e,
                   const damier_matrix *c, const char *what) {
  damier_error error;
  double wanted[SIDE][SIDE];
  int wrong = 0;
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) {
      double sum = 0;
      for (int l = 0; l < SIDE; l++)
        sum += at(e->a, i, l) * (e->op_b ? at(e->b, j, l) : at(e->b, l, j));
      wanted[i][j] = e->alpha * sum + (e->beta != 0 ? e->beta * at(e->old, i, j) : 0.0);
    }
  const int code = damier_multiply(context, e->a, e->b, c, &error);
  CHECK(test, code == DAMIER_OK, "%s: %s", what, error.message);
  for (int i = 0; i < SIDE && test->run.rank == 0; i++)
    for (int j = 0; j < SIDE; j++) wrong += at(c, i, j) != wanted[i][j];
  CHECK(test, wrong == 0, "%s: %d elements are wrong", what, wrong);
}

static void one_after_another(rank_test *test, damier_context *context) {
  double data[6][SIDE * SIDE];
  damier_error error;
  const damier_matrix a = integers(data[0], 1, false), b = integers(data[1], 2, false);
  const damier_matrix other = integers(data[2], 3, false), turned = integers(data[3], 4, true);
  const damier_matrix c = integers(data[4], 5, false), c2 = integers(data[5], 6, false);
  stated e = {.alpha = 1, .a = &a, .b = &b};
  for (int i = 0; i < 2; i++) expect(test, context, &e, &c, "the same");
  e.b = &other;
  expect(test, context, &e, &c2, "other matrices");
  e.b = &turned;
  expect(test, context, &e, &c2, "columns");
  e.b = &other;
  e.alpha = 3;
  (void)damier_set(context, "alpha", "3", &error);
  for (int i = 0; i < 2; i++) expect(test, context, &e, &c, "alpha");
  e.op_b = true;
  (void)damier_set(context, "op-b", "t", &error);
  for (int i = 0; i < 2; i++) expect(test, context, &e, &c, "op");
  e.beta = 2;
  e.old = &c;
  (void)damier_set(context, "beta", "2", &error);
  for (int i = 0; i < 2; i++) expect(test, context, &e, &c, "beta");
  e.old = &c2;
  expect(test, context, &e, &c2, "beta of another C");
  e.old = &turned;
  (void)damier_old_c(context, &turned, &error);
  for (int i = 0; i < 2; i++) expect(test, context, &e, &c2, "an old C");
  (void)damier_old_c(context, NULL, &error);
  e.old = &c2;
  expect(test, context, &e, &c2, "no old C");
  CHECK(test, damier_multiply(context, &a, &c2, &c2, &error) == DAMIER_E_USAGE, "C is B: %d",
        error.code);
  (void)damier_set(context, "beta", NULL, &error);
  e.beta = 0;
  expect(test, context, &e, &c2, "after an error");
  damier_matrix narrow = c2;
  narrow.cols = SIDE - 1;
  CHECK(test, damier_multiply(context, &a, &b, &narrow, &error) == DAMIER_E_USAGE, "a narrow C: %d",
        error.code);
  expect(test, context, &e, &c2, "after a C that does not fit");
}

/* In a context of all ranks, and in one of each rank. */
static void like_before(rank_test *test, damier_context *context) {
  damier_context *alone;
  damier_error error;
  one_after_another(test, context);
  if (test->run.rank > 0) return;
  CHECK(test, !damier_open(MPI_COMM_SELF, &alone, &error), "%s", error.message);
  one_after_another(test, alone);
  damier_close(alone);
}

TEST_PROGRAM(test_library_contexts) {
  rank_test test = rank_test_start();
  damier_context *context;
  damier_error error;
  in_a_row(&test);
  side_by_side(&test);
  const int code = damier_open(MPI_COMM_WORLD, &context, &error);
  CHECK(&test, code == DAMIER_OK, "%s", error.message);
  if (!code) {
    plans(&test, context);
    reproducible(&test, context);
    types(&test, context);
    refusals(&test, context);
    files(&test, context);
  }
  damier_close(context);
  if (!damier_open(MPI_COMM_WORLD, &context, &error)) {
    like_before(&test, context);
    damier_close(context);
  }
  return rank_test_end(&test);
}
