/* ranks: 1 2 3. Calls of the library that cannot be right are refused on all ranks: impossible
 * layouts, operands that overlap C, null pointers, ranks that state different things, calls during
 * a call. What only looks like it is computed, exactly. */
#include "library_matrices.h"

enum { N = 8 };

typedef struct misuse {
  rank_test *test;
  damier_context *context;
  double *a, *b, *c; /* N x 2 N each, on every rank */
} misuse;

static damier_matrix square(const misuse *m, double *data) {
  return damier_on_one(DAMIER_F64, N, N, m->test->run.ranks - 1, data, 0);
}

static void expect(misuse *m, const char *what, damier_matrix a, damier_matrix b, damier_matrix c,
                   int code, const char *words) {
  damier_error error;
  for (int i = 0; i < 2 * N * N; i++) m->c[i] = 7;
  const int got = damier_multiply(m->context, &a, &b, &c, &error);
  CHECK(m->test, got == code && strstr(error.message, words), "%s: %d: '%s'", what, got,
        error.message);
  CHECK(m->test, got == 0 || error.agreed, "%s: the ranks do not agree", what);
  CHECK(m->test, damier_record(m->context)[0] == '\0' || !got, "%s: a record", what);
  for (int i = 0; i < 2 * N * N && got; i++)
    CHECK(m->test, m->c[i] == 7, "%s: C is changed at %d", what, i);
}

static void refuse(misuse *m, const char *what, damier_matrix c, const char *words) {
  expect(m, what, square(m, m->a), square(m, m->b), c, DAMIER_E_USAGE, words);
}

/* ---- layouts ---- */

static damier_matrix with_strides(const misuse *m, double *data, int64_t down, int64_t right) {
  damier_matrix matrix = square(m, data);
  matrix.row_stride = down;
  matrix.col_stride = right;
  return matrix;
}

static void layouts(misuse *m) {
  static const int64_t strides[][2] = {{N - 1, 1},
                                       {1, N - 1},
                                       {1, 1},
                                       {3, 3},
                                       {2, 4},
                                       {0, 1},
                                       {1, 0},
                                       {-N, 1},
                                       {N, -1},
                                       {INT64_MIN, 1},
                                       {INT64_MAX / 8, 1},
                                       {INT64_MAX / 64, 1},
                                       {1, INT64_MAX / 8},
                                       {INT64_MAX, 1},
                                       {INT64_MAX / 7, INT64_MAX / 7}};
  for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
    const damier_matrix bad = with_strides(m, m->c, strides[i][0], strides[i][1]);
    refuse(m, "strides of C", bad, "C: strides of ");
    const damier_matrix a = with_strides(m, m->a, strides[i][0], strides[i][1]);
    expect(m, "strides of A", a, square(m, m->b), square(m, m->c), DAMIER_E_USAGE,
           "A: strides of ");
  }
  const int ranks = m->test->run.ranks;
  const int desc[9] = {1, 0, N * ranks, N, N, N, 0, 0, N - 1};
  const damier_matrix low = damier_scalapack(DAMIER_F64, desc, ranks, 1, 0, m->c);
  refuse(m, "lld below the local rows", low, "C: strides of 1 and 7");
  refuse(m, "no descriptor", damier_scalapack(DAMIER_F64, NULL, 1, 1, 0, m->c), "C: -1 is not a");
}

static void fields(misuse *m) {
  damier_matrix c[10];
  for (int i = 0; i < 10; i++) c[i] = square(m, m->c);
  c[0].type = (damier_type)8;
  c[1].type = (damier_type)-1;
  c[2].memory = (damier_memory)2;
  c[3].division = (damier_division)4;
  c[4].rows = -1;
  c[5].cols = 0;
  c[6].rows = c[6].cols = (int64_t)1 << 33;
  c[7].rank = 99;
  c[8].rank = -1;
  memset(&c[9], 0x55, sizeof c[9]);
  for (int i = 0; i < 10; i++) refuse(m, "fields", c[i], "");
  memset(&c[9], 0, sizeof c[9]);
  refuse(m, "nothing filled in", c[9], "file without a name");
  refuse(m, "no name", damier_file(NULL), "C is in a file without a name");
  refuse(m, "an empty name", damier_file(""), "C is in a file without a name");
}

