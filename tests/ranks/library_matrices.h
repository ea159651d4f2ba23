/* library_matrices: matrices for tests of the library: random divisions, integers, and the owner of
 * each element, computed independently of the library. */
#ifndef DM_TESTS_LIBRARY_MATRICES_H
#define DM_TESTS_LIBRARY_MATRICES_H

#include <damier.h>

#include "core/copy.h"
#include "rank_test.h"

typedef struct random_state {
  uint64_t state;
} random_state;

static inline int64_t draw(random_state *r, int64_t least, int64_t most) {
  r->state = dm_mix(r->state + 0x9e3779b97f4a7c15u);
  return least + (int64_t)(r->state % (uint64_t)(most - least + 1));
}

/* ---- the owner of element (i, j) ---- */

typedef struct spread {
  damier_matrix m;
  int64_t first_row[9]; /* BY_ROWS: of each rank, at most 8, and after the last */
} spread;

static inline int owner(const spread *s, int64_t i, int64_t j, int64_t *row, int64_t *col) {
  const damier_matrix *m = &s->m;
  *row = i;
  *col = j;
  if (m->division == DAMIER_REPLICATED) return -1; /* all */
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

static inline void divide_rows(random_state *r, int ranks, int rank, spread *s) {
  int64_t left = s->m.rows;
  for (int i = 0; i < ranks; i++) {
    const int64_t size = i + 1 == ranks ? left : draw(r, 0, left);
    s->first_row[i + 1] = s->first_row[i] + size;
    left -= size;
  }
  s->m.own_rows = s->first_row[rank + 1] - s->first_row[rank];
}

static inline void divide_cyclic(random_state *r, int ranks, spread *s) {
  damier_matrix *m = &s->m;
  m->grid_rows = (int)draw(r, 1, ranks);
  m->grid_cols = (int)draw(r, 1, ranks / m->grid_rows);
  m->row_block = draw(r, 1, 20);
  m->col_block = draw(r, 1, 20);
  m->first_row = (int)draw(r, 0, m->grid_rows - 1);
  m->first_col = (int)draw(r, 0, m->grid_cols - 1);
  m->column_major = (int)draw(r, 0, 1);
}

/* Bytes of a rank's memory: room for the whole matrix and for gaps. */
static inline int64_t spread_bytes(const spread *s) {
  return (s->m.rows + 3) * (s->m.cols + 3) * dm_dtype_size((dm_dtype)s->m.type);
}

/* All ranks draw the same division. */
static inline spread random_spread(rank_test *test, random_state *r, damier_type type, int64_t rows,
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
  s.m.data = memory_of(test, spread_bytes(&s));
  memset(s.m.data, 0x7f, (size_t)spread_bytes(&s));
  return s;
}

/* ---- elements ---- */

/* Integers, also in imaginary parts. */
static inline double value(int which, int64_t i, int64_t j, int part) {
  return (double)(int64_t)(dm_mix((uint64_t)(((which * 1000 + i) * 1000 + j) * 2 + part)) % 7) - 3;
}

static inline void *element(const spread *s, int64_t row, int64_t col) {
  return (char *)s->m.data +
         (row * s->m.row_stride + col * s->m.col_stride) * dm_dtype_size((dm_dtype)s->m.type);
}

static inline void put(void *at, damier_type type, double re, double im) {
  const double parts[] = {re, im};
  dm_store_wide(at, (dm_dtype)type, 1, parts, 1);
}

static inline double get(const void *at, damier_type type, int part) {
  double parts[2];
  dm_load_wide(parts, at, (dm_dtype)type, 1, 1);
  return parts[part];
}

static inline void fill(rank_test *test, const spread *s, int which) {
  int64_t row, col;
  for (int64_t i = 0; i < s->m.rows; i++)
    for (int64_t j = 0; j < s->m.cols; j++)
      if (owner(s, i, j, &row, &col) == test->run.rank || s->m.division == DAMIER_REPLICATED)
        put(element(s, row, col), s->m.type, value(which, i, j, 0), value(which, i, j, 1));
}

/* Whether the numbers of A and B are multiplied as f32: refused are finite ones that would become
 * infinite. */
static inline void multiply_narrower(rank_test *test, damier_context *context,
                                     const damier_matrix *a, const damier_matrix *b,
                                     const damier_matrix *c, bool fits) {
  static const char *const options[] = {"type", "allow-unchecked", "verify"};
  damier_error error;
  for (int verify = 0; verify < 2; verify++) {
    const char *const values[] = {"f32", "yes", verify ? "yes" : "no"};
    for (int i = 0; i < 3; i++)
      CHECK(test, !damier_set(context, options[i], values[i], &error), "%s", error.message);
    const int code = damier_multiply(context, a, b, c, &error);
    CHECK(test, code == (fits ? DAMIER_OK : DAMIER_E_INPUT), "%d: %s", code, error.message);
    CHECK(test, fits || strstr(error.message, "beyond the range of f32"), "%s", error.message);
    CHECK(test, fits || error.agreed, "not agreed: %s", error.message);
  }
  for (int i = 0; i < 3; i++) damier_set(context, options[i], NULL, &error);
}

/* ---- products ---- */

typedef struct equation {
  char op_a, op_b;
  int alpha, beta;
  bool is_complex;
} equation;

static inline void add_product(const equation *e, int64_t i, int64_t j, int64_t k, double sum[2]) {
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

/* Whether element AT of C differs from the expected one, rounded once. */
static inline bool is_wrong(const void *at, damier_type type, const equation *e, int64_t i,
                            int64_t j, int64_t k) {
  double sum[2] = {0, 0}, want[2];
  char rounded[16];
  for (int64_t x = 0; x < k; x++) add_product(e, i, j, x, sum);
  for (int part = 0; part < 2; part++)
    want[part] = e->alpha * sum[part] + e->beta * value(2, i, j, part);
  put(rounded, type, want[0], want[1]);
  bool wrong = false;
  for (int part = 0; part <= (int)e->is_complex; part++)
    wrong |= get(at, type, part) != get(rounded, type, part);
  return wrong;
}

static inline int64_t count_wrong(rank_test *test, const spread *c, const equation *e, int64_t k) {
  int64_t wrong = 0, row, col;
  for (int64_t i = 0; i < c->m.rows; i++)
    for (int64_t j = 0; j < c->m.cols; j++)
      if (owner(c, i, j, &row, &col) == test->run.rank)
        wrong += is_wrong(element(c, row, col), c->m.type, e, i, j, k);
  return wrong;
}

static inline void state(damier_context *context, const char *name, const char *format,
                         int number) {
  char text[32];
  snprintf(text, sizeof text, format, number);
  damier_set(context, name, text, NULL);
}

#endif
