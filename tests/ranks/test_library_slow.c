/* ranks: 1 2 3 4. A product in a file that is much slower than predicted is computed anew in tiles,
 * on every grid, for every kind of C, and is right; one without checkpoints, within its interval,
 * or that cannot be cut goes on. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "library_matrices.h"

/* Rank 0 sleeps after its first panel: at that pace all of them take far more than a second, the
 * longest tile. */
typedef struct sleeper {
  int rank, panels;
  bool slept;
  double begun;
} sleeper;

static int sleep_once(void *context, int64_t done, int64_t total) {
  sleeper *s = context;
  const double passed = dm_now() - s->begun; /* on a busy machine too much of it before */
  const double seconds = 2 * passed > 1.1 ? 2 * passed : 1.1;
  const struct timespec moment = {(time_t)seconds,
                                  (long)((seconds - (double)(time_t)seconds) * 1e9)};
  if (s->rank > 0 || s->slept || done == 0) return 0;
  s->slept = true;
  s->panels = (int)total;
  nanosleep(&moment, NULL);
  return 0;
}

typedef struct slow_case {
  const char *name, *grid, *option, *value, *suffix;
  const char *back;  /* the option's value for the other cases; NULL: the default */
  int64_t m;         /* 0: M */
  int entries, gram; /* of the batch; op(A) op(A)^t */
  bool old;          /* C += A B */
  bool goes_on;      /* as it is */
} slow_case;

enum { M = 300, N = 260, K = 512 * 10 };

static const char *const grids[] = {"", "1x1x1", "1x2x1", "1x1x3", "2x1x2"}; /* by ranks; "": any */

static damier_matrix on_one(rank_test *test, int64_t rows, int64_t cols, int which) {
  double *data = memory_of(test, rows * cols * (int64_t)sizeof *data);
  for (int64_t i = 0; i < rows * cols; i++)
    data[i] =
        which < 0 ? (double)(i / cols % cols == i % cols) : value(which, i / cols, i % cols, 0);
  return damier_on_one(DAMIER_F64, rows, cols, 0, data, 0);
}

static void set(rank_test *test, damier_context *context, const char *option, const char *value) {
  damier_error error;
  const int code = damier_set(context, option, value, &error);
  CHECK(test, code == DAMIER_OK, "%s=%s: %s", option, value ? value : "default", error.message);
}

static void must_multiply(rank_test *test, damier_context *context, const slow_case *s,
                          const damier_matrix *a, const damier_matrix *b, const damier_matrix *c) {
  damier_error error;
  const int code =
      s->gram ? damier_gram(context, a, 1, c, &error) : damier_multiply(context, a, b, c, &error);
  CHECK(test, code == DAMIER_OK, "%s: %s", s->name, error.message);
}

/* The elements that FILE has: its product with a unit matrix. */
static void compare(rank_test *test, damier_context *context, const slow_case *s, const char *file,
                    const damier_matrix *want) {
  const damier_matrix c = damier_file(file),
                      unit =
                          on_one(test, (s->entries ? s->entries : 1) * want->cols, want->cols, -1);
  const damier_matrix got = on_one(test, want->rows, want->cols, 0);
  const slow_case plain = {.name = s->name};
  must_multiply(test, context, &plain, &c, &unit, &got);
  CHECK(test,
        test->run.rank > 0 ||
            memcmp(got.data, want->data, (size_t)(want->rows * want->cols) * sizeof(double)) == 0,
        "%s: C is wrong", s->name);
  free(unit.data);
  free(got.data);
}

static void check_record(rank_test *test, damier_context *context, const slow_case *s,
                         const sleeper *sleeps) {
  const char *record = damier_record(context);
  const bool anew = strstr(record, "\"slower\":") && strstr(record, "\"repeated_s\":") &&
                    !strstr(record, "\"tiles\":1,");
  const bool stayed = !strstr(record, "\"slower\":") && !strstr(record, "\"repeated_s\":");
  if (test->run.rank == 0)
    CHECK(test, sleeps->slept && (s->goes_on ? stayed : anew), "%s, %d panels: %s", s->name,
          sleeps->panels, record);
}

