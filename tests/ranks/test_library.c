/* ranks: 1 2 3 4.  The library multiplies matrices in memory, however they are divided over the
 * ranks: random divisions, shapes, types and equations, exact, and calls that are refused. */
#include <damier.h>
#include <math.h>

#include "rank_test.h"

#ifndef LIBRARY_CASES /* fewer where each takes long */
#define LIBRARY_CASES 20
#endif
enum { CASES = LIBRARY_CASES, MOST = 90 };

typedef struct random_state {
  uint64_t state;
} random_state;

static int64_t draw(random_state *r, int64_t least, int64_t most) {
  r->state = dm_mix(r->state + 0x9e3779b97f4a7c15u);
  return least + (int64_t)(r->state % (uint64_t)(most - least + 1));
}

/* ---- who has element (i, j), said in another way than the library does ---- */

typedef struct spread {
  damier_matrix m;
  int64_t first_row[8]; /* BY_ROWS: of each rank, and behind the last */
} spread;

static int owner(const spread *s, int64_t i, int64_t j, int64_t *row, int64_t *col) {
  const damier_matrix *m = &s->m;
  *row = i;
  *col = j;
  if (m->division == DAMIER_ON_ONE) return m->rank;
  if (m->division == DAMIER_BY_ROWS) {
    int rank = 0;
    while (i >= s->first_row[rank + 1]) rank++;
    *row = i - s->first_row[rank];
    return rank;
  }
  const int64_t r = i / m->row_block, c = j / m->col_block;
  const int pr = (int)((r + m->first_row) % m->grid_rows);
  const int pc = (int)((c + m->first_col) % m->grid_cols);
  *row = r / m->grid_rows * m->row_block + i % m->row_block;
  *col = c / m->grid_cols * m->col_block + j % m->col_block;
  return m->column_major ? pc * m->grid_rows + pr : pr * m->grid_cols + pc;
}

static void divide_rows(random_state *r, int ranks, int rank, spread *s) {
  int64_t left = s->m.rows;
  for (int i = 0; i < ranks; i++) {
    const int64_t size = i + 1 == ranks ? left : draw(r, 0, left);
    s->first_row[i + 1] = s->first_row[i] + size;
    left -= size;
  }
  s->m.own_rows = s->first_row[rank + 1] - s->first_row[rank];
}

static void divide_cyclic(random_state *r, int ranks, spread *s) {
  damier_matrix *m = &s->m;
  m->grid_rows = (int)draw(r, 1, ranks);
  m->grid_cols = (int)draw(r, 1, ranks / m->grid_rows);
  m->row_block = draw(r, 1, 20);
  m->col_block = draw(r, 1, 20);
  m->first_row = (int)draw(r, 0, m->grid_rows - 1);
  m->first_col = (int)draw(r, 0, m->grid_cols - 1);
  m->column_major = (int)draw(r, 0, 1);
}

/* All ranks draw the same. */
static spread random_spread(rank_test *test, random_state *r, damier_type type, int64_t rows,
                            int64_t cols) {
  spread s = {.m = {.type = type, .rows = rows, .cols = cols}};
  s.m.division = (damier_division)draw(r, DAMIER_BY_ROWS, DAMIER_BLOCK_CYCLIC);
  s.m.rank = (int)draw(r, 0, test->run.ranks - 1);
  if (s.m.division == DAMIER_BY_ROWS) divide_rows(r, test->run.ranks, test->run.rank, &s);
  if (s.m.division == DAMIER_BLOCK_CYCLIC) divide_cyclic(r, test->run.ranks, &s);
  const bool by_columns = draw(r, 0, 1);
  const int64_t pad = draw(r, 0, 3);
  s.m.row_stride = by_columns ? 1 : cols + pad;
  s.m.col_stride = by_columns ? rows + pad : 1;
  s.m.data = memory_of(test, (rows + 3) * (cols + 3) * dm_dtype_size((dm_dtype)type));
  memset(s.m.data, 0x7f, (size_t)((rows + 3) * (cols + 3) * dm_dtype_size((dm_dtype)type)));
  return s;
}

/* ---- elements ---- */

/* Whole numbers; of complex ones the imaginary part, too. */
static double value(int which, int64_t i, int64_t j, int part) {
  return (double)(int64_t)(dm_mix((uint64_t)(((which * 1000 + i) * 1000 + j) * 2 + part)) % 7) - 3;
}

static void *element(const spread *s, int64_t row, int64_t col) {
  return (char *)s->m.data +
         (row * s->m.row_stride + col * s->m.col_stride) * dm_dtype_size((dm_dtype)s->m.type);
}

static void put(void *at, damier_type type, double re, double im) {
  if (type == DAMIER_F64) *(double *)at = re;
  if (type == DAMIER_F32) *(float *)at = (float)re;
  if (type == DAMIER_I8) *(int8_t *)at = (int8_t)re;
  if (type == DAMIER_I32) *(int32_t *)at = (int32_t)re;
  if (type == DAMIER_C64) ((float *)at)[0] = (float)re, ((float *)at)[1] = (float)im;
}

