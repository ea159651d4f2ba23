/* ranks: 1 2 3 4. The library reads each matrix from a file or from memory, in all combinations,
 * and computes C in tiles if memory is short: random cases, exact. */
#include <unistd.h>

#include "inspect/inspect.h"
#include "io/output.h"
#include "io/read.h"
#include "lib/create_output.h"
#include "library_matrices.h"

#ifndef PLACES_CASES /* fewer if each takes long */
#define PLACES_CASES 24
#endif
#ifndef PLACES_MEMORY /* the limited memory */
#define PLACES_MEMORY "host"
#define PLACES_BESIDE 200000 /* bytes in addition to A, B and C */
#define PLACES_FOR_HOSTS 1
#define PLACES_FOR(of) (5 * (of.m + of.n) * of.k + of.m * of.n / 2)
#else /* of a device: no readers */
#define PLACES_FOR(of) (3 * (of.m + of.n) * of.k + of.m * of.n / 3)
#endif
enum { CASES = PLACES_CASES, MOST = 70 };

static char folder[64];

/* ---- files ---- */

static void name_file(char path[128], int which, int number) {
  snprintf(path, 128, "%s/%c%d.h5", folder, "ABO"[which], number);
}

/* Rank 0 writes integers, as in fill. */
static void write_file(rank_test *test, const char *path, damier_type type, int64_t rows,
                       int64_t cols, int which) {
  dm_location at = {.dataset = "/x"};
  dm_output_file file;
  dm_output *output;
  bool named;
  snprintf(at.file, sizeof at.file, "%s", path);
  const dm_dtype dtype = (dm_dtype)type;
  dm_view view = dm_view_row_major(memory_of(test, rows * cols * 16), dtype, rows, cols);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++)
      put(dm_view_at(view, i, j), type, value(which, i, j, 0), value(which, i, j, 1));
  must(test, create_output(&at, dtype, rows, cols, &file));
  must(test, dm_output_open(&file, &output));
  must(test, dm_output_write(output, 0, 0, view));
  must(test, dm_output_close(output));
  must(test, dm_output_commit(&file, &(dm_output_completion){.force = true}, NULL, &named));
  dm_output_release(&file);
  free(view.base);
}

static int64_t wrong_in_file(rank_test *test, const char *path, damier_type type, int64_t m,
                             int64_t n, const equation *e, int64_t k) {
  const dm_trust trust = {0};
  dm_location at;
  dm_dataset dataset;
  dm_reader *reader;
  int64_t wrong = 0;
  must(test, dm_location_parse(path, &at));
  must(test, dm_file_inspect(&at, &trust, &dataset, NULL));
  CHECK(test, dataset.rows == m && dataset.cols == n, "the shape of C");
  CHECK(test, dataset.dtype == (dm_dtype)type, "C is %s", dm_dtype_name(dataset.dtype));
  must(test, dm_reader_open(&dataset, DM_DTYPE_NONE, &reader));
  const dm_view view = dm_view_row_major(memory_of(test, m * n * 16), (dm_dtype)type, m, n);
  must(test, dm_reader_read(reader, 0, 0, &view, 1, false));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) wrong += is_wrong(dm_view_at(view, i, j), type, e, i, j, k);
  dm_reader_close(reader);
  free(view.base);
  return wrong;
}

/* ---- a matrix somewhere ---- */

typedef struct place {
  bool in_file;
  char path[128];
  spread s;
  damier_matrix m;
} place;

/* WHICH: 0 and 1 are A and B, 2 is the old C. */
static place put_somewhere(rank_test *test, random_state *r, int number, int which,
                           damier_type type, int64_t rows, int64_t cols) {
  place p = {.in_file = draw(r, 0, 1)};
  if (!p.in_file) {
    p.s = random_spread(test, r, type, rows, cols);
    fill(test, &p.s, which);
    p.m = p.s.m;
    return p;
  }
  name_file(p.path, which, number);
  if (test->run.rank == 0) write_file(test, p.path, type, rows, cols, which);
  return p;
}

/* Call when *P is at its final address: the matrix points to PATH. */
static const damier_matrix *matrix_of(place *p) {
  if (p->in_file) p->m = damier_file(p->path);
  return &p->m;
}

static void drop(rank_test *test, place *p) {
  if (p->in_file && test->run.rank == 0) unlink(p->path);
  free(p->s.m.data);
}

/* ---- one case ---- */

typedef struct shape {
  int64_t m, n, k;
  bool in_tiles; /* memory is short */
} shape;