static void try_case(rank_test *test, damier_context *context, const char *folder,
                     const slow_case *s) {
  const int64_t entries = s->entries ? s->entries : 1, m = s->gram ? N : s->m ? s->m : M;
  damier_error error;
  char file[96], old[96];
  snprintf(file, sizeof file, "%s/c%s", folder, s->suffix ? s->suffix : ".h5");
  snprintf(old, sizeof old, "%s/old.h5", folder);
  damier_matrix a = on_one(test, entries * m, K, 0), b = on_one(test, entries * K, N, 1);
  damier_matrix want = on_one(test, entries * m, s->gram ? m : N, 2), c = damier_file(file);
  const damier_matrix before = damier_file(old), unit = on_one(test, want.cols, want.cols, -1);
  const slow_case plain = {.name = s->name};
  if (s->old) must_multiply(test, context, &plain, &want, &unit, &before);
  set(test, context, "panel", s->m ? "512" : "64");
  if (s->option) set(test, context, s->option, s->value);
  if (s->grid && s->grid[0]) set(test, context, "grid", s->grid);
  state(context, "batch", "%d", (int)entries);
  state(context, "beta", "%d", s->old);
  must_multiply(test, context, s, &a, &b, &want); /* in memory */
  sleeper sleeps = {.rank = test->run.rank, .begun = dm_now()};
  damier_on_progress(context, sleep_once, &sleeps);
  if (s->old) damier_old_c(context, &before, &error);
  must_multiply(test, context, s, &a, &b, &c);
  damier_on_progress(context, NULL, NULL);
  check_record(test, context, s, &sleeps);
  set(test, context, "beta", NULL);
  damier_old_c(context, NULL, &error);
  set(test, context, "grid", NULL);
  if (s->option) set(test, context, s->option, s->back);
  compare(test, context, s, file, &want);
  set(test, context, "batch", NULL);
  free(a.data);
  free(b.data);
  free(want.data);
  free(unit.data);
  must(test, dm_comm_barrier(test->run.world));
  if (test->run.rank == 0) unlink(file);
  if (test->run.rank == 0 && s->old) unlink(old);
}

TEST_PROGRAM(test_library_slow) {
  rank_test test = rank_test_start();
  damier_context *context;
  damier_error error;
  char folder[] = "/tmp/damier_slow_XXXXXX";
  if (test.run.rank == 0 && !mkdtemp(folder)) must(&test, dm_fail(DM_E_IO, "no folder"));
  must(&test, dm_comm_broadcast(test.run.world, folder, sizeof folder, 0));
  const slow_case cases[] = {
      {.name = "plain"},
      {.name = "grid", .grid = grids[test.run.ranks]},
      {.name = "gram", .gram = 1},
      {.name = "npy", .suffix = ".npy"},
      {.name = "an old C", .old = true},
      {.name = "a batch", .entries = 3, .goes_on = true},
      {.name = "reproducible",
       .option = "reproducible",
       .value = "yes",
       .back = "no",
       .m = 256 * 8},
      {.name = "chunks", .option = "chunk", .value = "64x64"},
      {.name = "without checkpoints", .option = "checkpoint", .value = "no", .goes_on = true},
      {.name = "a longer interval",
       .option = "checkpoint-interval",
       .value = "1h",
       .goes_on = true},
  };
  const int code = damier_open(MPI_COMM_WORLD, &context, &error);
  CHECK(&test, code == DAMIER_OK, "%s", error.message);
  set(&test, context, "machine", "gflops=1e5 copy=1e4 link=1e4 read=1e4 write=1e4");
  set(&test, context, "checkpoint-interval", "0");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0] && !code; i++)
    try_case(&test, context, folder, &cases[i]);
  damier_close(context);
  if (test.run.rank == 0) CHECK(&test, rmdir(folder) == 0, "%s is not empty", folder);
  return rank_test_end(&test);
}