static double get(const void *at, damier_type type, int part) {
  if (type == DAMIER_F64) return *(const double *)at;
  if (type == DAMIER_F32) return *(const float *)at;
  if (type == DAMIER_I8) return *(const int8_t *)at;
  if (type == DAMIER_I32) return *(const int32_t *)at;
  return ((const float *)at)[part];
}

static void fill(rank_test *test, const spread *s, int which) {
  int64_t row, col;
  for (int64_t i = 0; i < s->m.rows; i++)
    for (int64_t j = 0; j < s->m.cols; j++)
      if (owner(s, i, j, &row, &col) == test->run.rank)
        put(element(s, row, col), s->m.type, value(which, i, j, 0), value(which, i, j, 1));
}

/* ---- one case ---- */

typedef struct equation {
  char op_a, op_b;
  int alpha, beta;
  bool is_complex;
} equation;

static void add_product(const equation *e, int64_t i, int64_t j, int64_t k, double sum[2]) {
  const bool ta = e->op_a != 'n', tb = e->op_b != 'n';
  double a[2], b[2];
  for (int part = 0; part < 2; part++) {
    a[part] = part && !e->is_complex ? 0 : value(0, ta ? k : i, ta ? i : k, part);
    b[part] = part && !e->is_complex ? 0 : value(1, tb ? j : k, tb ? k : j, part);
  }
  if (e->op_a == 'c') a[1] = -a[1];
  if (e->op_b == 'c') b[1] = -b[1];
  sum[0] += a[0] * b[0] - a[1] * b[1];
  sum[1] += a[0] * b[1] + a[1] * b[0];
}

static int64_t count_wrong(rank_test *test, const spread *c, const equation *e, int64_t k) {
  int64_t wrong = 0, row, col;
  for (int64_t i = 0; i < c->m.rows; i++)
    for (int64_t j = 0; j < c->m.cols; j++) {
      double sum[2] = {0, 0};
      if (owner(c, i, j, &row, &col) != test->run.rank) continue;
      for (int64_t x = 0; x < k; x++) add_product(e, i, j, x, sum);
      for (int part = 0; part <= (int)e->is_complex; part++) {
        const double want = e->alpha * sum[part] + e->beta * value(2, i, j, part);
        wrong += get(element(c, row, col), c->m.type, part) != want;
      }
    }
  return wrong;
}

static void state(damier_context *context, const char *name, const char *format, int number) {
  char text[32];
  snprintf(text, sizeof text, format, number);
  damier_set(context, name, text, NULL);
}

static void try_case(rank_test *test, damier_context *context, random_state *r, int number) {
  static const damier_type types[] = {DAMIER_F64, DAMIER_F32, DAMIER_C64, DAMIER_I8};
  const damier_type type = types[draw(r, 0, 3)];
  const equation e = {"ntc"[draw(r, 0, 2)], "ntc"[draw(r, 0, 2)], (int)draw(r, -2, 2),
                      (int)draw(r, 0, 2), type == DAMIER_C64};
  const int64_t m = draw(r, 1, MOST), n = draw(r, 1, MOST), k = draw(r, 1, 3 * MOST);
  spread a = random_spread(test, r, type, e.op_a == 'n' ? m : k, e.op_a == 'n' ? k : m);
  spread b = random_spread(test, r, type, e.op_b == 'n' ? k : n, e.op_b == 'n' ? n : k);
  spread c = random_spread(test, r, type == DAMIER_I8 ? DAMIER_I32 : type, m, n);
  fill(test, &a, 0);
  fill(test, &b, 1);
  if (e.beta) fill(test, &c, 2);
  state(context, "op-a", "%c", e.op_a);
  state(context, "op-b", "%c", e.op_b);
  state(context, "alpha", "%d", e.alpha);
  state(context, "beta", "%d", e.beta);
  state(context, "panel", "%d", 64 * (int)draw(r, 1, 2));
  damier_error error;
  const int code = damier_multiply(context, &a.m, &b.m, &c.m, &error);
  CHECK(test, code == DAMIER_OK, "case %d: %s", number, error.message);
  const int64_t wrong = code ? 0 : count_wrong(test, &c, &e, k);
  CHECK(test, wrong == 0, "case %d (%c%c, %lld x %lld x %lld, divisions %d %d %d): %lld wrong",
        number, e.op_a, e.op_b, (long long)m, (long long)n, (long long)k, a.m.division,
        b.m.division, c.m.division, (long long)wrong);
  free(a.m.data);
  free(b.m.data);
  free(c.m.data);
}

/* ---- what is refused ---- */

