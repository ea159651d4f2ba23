/* ranks: 1 2 3 5. The library multiplies batches in memory with random divisions over the ranks,
 * and in files, exactly; and its verification of a batch in files finds what is wrong. */
#include <stdio.h>
#include <unistd.h>

#include "library_matrices.h"

enum { CASES = 12, MOST = 40 };

/* The entries of a batch; those of A have m x k elements, those of B k x n, those of C m x n. */
typedef struct batch {
  int64_t entries, m, n, k;
} batch;

static double wanted(const batch *b, int64_t i, int64_t j, double alpha) {
  double sum = 0.0;
  for (int64_t x = 0; x < b->k; x++) sum += value(0, i, x, 0) * value(1, i / b->m * b->k + x, j, 0);
  return alpha * sum;
}

static int64_t wrong_of(rank_test *test, const spread *c, const batch *b, double alpha) {
  int64_t wrong = 0, row, col;
  for (int64_t i = 0; i < c->m.rows; i++)
    for (int64_t j = 0; j < c->m.cols; j++)
      if (owner(c, i, j, &row, &col) == test->run.rank)
        wrong += get(element(c, row, col), c->m.type, 0) != wanted(b, i, j, alpha);
  return wrong;
}

static void try_case(rank_test *test, damier_context *context, random_state *r, int number) {
  const damier_type type = draw(r, 0, 1) ? DAMIER_F64 : DAMIER_F32;
  const batch b = {draw(r, 2, 30), draw(r, 1, MOST), draw(r, 1, MOST), draw(r, 1, MOST)};
  const double alpha = (double)draw(r, 1, 2);
  spread of_a = random_spread(test, r, type, b.entries * b.m, b.k);
  spread of_b = random_spread(test, r, type, b.entries * b.k, b.n);
  spread of_c = random_spread(test, r, type, b.entries * b.m, b.n);
  fill(test, &of_a, 0);
  fill(test, &of_b, 1);
  state(context, "batch", "%d", (int)b.entries);
  state(context, "alpha", "%d", (int)alpha);
  damier_error error;
  const int code = damier_multiply(context, &of_a.m, &of_b.m, &of_c.m, &error);
  CHECK(test, code == DAMIER_OK, "case %d: %s", number, error.message);
  const int64_t wrong = code ? 0 : wrong_of(test, &of_c, &b, alpha);
  CHECK(test, wrong == 0, "case %d (%lld of %lld x %lld x %lld, divisions %d %d %d): %lld wrong",
        number, (long long)b.entries, (long long)b.m, (long long)b.n, (long long)b.k,
        of_a.m.division, of_b.m.division, of_c.m.division, (long long)wrong);
  free(of_a.m.data);
  free(of_b.m.data);
  free(of_c.m.data);
}

/* ---- files ---- */

/* As many unit matrices as there are entries. */
static damier_matrix units(rank_test *test, int64_t entries, int64_t size) {
  double *data = memory_of(test, entries * size * size * (int64_t)sizeof *data);
  for (int64_t i = 0; i < entries * size; i++)
    for (int64_t j = 0; j < size; j++) data[i * size + j] = i % size == j;
  return damier_on_one(DAMIER_F64, entries * size, size, 0, data, 0);
}

/* Writes ENTRIES matrices of ROWS x COLS, number WHICH of library_matrices.h, to FILE. */
static void store(rank_test *test, damier_context *context, int which, int64_t entries,
                  int64_t rows, int64_t cols, const char *file) {
  random_state r = {1};
  spread x = random_spread(test, &r, DAMIER_F64, entries * rows, cols);
  const damier_matrix unit = units(test, entries, cols), to = damier_file(file);
  damier_error error;
  fill(test, &x, which);
  const int code = damier_multiply(context, &x.m, &unit, &to, &error);
  CHECK(test, code == DAMIER_OK, "%s: %s", file, error.message);
  free(x.m.data);
  free(unit.data);
}

static int verify(damier_context *context, const char (*name)[64], damier_error *error) {
  const damier_matrix a = damier_file(name[0]), b = damier_file(name[1]), c = damier_file(name[2]);
  return damier_verify(context, &a, &b, &c, error);
}

static void in_files(rank_test *test, damier_context *context, char *folder) {
  enum { ENTRIES = 7, M = 12, N = 9, K = 20 };
  char name[3][64];
  damier_error error;
  for (int x = 0; x < 3; x++) snprintf(name[x], sizeof name[x], "%s/%c.h5:/x", folder, "abc"[x]);
  state(context, "batch", "%d", ENTRIES);
  state(context, "alpha", "%d", 1);
  store(test, context, 0, ENTRIES, M, K, name[0]);
  store(test, context, 1, ENTRIES, K, N, name[1]);
  state(context, "batch", "%d", 1);
  const damier_matrix a = damier_file(name[0]), b = damier_file(name[1]), c = damier_file(name[2]);
  for (int alpha = 1; alpha <= 2; alpha++) {
    state(context, "alpha", "%d", alpha);
    damier_set(context, "force", "yes", &error);
    int code = damier_multiply(context, &a, &b, &c, &error);
    CHECK(test, code == DAMIER_OK, "%s", error.message);
    CHECK(test, strstr(damier_record(context), "\"batch\":7") || test->run.rank > 0,
          "the record is '%.300s'", damier_record(context));
    state(context, "alpha", "%d", 1);
    code = verify(context, (const char(*)[64])name, &error);
    CHECK(test, code == (alpha == 1 ? DAMIER_OK : DAMIER_E_VERIFY), "alpha %d: %d, %s", alpha, code,
          error.message);
  }
}

TEST_PROGRAM(test_library_batch) {
  rank_test test = rank_test_start();
  random_state r = {20261125};
  damier_context *context;
  damier_error error;
  char folder[] = "/tmp/damier_batch_XXXXXX", name[64];
  if (test.run.rank == 0 && !mkdtemp(folder)) must(&test, dm_fail(DM_E_IO, "no folder"));
  must(&test, dm_comm_broadcast(test.run.world, folder, sizeof folder, 0));
  const int code = damier_open(MPI_COMM_WORLD, &context, &error);
  CHECK(&test, code == DAMIER_OK, "%s", error.message);
  for (int i = 0; i < CASES && !code; i++) try_case(&test, context, &r, i);
  if (!code) in_files(&test, context, folder);
  damier_close(context);
  for (int x = 0; x < 3 && test.run.rank == 0; x++) {
    snprintf(name, sizeof name, "%s/%c.h5", folder, "abc"[x]);
    unlink(name);
  }
  if (test.run.rank == 0) rmdir(folder);
  return rank_test_end(&test);
}