/* ---- overlap ---- */

static void overlap(misuse *m) {
  const damier_matrix a = square(m, m->a), b = square(m, m->b);
  expect(m, "C is A", a, b, a, DAMIER_E_USAGE, "C overlaps A");
  expect(m, "C is B", a, b, b, DAMIER_E_USAGE, "C overlaps B");
  expect(m, "C is B transposed", a, b, with_strides(m, m->b, 1, N), DAMIER_E_USAGE, "C overlaps B");
  expect(m, "the last of A", a, b, square(m, m->a + N * N - 1), DAMIER_E_USAGE, "C overlaps A");
  const damier_matrix right = with_strides(m, m->c + 1, 2 * N, 1);
  expect(m, "columns of A", with_strides(m, m->c, 2 * N, 1), b, right, DAMIER_E_USAGE,
         "C overlaps A");
}

/* The product of fives and ones, one row of A and one column of B shorter. */
static void all_are(misuse *m, const char *what, const double *c, int64_t down, int64_t right,
                    double value) {
  if (m->test->run.rank + 1 < m->test->run.ranks) return;
  for (int64_t i = 0; i < N; i++)
    for (int64_t j = 0; j < N; j++)
      CHECK(m->test, c[i * down + j * right] == value, "%s: %g at (%d, %d)", what,
            c[i * down + j * right], (int)i, (int)j);
}

static void multiply(misuse *m, const char *what, damier_matrix a, damier_matrix b,
                     damier_matrix c) {
  damier_error error;
  const int code = damier_multiply(m->context, &a, &b, &c, &error);
  CHECK(m->test, code == DAMIER_OK, "%s: %s", what, error.message);
}

/* Parts of one array that interleave, and an old C that is C. */
static void neighbours(misuse *m) {
  damier_error error;
  for (int i = 0; i < 2 * N * N; i++) m->a[i] = i % (2 * N) < N ? 5 : -1;
  for (int i = 0; i < N * N; i++) m->b[i] = 1;
  const damier_matrix left = with_strides(m, m->a, 2 * N, 1);
  const damier_matrix right = with_strides(m, m->a + N, 2 * N, 1), b = square(m, m->b);
  multiply(m, "columns beside A", left, b, right);
  all_are(m, "columns beside A", m->a + N, 2 * N, 1, 5 * N);
  all_are(m, "A", m->a, 2 * N, 1, 5);
  damier_set(m->context, "beta", "2", &error);
  CHECK(m->test, !damier_old_c(m->context, &right, &error), "%s", error.message);
  multiply(m, "the old C is C", left, b, right);
  all_are(m, "the old C is C", m->a + N, 2 * N, 1, 15 * N);
  const damier_matrix turned = with_strides(m, m->c, 1, N), lower = square(m, m->c + N);
  damier_old_c(m->context, &turned, &error);
  refuse(m, "the old C is C transposed", square(m, m->c), "C overlaps the old C");
  damier_old_c(m->context, &lower, &error);
  refuse(m, "the old C is in C", square(m, m->c), "C overlaps the old C");
  damier_set(m->context, "beta", "0", &error);
  multiply(m, "the old C is not read", left, b, square(m, m->c));
  damier_set(m->context, "beta", NULL, &error);
  damier_old_c(m->context, NULL, &error);
}

/* ---- null pointers ---- */

