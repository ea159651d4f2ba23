/* The check of small entries: it passes every right product, and no product with one wrong element,
 * row or column; what is not plain is left to the full check. */
#include <math.h>
#include <string.h>

#include "check/entry_sums.h"
#include "checks.h"
#include "core/element.h"

enum { MOST = 40 };

/* Elements of one or two PARTS. */
typedef struct entry {
  int64_t m, n, k;
  bool narrow;
  int parts;
  double alpha[2];
  double wide[3][2 * MOST * MOST];
  float narrowed[3][2 * MOST * MOST];
} entry;

static double random_value(uint64_t *state) {
  *state = dm_mix(*state + 1);
  return dm_unit(*state) - 0.5;
}

static dm_view view_of(entry *e, int which, int64_t rows, int64_t cols) {
  static const dm_dtype types[2][2] = {{DM_F64, DM_F32}, {DM_C128, DM_C64}};
  void *base = e->narrow ? (void *)e->narrowed[which] : (void *)e->wide[which];
  return dm_view_strided(base, types[e->parts - 1][e->narrow], DM_HOST, rows, cols, MOST);
}

static double get(const entry *e, int which, int64_t i, int64_t j, int part) {
  const int64_t at = (i * MOST + j) * e->parts + part;
  if (part == e->parts) return 0.0;
  return e->narrow ? (double)e->narrowed[which][at] : e->wide[which][at];
}

static void put(entry *e, int which, int64_t i, int64_t j, int part, double value) {
  const int64_t at = (i * MOST + j) * e->parts + part;
  if (part == e->parts) return;
  e->wide[which][at] = value;
  e->narrowed[which][at] = (float)value;
}

static void multiply(entry *e) {
  for (int64_t i = 0; i < e->m; i++)
    for (int64_t j = 0; j < e->n; j++) {
      double sum[2] = {0.0, 0.0}, product[2] = {0.0, 0.0};
      for (int64_t l = 0; l < e->k; l++)
        dm_row_add(sum, (double[2]){get(e, 0, i, l, 0), get(e, 0, i, l, 1)},
                   (double[2]){get(e, 1, l, j, 0), get(e, 1, l, j, 1)}, 1.0);
      dm_row_add(product, e->alpha, sum, 1.0);
      for (int part = 0; part < e->parts; part++) put(e, 2, i, j, part, product[part]);
    }
}

static entry random_entry(uint64_t *state, bool narrow, int parts) {
  entry e = {.narrow = narrow, .parts = parts, .alpha = {-1.5, parts == 2 ? 0.5 : 0.0}};
  e.m = 1 + (int64_t)(dm_mix(*state) % MOST);
  e.n = 1 + (int64_t)(dm_mix(*state + 7) % MOST);
  e.k = 1 + (int64_t)(dm_mix(*state + 9) % MOST);
  for (int x = 0; x < 3; x++)
    for (int i = 0; i < MOST * MOST; i++)
      for (int part = 0; part < parts; part++) put(&e, x, 0, i, part, random_value(state));
  multiply(&e);
  return e;
}

static dm_row_factors factors_of(const entry *e) {
  const double unit = e->narrow ? 0x1p-24 : 0x1p-53;
  return (dm_row_factors){.alpha = {e->alpha[0], e->alpha[1]},
                          .accumulate = unit * e->parts,
                          .result = unit,
                          .depth = sqrt((double)e->k),
                          .largest = 1e30};
}

static bool passes(dm_entry_sums *sums, entry *e) {
  return dm_entry_sums_operands(sums, view_of(e, 0, e->m, e->k), view_of(e, 1, e->k, e->n)) &&
         dm_entry_sums_judge(sums, view_of(e, 2, e->m, e->n), 0);
}

static dm_entry_sums *sums_of(const entry *e, uint64_t seed) {
  const dm_problem problem = {
      .m = e->m, .n = e->n, .k = e->k, .work = e->parts == 2 ? DM_C128 : DM_F64};
  const dm_row_factors factors = factors_of(e);
  dm_entry_sums *sums;
  assert_null(dm_entry_sums_new(&problem, &factors, seed, &sums));
  return sums;
}

TEST(test_right_and_wrong) {
  uint64_t random = 3;
  for (int i = 0; i < 600; i++) {
    entry e = random_entry(&random, i % 2, 1 + i / 2 % 2);
    dm_entry_sums *sums = sums_of(&e, random);
    assert_true(passes(sums, &e));
    const int64_t row = (int64_t)(dm_mix(random + 1) % (uint64_t)e.m);
    const int64_t col = (int64_t)(dm_mix(random + 2) % (uint64_t)e.n);
    const int part = i / 4 % e.parts;
    const double before = get(&e, 2, row, col, part);
    put(&e, 2, row, col, part, before + (e.narrow ? 1e-2 : 1e-9));
    assert_false(passes(sums, &e));
    put(&e, 2, row, col, part, before);
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
    entry e = random_entry(&random, false, 1 + i / 4 % 2);
    dm_entry_sums *sums = sums_of(&e, random);
    const int which = i % 2;
    const int64_t rows = which ? e.k : e.m, cols = which ? e.n : e.k;
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < cols; c++)
        for (int part = 0; part < e.parts; part++)
          put(&e, which, r, c, part, i < 32 ? odd[i / 8] : 0.0);
    multiply(&e);
    assert_false(passes(sums, &e));
    assert_true(dm_entry_sums_found(sums).checked == 0);
    dm_entry_sums_free(sums);
  }
}

RUN_ALL(test_check_entry_sums)
