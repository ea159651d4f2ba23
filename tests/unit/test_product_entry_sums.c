/* The check of small entries: it passes every right product, and no product with one wrong element,
 * row or column; what is not plain is left to the full check. */
#include <math.h>
#include <string.h>

#include "check/entry_sums.h"
#include "checks.h"
#include "core/element.h"

enum { MOST = 40 };

typedef struct entry {
  int64_t m, n, k;
  bool narrow;
  double wide[3][MOST * MOST];
  float narrowed[3][MOST * MOST];
} entry;

static double random_value(uint64_t *state) {
  *state = dm_mix(*state + 1);
  return dm_unit(*state) - 0.5;
}

static dm_view view_of(entry *e, int which, int64_t rows, int64_t cols) {
  void *base = e->narrow ? (void *)e->narrowed[which] : (void *)e->wide[which];
  return dm_view_strided(base, e->narrow ? DM_F32 : DM_F64, DM_HOST, rows, cols, MOST);
}

static double get(const entry *e, int which, int64_t i, int64_t j) {
  return e->narrow ? (double)e->narrowed[which][i * MOST + j] : e->wide[which][i * MOST + j];
}

static void put(entry *e, int which, int64_t i, int64_t j, double value) {
  e->wide[which][i * MOST + j] = value;
  e->narrowed[which][i * MOST + j] = (float)value;
}

static void multiply(entry *e) {
  for (int64_t i = 0; i < e->m; i++)
    for (int64_t j = 0; j < e->n; j++) {
      double sum = 0.0;
      for (int64_t l = 0; l < e->k; l++) sum += get(e, 0, i, l) * get(e, 1, l, j);
      put(e, 2, i, j, sum);
    }
}

static entry random_entry(uint64_t *state, bool narrow) {
  entry e = {.narrow = narrow};
  e.m = 1 + (int64_t)(dm_mix(*state) % MOST);
  e.n = 1 + (int64_t)(dm_mix(*state + 7) % MOST);
  e.k = 1 + (int64_t)(dm_mix(*state + 9) % MOST);
  for (int x = 0; x < 3; x++)
    for (int i = 0; i < MOST * MOST; i++) put(&e, x, 0, i, random_value(state));
  multiply(&e);
  return e;
}

static dm_row_factors factors_of(const entry *e) {
  const double unit = e->narrow ? 0x1p-24 : 0x1p-53;
  return (dm_row_factors){.alpha = {1.0, 0.0},
                          .accumulate = unit,
                          .result = unit,
                          .depth = sqrt((double)e->k),
                          .largest = 1e30};
}

static bool passes(dm_entry_sums *sums, entry *e) {
  return dm_entry_sums_operands(sums, view_of(e, 0, e->m, e->k), view_of(e, 1, e->k, e->n)) &&
         dm_entry_sums_judge(sums, view_of(e, 2, e->m, e->n), 0);
}

static dm_entry_sums *sums_of(const entry *e, uint64_t seed) {
  const dm_problem problem = {.m = e->m, .n = e->n, .k = e->k};
  const dm_row_factors factors = factors_of(e);
  dm_entry_sums *sums;
  assert_null(dm_entry_sums_new(&problem, &factors, seed, &sums));
  return sums;
}

TEST(test_right_and_wrong) {
  uint64_t random = 3;
  for (int i = 0; i < 400; i++) {
    entry e = random_entry(&random, i % 2);
    dm_entry_sums *sums = sums_of(&e, random);
    assert_true(passes(sums, &e));
    const int64_t row = (int64_t)(dm_mix(random + 1) % (uint64_t)e.m);
    const int64_t col = (int64_t)(dm_mix(random + 2) % (uint64_t)e.n);
    const double before = get(&e, 2, row, col);
    put(&e, 2, row, col, before + (e.narrow ? 1e-2 : 1e-9));
    assert_false(passes(sums, &e));
    put(&e, 2, row, col, before);
    const dm_rows_found found = dm_entry_sums_found(sums);
    assert_true(found.checked == e.m && found.residual <= 1.0);
    dm_entry_sums_free(sums);
  }
}

/* NaN, Inf, columns and rows of zeros, and exponents whose squares overflow. */
TEST(test_not_plain) {
  static const double odd[] = {NAN, INFINITY, 1e200, 1e-200};
  uint64_t random = 5;
  for (int i = 0; i < 40; i++) {
    entry e = random_entry(&random, false);
    dm_entry_sums *sums = sums_of(&e, random);
    const int which = i % 2;
    const int64_t rows = which ? e.k : e.m, cols = which ? e.n : e.k;
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < cols; c++) put(&e, which, r, c, i < 32 ? odd[i / 8] : 0.0);
    multiply(&e);
    assert_false(passes(sums, &e));
    assert_true(dm_entry_sums_found(sums).checked == 0);
    dm_entry_sums_free(sums);
  }
}

RUN_ALL(test_product_entry_sums)