static void nulls(misuse *m) {
  const damier_matrix a = square(m, m->a), c = square(m, m->c);
  const damier_matrix *all[] = {&a, &a, &c};
  damier_error error;
  for (int i = 0; i < 3; i++) {
    const damier_matrix *some[3] = {all[0], all[1], all[2]};
    if (m->test->run.rank == 0) some[i] = NULL; /* all ranks get the error */
    const int code = damier_multiply(m->context, some[0], some[1], some[2], &error);
    CHECK(m->test, code == DAMIER_E_USAGE && error.agreed && strstr(error.message, "is NULL"),
          "%d: %s", code, error.message);
    CHECK(m->test, damier_plan(m->context, some[0], some[1], some[2], NULL) == 2, "a plan");
    CHECK(m->test, damier_verify(m->context, some[0], some[1], some[2], NULL) == 2, "verified");
  }
  CHECK(m->test, damier_multiply(NULL, &a, &a, &c, &error) == DAMIER_E_USAGE, "no context");
  CHECK(m->test, !error.agreed, "without a context ranks agree");
  CHECK(m->test, damier_plan(NULL, &a, &a, &c, NULL) == DAMIER_E_USAGE, "no context");
  CHECK(m->test, damier_verify(NULL, &a, &a, &c, NULL) == DAMIER_E_USAGE, "no context");
  CHECK(m->test, damier_info(NULL, "x", NULL) == DAMIER_E_USAGE, "no context");
  CHECK(m->test, damier_set(NULL, "alpha", "1", NULL) == DAMIER_E_USAGE, "no context");
  CHECK(m->test, damier_set(m->context, NULL, "1", NULL) == DAMIER_E_USAGE, "no option");
  CHECK(m->test, damier_old_c(NULL, NULL, NULL) == DAMIER_E_USAGE, "no context");
  CHECK(m->test, damier_open(MPI_COMM_WORLD, NULL, &error) == DAMIER_E_USAGE, "no place");
  CHECK(m->test, damier_record(NULL)[0] == '\0', "a record of nothing");
  damier_on_progress(NULL, NULL, NULL);
  damier_close(NULL);
}

static void communicators(misuse *m) {
  static const int handles[] = {-2, 12345678, INT32_MIN};
  damier_error error;
  for (int i = 0; i < 3; i++) {
    damier_context *context = m->context;
    const int code = damier_open_f(handles[i], &context, &error);
    CHECK(m->test, code == DAMIER_E_USAGE && !context, "handle %d: %d", handles[i], code);
  }
  damier_context *context = m->context;
  CHECK(m->test, damier_open_f(MPI_Comm_c2f(MPI_COMM_NULL), &context, &error) == DAMIER_E_USAGE,
        "the null communicator");
  CHECK(m->test, damier_open_f(-2, NULL, NULL) == DAMIER_E_USAGE, "no place");
  CHECK(m->test, !damier_open_f(-1, &context, &error), "%s", error.message);
  damier_close(context);
}

/* ---- ranks that differ ---- */