/* Room for A and B, panels of them, their readers, and half of C. */
static void limit_memory(damier_context *context, shape of, damier_type type, int ranks) {
  const int64_t size = dm_dtype_size((dm_dtype)type);
  char memory[64];
  if (!of.in_tiles) return;
  snprintf(memory, sizeof memory, PLACES_MEMORY "=%lld",
           (long long)(PLACES_BESIDE + size * PLACES_FOR(of) / ranks));
  damier_set(context, "memory", memory, NULL);
}

static equation random_equation(random_state *r, damier_context *context, damier_type type) {
  const equation e = {"ntc"[draw(r, 0, 2)], "ntc"[draw(r, 0, 2)], (int)draw(r, -2, 2),
                      (int)draw(r, 0, 2), type == DAMIER_C64 || type == DAMIER_C128};
  state(context, "op-a", "%c", e.op_a);
  state(context, "op-b", "%c", e.op_b);
  state(context, "alpha", "%d", e.alpha);
  state(context, "beta", "%d", e.beta);
  return e;
}

static void check_result(rank_test *test, const place *c, const equation *e, shape of, int number,
                         damier_type type) {
  int64_t wrong = 0;
  if (!c->in_file)
    wrong = count_wrong(test, &c->s, e, of.k);
  else if (test->run.rank == 0)
    wrong = wrong_in_file(test, c->path, type, of.m, of.n, e, of.k);
  CHECK(test, wrong == 0, "case %d (%c%c beta %d, %lld x %lld x %lld, C in %s): %lld wrong", number,
        e->op_a, e->op_b, e->beta, (long long)of.m, (long long)of.n, (long long)of.k,
        c->in_file ? "a file" : "memory", (long long)wrong);
}

static void try_case(rank_test *test, damier_context *context, random_state *r, shape of,
                     int number) {
  static const damier_type types[] = {DAMIER_F64, DAMIER_C128, DAMIER_C64,
                                      DAMIER_F16, DAMIER_F32,  DAMIER_I8};
  const damier_type type = types[draw(r, 0, of.in_tiles ? 2 : 5)]; /* others need more memory */
  const damier_type type_c = type == DAMIER_I8 ? DAMIER_I32 : type;
  const equation e = random_equation(r, context, type);
  damier_error error;
  damier_set(context, "type-c", dm_dtype_name((dm_dtype)type_c), &error); /* type of a file */
  limit_memory(context, of, type, test->run.ranks);
  place a = put_somewhere(test, r, number, 0, type, e.op_a == 'n' ? of.m : of.k,
                          e.op_a == 'n' ? of.k : of.m);
  place b = put_somewhere(test, r, number, 1, type, e.op_b == 'n' ? of.k : of.n,
                          e.op_b == 'n' ? of.n : of.k);
  place old = put_somewhere(test, r, number, 2, type_c, of.m, of.n);
  /* strips of a C in a file need more memory than it has */
  place c = {.in_file = !of.in_tiles && draw(r, 0, 1),
             .s = random_spread(test, r, type_c, of.m, of.n)};
  const bool own = !c.in_file && draw(r, 0, 1); /* beta applies to the elements of C */
  c.m = c.s.m;
  snprintf(c.path, sizeof c.path, "%s/C%d.h5", folder, number);
  if (own) fill(test, &c.s, 2);
  damier_old_c(context, own || e.beta == 0 ? NULL : matrix_of(&old), &error);
  must(test, dm_comm_barrier(test->run.world));
  const int code = damier_multiply(context, matrix_of(&a), matrix_of(&b), matrix_of(&c), &error);
  CHECK(test, code == DAMIER_OK, "case %d: %s", number, error.message);
  if (!code) check_result(test, &c, &e, of, number, type_c);
  must(test, dm_comm_barrier(test->run.world));
  drop(test, &a);
  drop(test, &b);
  drop(test, &old);
  drop(test, &c);
}

/* ---- tiles ---- */

static int64_t number_of(const char *record, const char *field) {
  const char *at = strstr(record, field);
  return at ? strtoll(at + strlen(field), NULL, 10) : -1;
}

static int count_calls(void *most, int64_t done, int64_t total) {
  int64_t *before = most;
  if (done < *before || done > total) *before = INT64_MAX; /* it decreased */
  if (*before != INT64_MAX) *before = done;
  return 0;
}

