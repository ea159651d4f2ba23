/* A symmetric C: products, and what is stored with its mirror images, cover each element once. */
#include <stdlib.h>

#include "plan/steps.h"
#include "plan/triangle.h"
#include "plan_cases.h"

enum { MOST = 700 };

/* Adds the elements of rows of C that a rank computes or, with IMAGES, stores. */
static void add_stripe(int n, const dm_stripe *s, dm_range cols, bool images, uint8_t *count) {
  const int64_t beside = cols.begin + s->cols - s->square;
  for (int64_t i = s->rows.begin; i < s->rows.end; i++)
    for (int64_t j = cols.begin; j < cols.begin + s->cols; j++) {
      const bool mirrored = images && j >= beside && j > i;
      assert_true(j < cols.end);
      if (!images || !mirrored) count[i * n + j]++;
      if (mirrored) count[i * n + j]++; /* from within the square */
      if (images && j < beside) count[j * n + i]++;
    }
}

static void add_block(const dm_plan *plan, dm_range rows, dm_range cols, int64_t step, bool images,
                      uint8_t *count) {
  for (dm_stripe s; rows.begin < rows.end; rows.begin = s.rows.end) {
    s = dm_triangle_stripe(&plan->problem, rows, cols, step);
    assert_true(s.rows.begin == rows.begin && s.rows.end > s.rows.begin && s.rows.end <= rows.end);
    add_stripe((int)plan->problem.n, &s, cols, images, count);
  }
}

/* Every STRIP of the cursor, or else every block, as products do. */
static void add_products(const dm_plan *plan, uint8_t *count) {
  for (int rank = 0; rank < plan->ranks; rank++) {
    const dm_coords at = dm_plan_coords(plan, rank);
    if (at.idle || at.l > 0) continue; /* all layers compute the same elements */
    const dm_range rows = dm_plan_rows(plan, 0, at.i), cols = dm_plan_cols(plan, 0, at.j);
    const int64_t step = dm_triangle_step(dm_range_size(cols));
    dm_cursor cursor;
    dm_step of_rank;
    bool whole = plan->strips == 0;
    dm_cursor_start(&cursor, plan, rank);
    while (dm_cursor_next(&cursor, &of_rank)) {
      if (of_rank.kind == DM_STEP_STRIP) {
        const dm_strip strip = dm_plan_strip(plan, at.i, of_rank.strip);
        const int64_t from = rows.begin + strip.from;
        add_block(plan, (dm_range){from, from + dm_range_size(strip.rows)}, cols, step, false,
                  count);
      } else if (of_rank.kind == DM_STEP_GEMM && whole) {
        add_block(plan, rows, cols, step, false, count);
        whole = false;
      }
    }
  }
}

static void add_stored(const dm_plan *plan, int64_t height, uint8_t *count) {
  for (int i = 0; i < plan->pm; i++)
    for (int j = 0; j < plan->pn; j++)
      for (int l = 0; l < plan->pk; l++) {
        dm_range rows = dm_plan_c_share(plan, 0, i, l);
        const int64_t end = rows.end;
        for (; rows.begin < end; rows.begin = rows.end) { /* the strips of the file */
          rows.end = rows.begin + height < end ? rows.begin + height : end;
          add_block(plan, rows, dm_plan_cols(plan, 0, j), 0, true, count);
        }
      }
}

TEST(each_element_once) {
  dice d = {.seed = 31};
  uint8_t *products = malloc(MOST * MOST), *stored = malloc(MOST * MOST);
  assert_true(products && stored);
  for (int turn = 0; turn < 60; turn++) {
    const int n = (int)roll(&d, 8, MOST);
    dm_plan plan = plan_on_grid(problem_of(n, n, 640, DM_F64), (int)roll(&d, 1, 3),
                                (int)roll(&d, 1, 3), (int)roll(&d, 1, 3));
    plan.problem.symmetry = roll(&d, 0, 1) ? DM_SYMMETRIC : DM_HERMITIAN;
    plan.border = roll(&d, 0, 2) == 0 ? DM_BORDER : 0;
    if (roll(&d, 0, 1)) plan.strips = 2, plan.stretch = 1;
    memset(products, 0, MOST * MOST);
    memset(stored, 0, MOST * MOST);
    add_products(&plan, products);
    add_stored(&plan, roll(&d, 1, n), stored);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        assert_int_equal(stored[i * n + j], 1);
        if (j <= i) assert_int_equal(products[i * n + j], 1);
        assert_true(products[i * n + j] <= 1);
      }
  }
  free(products);
  free(stored);
}

TEST(half_of_the_work) {
  dm_plan plan = plan_on_grid(problem_of(8192, 8192, 8192, DM_F64), 1, 1, 1);
  assert_true(dm_triangle_fraction(&plan) == 1.0);
  plan.problem.symmetry = DM_SYMMETRIC;
  assert_true(dm_triangle_fraction(&plan) > 0.5 && dm_triangle_fraction(&plan) < 0.54);
}

RUN_ALL(test_plan_triangle)