static void refuse(rank_test *test, damier_context *context, damier_matrix a, damier_matrix b,
                   damier_matrix c, int code, const char *words) {
  damier_error error;
  const int got = damier_multiply(context, &a, &b, &c, &error);
  CHECK(test, got == code && error.agreed && strstr(error.message, words), "'%s' %d: '%s'", words,
        got, error.message);
}

static void refusals(rank_test *test, damier_context *context) {
  double data[16] = {0};
  damier_error error;
  const int64_t own = test->run.rank == 0 ? 4 : 0;
  const damier_matrix fine = damier_by_rows(DAMIER_F64, 4, 4, own, data, 0);
  damier_matrix few = fine, nowhere = fine, nothing = fine, flat = fine;
  static const char *const options[] = {"op-a", "op-b", "alpha", "beta", "panel"};
  for (int i = 0; i < 5; i++) damier_set(context, options[i], NULL, &error);
  few.own_rows = 0;
  refuse(test, context, few, fine, fine, DAMIER_E_USAGE, "A: it has 4 rows, but the ranks have 0");
  nowhere.division = DAMIER_ON_ONE;
  nowhere.rank = 99;
  refuse(test, context, fine, nowhere, fine, DAMIER_E_USAGE, "B: there is no rank 99");
  nothing.data = NULL;
  refuse(test, context, fine, fine, nothing, DAMIER_E_USAGE, "C: this rank has elements");
  flat.rows = 3;
  refuse(test, context, fine, flat, fine, DAMIER_E_INPUT, "inner dimensions differ");
  refuse(test, context, damier_file("A.h5"), fine, fine, DAMIER_E_USAGE, "some in memory");
  CHECK(test, damier_set(context, "grid", "0x1", &error) == DAMIER_E_USAGE, "a grid of 0x1");
  CHECK(test, damier_set(context, "json", "x", &error) == DAMIER_E_USAGE, "an option of programs");
}

/* ---- progress, cancelling, records ---- */

static int cancel(void *count, int64_t done, int64_t total) {
  (void)total;
  ++*(int *)count;
  return done >= 0;
}

static void extras(rank_test *test, damier_context *context) {
  double a[4] = {1, 2, 3, 4}, c[4] = {7, 7, 7, 7};
  damier_error error;
  const damier_matrix m = damier_on_one(DAMIER_F64, 2, 2, 0, a, 0);
  const damier_matrix result = damier_on_one(DAMIER_F64, 2, 2, 0, c, 0);
  CHECK(test, damier_plan(context, &m, &m, &result, &error) == DAMIER_OK, "%s", error.message);
  CHECK(test, c[0] == 7, "a plan changes C");
  CHECK(test, (strstr(damier_record(context), "\"recipe\"") != NULL) == (test->run.rank == 0),
        "the record is '%s'", damier_record(context));
  CHECK(test, damier_multiply(context, &m, &m, &result, &error) == DAMIER_OK, "%s", error.message);
  CHECK(test, test->run.rank > 0 || c[3] == 22, "%g is not 22", c[3]);
  a[0] = NAN;
  c[3] = 0;
  CHECK(test, damier_multiply(context, &m, &m, &result, &error) == DAMIER_E_UNCHECKED,
        "NaN passes");
  CHECK(test, test->run.rank > 0 || c[3] == 22, "%g is not 22", c[3]);
  damier_set(context, "allow-unchecked", NULL, &error);
  CHECK(test, damier_multiply(context, &m, &m, &result, &error) == DAMIER_OK, "%s", error.message);
  CHECK(test, damier_verify(context, &m, &m, &result, &error) == DAMIER_E_USAGE,
        "matrices in memory are verified");
  CHECK(test, damier_info(context, NULL, &error) == DAMIER_OK, "%s", error.message);
  CHECK(test, (strstr(damier_record(context), "\"libraries\"") != NULL) == (test->run.rank == 0),
        "the record is '%s'", damier_record(context));
  CHECK(test,
        damier_info(context, "/nowhere/A.h5", &error) == DAMIER_E_INPUT ||
            error.code == DAMIER_E_IO,
        "%d for a file that is missing", error.code);
  CHECK(test, damier_record(context)[0] == '\0', "a failed look leaves a record");
  int calls = 0;
  damier_on_progress(context, cancel, &calls);
  const int code = damier_multiply(context, &m, &m, &result, &error);
  CHECK(test, code == DAMIER_OK || (code == DAMIER_E_STOPPED && calls > 0), "%d", code);
  damier_on_progress(context, NULL, NULL);
}

TEST_PROGRAM(test_library) {
  rank_test test = rank_test_start();
  random_state r = {20251123};
  damier_context *context;
  damier_error error;
  const int code = damier_open(MPI_COMM_WORLD, &context, &error);
  CHECK(&test, code == DAMIER_OK, "%s", error.message);
  for (int i = 0; i < CASES && !code; i++) try_case(&test, context, &r, i);
  if (!code) refusals(&test, context);
  if (!code) extras(&test, context);
  damier_close(context);
  return rank_test_end(&test);
}