static void in_tiles(rank_test *test, damier_context *context, random_state *r) {
  const shape of = {500, 460, 30, .in_tiles = true};
  int64_t done = 0;
  damier_error error;
  for (int i = 0; i < CASES / 4; i++) {
    done = 0;
    damier_on_progress(context, count_calls, &done);
    try_case(test, context, r, of, CASES + i);
    const int64_t tiles = number_of(damier_record(context), "\"tiles\":");
    CHECK(test, test->run.rank > 0 || tiles > 1, "case %d is not cut", i);
    CHECK(test, done != INT64_MAX, "the progress went back");
  }
  damier_on_progress(context, NULL, NULL);
  damier_set(context, "memory", NULL, &error);
}

#ifdef PLACES_FOR_HOSTS
/* A does not fit: it stays in its file, whatever the places of B and C. */
static void beside_a_large_file(rank_test *test, damier_context *context) {
  enum { M = 160, K = 40000, N = 5 };
  const damier_type type = DAMIER_F64;
  random_state r = {7};
  const equation e = {'n', 'n', 1, 0, false};
  damier_error error;
  char memory[64];
  snprintf(memory, sizeof memory, "host=%d", 6000000);
  damier_set(context, "memory", memory, &error);
  damier_set(context, "op-a", NULL, &error), damier_set(context, "op-b", NULL, &error);
  damier_set(context, "alpha", NULL, &error), damier_set(context, "beta", NULL, &error);
  damier_set(context, "type-c", NULL, &error);
  for (int to_file = 0; to_file < 2; to_file++) {
    place a = {.in_file = true}, c = {.in_file = to_file, .s = random_spread(test, &r, type, M, N)};
    place b = {.s = random_spread(test, &r, type, K, N)};
    name_file(a.path, 0, 100 + to_file);
    if (test->run.rank == 0) write_file(test, a.path, type, M, K, 0);
    fill(test, &b.s, 1);
    b.m = b.s.m;
    c.m = c.s.m;
    snprintf(c.path, sizeof c.path, "%s/C%d.h5", folder, 100 + to_file);
    must(test, dm_comm_barrier(test->run.world));
    const int code = damier_multiply(context, matrix_of(&a), matrix_of(&b), matrix_of(&c), &error);
    CHECK(test, code == DAMIER_OK, "%s", error.message);
    CHECK(test, test->run.rank > 0 || strstr(damier_record(context), "\"a_in\":\"file\""),
          "A does not stay in its file: %s", damier_record(context));
    if (!code) check_result(test, &c, &e, (shape){M, N, K, false}, to_file, type);
    must(test, dm_comm_barrier(test->run.world));
    drop(test, &a), drop(test, &b), drop(test, &c);
  }
  damier_set(context, "memory", NULL, &error);
}

static int cut_file(void *path, int64_t done, int64_t total) {
  return done < total && truncate(path, 4096) < 0;
}

/* A file that ends early while the library reads it costs the product, not the process. */
static void truncated(rank_test *test, damier_context *context, bool fits) {
  enum { M = 160, K = 40000, N = 5 };
  const damier_type type = DAMIER_F64;
  random_state r = {11};
  const equation e = {'n', 'n', 1, 0, false};
  damier_error error;
  place a = {.in_file = true}, c = {.s = random_spread(test, &r, type, M, N)};
  place b = {.in_file = fits, .s = random_spread(test, &r, type, K, N)};
  damier_set(context, "memory", fits ? NULL : "host=6000000", &error);
  name_file(a.path, 0, 300 + fits);
  if (test->run.rank == 0) write_file(test, a.path, type, M, K, 0);
  name_file(b.path, 1, 300);
  if (fits && test->run.rank == 0) write_file(test, b.path, type, K, N, 1);
  fill(test, &b.s, 1);
  b.m = b.s.m;
  c.m = c.s.m;
  must(test, dm_comm_barrier(test->run.world));
  damier_on_progress(context, cut_file, a.path);
  const int code = damier_multiply(context, matrix_of(&a), matrix_of(&b), matrix_of(&c), &error);
  CHECK(test, code == DAMIER_E_IO || (fits && code == DAMIER_OK), "%d: %s", code, error.message);
  if (!code) check_result(test, &c, &e, (shape){M, N, K, false}, 300, type);
  must(test, dm_comm_barrier(test->run.world));
  drop(test, &a), drop(test, &b), drop(test, &c);
  damier_on_progress(context, NULL, NULL);
  damier_set(context, "memory", NULL, &error);
}

typedef struct stopping {
  int64_t total;
  bool stops;
} stopping;

static int stop_late(void *context, int64_t done, int64_t total) {
  stopping *s = context;
  s->total = total;
  if (!s->stops || 2 * done < total) return 0;
  usleep(100000); /* ranks learn of it within 0.2 s */
  return 1;
}