/* The last rank states something else. */
static void differ(misuse *m) {
  static const char *const stated[][3] = {
      {"alpha", "1", "2"},           {"op-a", "n", "t"},      {"transport", "auto", "self"},
      {"type", "f64", "f32"},        {"verify", "yes", "no"}, {"kernel", "longer", "auto"},
      {"memory", NULL, "host=1GiB"}, {"panel", "auto", "64"}, {"on-corruption", "stop", "warn"}};
  const bool last = m->test->run.rank + 1 == m->test->run.ranks;
  const damier_matrix a = square(m, m->a), b = square(m, m->b), c = square(m, m->c);
  damier_error error;
  if (m->test->run.ranks == 1) return;
  for (size_t i = 0; i < sizeof stated / sizeof *stated; i++) {
    const char *const *s = stated[i];
    CHECK(m->test, !damier_set(m->context, s[0], s[1 + last], &error), "%s", error.message);
    expect(m, s[0], a, b, c, DAMIER_E_USAGE, s[0]);
    damier_set(m->context, s[0], NULL, &error);
  }
  if (last) damier_set(m->context, "kernel", "a long name that was replaced", &error);
  damier_set(m->context, "kernel", "auto", &error);
  multiply(m, "the same, set twice", a, b, c);
  damier_set(m->context, "kernel", NULL, &error);
  int code =
      last ? damier_plan(m->context, &a, &b, &c, &error) : damier_info(m->context, NULL, &error);
  CHECK(m->test, code == DAMIER_E_USAGE && strstr(error.message, "the function called"), "%d: %s",
        code, error.message);
  const damier_matrix x = square(m, m->a);
  typedef int with_itself(damier_context *, const damier_matrix *, int, const damier_matrix *,
                          damier_error *);
  with_itself *const functions[] = {damier_gram, damier_cov, damier_cor};
  for (int i = 0; i < 3; i++) {
    code = functions[(i + last) % 3](m->context, &x, 0, &c, &error);
    CHECK(m->test, code == DAMIER_E_USAGE && strstr(error.message, "the function called"), "%d: %s",
          code, error.message);
  }
  code = damier_gram(m->context, &x, last, &c, &error);
  CHECK(m->test, code == DAMIER_E_USAGE && strstr(error.message, "rows"), "%d: %s", code,
        error.message);
  expect(m, "files", damier_file(last ? "/tmp/x.h5" : "/tmp/y.h5"), b, c, DAMIER_E_USAGE,
         "the ranks differ in A");
  expect(m, "places", last ? a : damier_file("/tmp/y.h5"), b, c, DAMIER_E_USAGE,
         "the ranks differ in A");
  code = damier_info(m->context, last ? "/tmp/x.h5" : "/tmp/y.h5", &error);
  CHECK(m->test, code == DAMIER_E_USAGE, "%d: %s", code, error.message);
  expect(m, "one overlaps", a, b, last ? a : c, DAMIER_E_USAGE, "C overlaps A");
}

/* ---- calls during a call ---- */

static int reenter(void *context, int64_t done, int64_t total) {
  misuse *m = context;
  const damier_matrix a = square(m, m->a), c = square(m, m->c);
  damier_error error;
  (void)done, (void)total;
  CHECK(m->test, damier_multiply(m->context, &a, &a, &c, &error) == DAMIER_E_USAGE, "multiplies");
  CHECK(m->test, damier_set(m->context, "alpha", "3", &error) == DAMIER_E_USAGE, "sets");
  CHECK(m->test, damier_old_c(m->context, &c, &error) == DAMIER_E_USAGE, "states an old C");
  CHECK(m->test, damier_record(m->context)[0] == '\0', "a record");
  damier_on_progress(m->context, NULL, NULL);
  damier_close(m->context);
  return 0;
}

static void during(misuse *m) {
  for (int i = 0; i < N * N; i++) m->a[i] = m->b[i] = 1;
  damier_on_progress(m->context, reenter, m);
  multiply(m, "calls during a call", square(m, m->a), square(m, m->b), square(m, m->c));
  all_are(m, "calls during a call", m->c, N, 1, N);
  damier_on_progress(m->context, NULL, NULL);
}

/* ---- random nonsense ---- */

static int64_t nonsense(random_state *r) {
  static const int64_t values[] = {
      -1,           0,         1,         2,         7,         N,         N + 1,
      1 << 20,      INT32_MAX, INT64_MAX, INT64_MIN, INT32_MIN, 1LL << 40, INT64_MAX / 8,
      INT64_MAX / 2};
  return values[draw(r, 0, sizeof values / sizeof *values - 1)];
}

/* One field of one matrix; never a pointer, nor strides that would be right in more memory. */
static void spoil(random_state *r, damier_matrix *matrix) {
  int64_t value = nonsense(r);
  int64_t *const wide[] = {&matrix->rows,       &matrix->cols,     &matrix->row_stride,
                           &matrix->col_stride, &matrix->own_rows, &matrix->row_block,
                           &matrix->col_block};
  int *const narrow[] = {&matrix->rank,         &matrix->grid_rows, &matrix->grid_cols,
                         &matrix->column_major, &matrix->first_row, &matrix->first_col};
  const int64_t which = draw(r, 0, 15);
  if ((which == 2 || which == 3) && value > N + 1 && value < INT64_MAX / 8) value = -N;
  if (which < 7)
    *wide[which] = value;
  else if (which < 13)
    *narrow[which - 7] = (int)value;
  else if (which == 13)
    matrix->type = (damier_type)(int)value;
  else if (which == 14)
    matrix->division = (damier_division)(int)value;
  else
    matrix->memory = (damier_memory)(int)value;
}