/* A C in a file is resumed where A and B are in memory, unless they have changed. */
static void resumes(rank_test *test, damier_context *context) {
  enum { SIZE = 2000, K = 40 };
  const damier_type type = DAMIER_F64;
  random_state r = {9};
  damier_error error;
  stopping s = {.stops = true};
  place a = {.s = random_spread(test, &r, type, SIZE, K)}, c = {.in_file = true};
  place b = {.s = random_spread(test, &r, type, K, SIZE)};
  const equation e = {'n', 'n', 1, 0, false};
  char memory[64];
  snprintf(memory, sizeof memory, "host=%d",
           1000000 + 8 * (6 * SIZE * K + SIZE * SIZE / 8) / test->run.ranks);
  damier_set(context, "memory", memory, &error);
  damier_set(context, "checkpoint-interval", "0", &error);
  fill(test, &a.s, 0), fill(test, &b.s, 1);
  a.m = a.s.m, b.m = b.s.m;
  snprintf(c.path, sizeof c.path, "%s/C%d.h5", folder, 200);
  damier_on_progress(context, stop_late, &s);
  int code = damier_multiply(context, matrix_of(&a), matrix_of(&b), matrix_of(&c), &error);
  const int64_t whole = s.total;
  CHECK(test, code == DAMIER_E_STOPPED, "%d: %s", code, error.message);
  s.stops = false;
  code = damier_multiply(context, matrix_of(&b), matrix_of(&a), matrix_of(&c), &error);
  CHECK(test, code == DAMIER_E_IO, "another product goes on with it: %d: %s", code, error.message);
  s.total = 0; /* it stays, if every tile was recorded before the ranks learned of the stop */
  code = damier_multiply(context, matrix_of(&a), matrix_of(&b), matrix_of(&c), &error);
  CHECK(test, code == DAMIER_OK, "%s", error.message);
  CHECK(test, s.total < whole, "all %lld panels are multiplied again", (long long)s.total);
  if (!code) check_result(test, &c, &e, (shape){SIZE, SIZE, K, false}, 200, type);
  must(test, dm_comm_barrier(test->run.world));
  drop(test, &a), drop(test, &b), drop(test, &c);
  damier_on_progress(context, NULL, NULL);
  damier_set(context, "memory", NULL, &error);
  damier_set(context, "checkpoint-interval", NULL, &error);
}
#endif

/* C does not fit, in any number of tiles. */
static void too_large(rank_test *test, damier_context *context) {
  double *data = memory_of(test, 2 * 8 * 400 * 400);
  damier_error error;
  memset(data, 0, 8 * 400 * 400);
  const damier_matrix m = damier_on_one(DAMIER_F64, 400, 400, 0, data, 0);
  const damier_matrix c = damier_on_one(DAMIER_F64, 400, 400, 0, data + 400 * 400, 0);
  damier_set(context, "memory", "host=100K", &error);
  damier_old_c(context, NULL, &error);
  damier_set(context, "beta", NULL, &error);
  damier_set(context, "type-c", NULL, &error);
  const int code = damier_multiply(context, &m, &m, &c, &error);
  CHECK(test, code == DAMIER_E_FIT && error.agreed && error.hint[0], "%d: %s", code, error.message);
  damier_set(context, "memory", NULL, &error);
  free(data);
}

TEST_PROGRAM(test_library_places) {
  rank_test test = rank_test_start();
  random_state r = {20251124};
  damier_context *context;
  damier_error error;
  strcpy(folder, "/tmp/damier_places_XXXXXX");
  if (test.run.rank == 0 && !mkdtemp(folder)) must(&test, dm_fail(DM_E_IO, "no folder"));
  must(&test, dm_comm_broadcast(test.run.world, folder, sizeof folder, 0));
  const int code = damier_open(MPI_COMM_WORLD, &context, &error);
  CHECK(&test, code == DAMIER_OK, "%s", error.message);
  for (int i = 0; i < CASES && !code; i++) {
    const shape of = {.m = draw(&r, 1, MOST), .n = draw(&r, 1, MOST), .k = draw(&r, 1, 3 * MOST)};
    try_case(&test, context, &r, of, i);
  }
  if (!code) in_tiles(&test, context, &r);
  if (!code) too_large(&test, context);
#ifdef PLACES_FOR_HOSTS
  if (!code) beside_a_large_file(&test, context);
  for (int fits = 0; fits < 2 && !code; fits++) truncated(&test, context, fits);
  if (!code) resumes(&test, context);
#endif
  damier_close(context);
  if (test.run.rank == 0) rmdir(folder);
  return rank_test_end(&test);
}