static damier_matrix any_division(const misuse *m, random_state *r, double *data) {
  const int ranks = m->test->run.ranks;
  const int desc[9] = {1, 0, N, N, 2, 3, 0, 0, N};
  switch (draw(r, 0, 2)) {
  case 0:
    return square(m, data);
  case 1:
    return damier_by_rows(DAMIER_F64, N, N, m->test->run.rank ? 0 : N, data, 0);
  default:
    return damier_scalapack(DAMIER_F64, desc, ranks, 1, 0, data);
  }
}

/* Most are refused; none may crash, hang, or leave the ranks with different answers. */
static void fuzz(misuse *m) {
  random_state r = {20261125};
  for (int i = 0; i < 400; i++) {
    damier_matrix all[3];
    double *const data[] = {m->a, m->b, m->c};
    damier_error error;
    for (int x = 0; x < 3; x++) all[x] = any_division(m, &r, data[x]);
    spoil(&r, &all[draw(&r, 0, 2)]);
    const int code = damier_multiply(m->context, &all[0], &all[1], &all[2], &error);
    int64_t extremes[2] = {code, -code};
    must(m->test, dm_comm_max_i64(m->test->run.world, extremes, 2));
    CHECK(m->test, extremes[0] == -extremes[1], "case %d: rank has %d, others %d", i, code,
          (int)extremes[0]);
    CHECK(m->test, code != DAMIER_E_BUG, "case %d: %s", i, error.message);
  }
}

/* ---- numbers ---- */

/* A and B have one such number, on the last rank; C gets nothing if it is refused. */
static void ranges(misuse *m) {
  static const double numbers[] = {3e38, 1e39, (double)INFINITY, -1e300};
  const damier_matrix divided = damier_by_rows(DAMIER_F64, N * m->test->run.ranks, N, N, m->a, 0);
  const damier_matrix c = damier_by_rows(DAMIER_F64, N * m->test->run.ranks, N, N, m->c, 0);
  const damier_matrix a = square(m, m->a), b = square(m, m->b), of_f64 = square(m, m->c);
  const bool last = m->test->run.rank == m->test->run.ranks - 1;
  for (int i = 0; i < 4; i++) {
    const bool fits = i % 2 == 0;
    for (int j = 0; j < N * N; j++) m->c[j] = 7;
    if (last) m->a[5] = numbers[i];
    multiply_narrower(m->test, m->context, &a, &b, &of_f64, fits);
    multiply_narrower(m->test, m->context, &b, &a, &of_f64, fits);
    multiply_narrower(m->test, m->context, &divided, &b, &c, fits);
    CHECK(m->test, fits || m->c[1] == 7, "C is changed");
    m->a[5] = 1;
  }
}

TEST_PROGRAM(test_library_misuse) {
  rank_test test = rank_test_start();
  misuse m = {.test = &test};
  damier_error error;
  m.a = memory_of(&test, 3 * 2 * N * N * 8);
  m.b = m.a + 2 * N * N;
  m.c = m.b + 2 * N * N;
  for (int i = 0; i < 6 * N * N; i++) m.a[i] = 1;
  const int code = damier_open(MPI_COMM_WORLD, &m.context, &error);
  CHECK(&test, code == DAMIER_OK, "%s", error.message);
  if (!code) {
    layouts(&m);
    fields(&m);
    overlap(&m);
    neighbours(&m);
    nulls(&m);
    communicators(&m);
    differ(&m);
    during(&m);
    fuzz(&m);
    ranges(&m);
  }
  damier_close(m.context);
  free(m.a);
  return rank_test_end(&test);
}
