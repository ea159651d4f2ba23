/* A symmetric C: products, and what is stored with its mirror images, cover each element once. */
#include <stdlib.h>

#include "engine/tile_states.h"
#include "plan/steps.h"
#include "plan/triangle.h"
#include "plan_cases.h"

enum { MOST = 700 };

/* Adds 1 for all elements on ROWS and COLS. */
static void add(int n, dm_range rows, dm_range cols, uint8_t *count) {
  for (int64_t i = rows.begin; i < rows.end; i++)
    for (int64_t j = cols.begin; j < cols.end; j++) count[i * n + j]++;
}

/* The stripes of a block. */
static void add_block(const dm_plan *plan, dm_range rows, dm_range cols, int64_t step,
                      uint8_t *count) {
  for (dm_stripe s; rows.begin < rows.end; rows.begin = s.rows.end) {
    s = dm_triangle_stripe(&plan->problem, rows, cols, step);
    assert_true(s.rows.begin == rows.begin && s.rows.end > s.rows.begin && s.rows.end <= rows.end);
    assert_true(s.cols >= s.square && cols.begin + s.cols <= cols.end);
    if (s.square > 0) assert_int_equal(cols.begin + s.cols, s.rows.end);
    add((int)plan->problem.n, s.rows, (dm_range){cols.begin, cols.begin + s.cols}, count);
  }
}

/* Blocks of all tiles that are computed, each by its first GEMM or its STRIPs. */
static void add_products(const dm_plan *plan, uint8_t *count) {
  for (int rank = 0; rank < plan->ranks; rank++) {
    const dm_coords at = dm_plan_coords(plan, rank);
    if (at.idle || at.l > 0) continue; /* all layers compute the same elements */
    dm_cursor cursor;
    dm_step of_rank;
    int64_t before = -1; /* the tile whose block has been added */
    dm_cursor_start(&cursor, plan, rank);
    while (dm_cursor_next(&cursor, &of_rank)) {
      const dm_range rows = dm_plan_rows(plan, of_rank.tile, at.i);
      const dm_range cols = dm_plan_cols(plan, of_rank.tile, at.j);
      const int64_t step = dm_triangle_step(dm_range_size(cols));
      if (of_rank.kind == DM_STEP_STRIP) {
        const dm_strip strip = dm_plan_strip(plan, at.i, of_rank.strip);
        const int64_t from = rows.begin + strip.from;
        add_block(plan, (dm_range){from, from + dm_range_size(strip.rows)}, cols, step, count);
      } else if (of_rank.kind == DM_STEP_GEMM && plan->strips == 0 && of_rank.tile != before) {
        add_block(plan, rows, cols, step, count);
        before = of_rank.tile;
      }
    }
  }
}

/* Stripes of HEIGHT rows, whose squares are complete, and then the images of what is beside them.
 */
static void add_stored_block(const dm_plan *plan, dm_range rows, dm_range cols, int64_t height,
                             uint8_t *count) {
  const int64_t last = rows.end < cols.end ? rows.end : cols.end;
  for (int64_t at = rows.begin; at < rows.end;) {
    const int64_t end = at + height < rows.end ? at + height : rows.end;
    const dm_stripe s = dm_triangle_stripe(&plan->problem, (dm_range){at, end}, cols, 0);
    add_block(plan, s.rows, cols, 0, count);
    at = s.rows.end;
  }
  for (int64_t col = cols.begin; col < last;) {
    const dm_extent part = dm_triangle_beside(rows, cols, col, height);
    assert_true(part.cols.begin == col && part.cols.end > col && part.cols.end <= col + height);
    assert_true(part.rows.begin >= rows.begin && part.rows.end == rows.end);
    add((int)plan->problem.n, part.cols, part.rows, count);
    col = part.cols.end;
  }
}

static void add_stored(const dm_plan *plan, int64_t height, uint8_t *count) {
  for (int64_t place = 0; place < dm_plan_todo(plan); place++) {
    const int64_t t = dm_plan_todo_tile(plan, place);
    for (int i = 0; i < plan->pm; i++)
      for (int j = 0; j < plan->pn; j++)
        for (int l = 0; l < plan->pk; l++)
          add_stored_block(plan, dm_plan_c_share(plan, t, i, l), dm_plan_cols(plan, t, j), height,
                           count);
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
    if (plan.strips == 0) plan.tiles_m = plan.tiles_n = roll(&d, 1, 5);
    dm_tile_states states;
    assert_null(dm_tile_states_open(dm_plan_tiles(&plan), &states));
    assert_null(dm_tile_states_choose(&states, DM_TILE_RECORDED, &plan));
    assert_int_equal(dm_plan_todo(&plan), dm_triangle_tiles(&plan));
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
    dm_tile_states_close(&states);
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

/* A tile is computed again if its image, or it itself, is not there. */
TEST(tiles_and_images) {
  dice d = {.seed = 32};
  for (int turn = 0; turn < 40; turn++) {
    const int64_t side = roll(&d, 1, 6);
    dm_plan plan = plan_on_grid(problem_of(600, 600, 640, DM_F64), 1, 1, 1);
    plan.problem.symmetry = DM_SYMMETRIC;
    plan.tiles_m = plan.tiles_n = side;
    dm_tile_states states;
    assert_null(dm_tile_states_open(side * side, &states));
    for (int64_t t = 0; t < side * side; t++)
      if (roll(&d, 0, 2)) dm_tile_reach(&states, t, DM_TILE_RECORDED);
    assert_null(dm_tile_states_choose(&states, DM_TILE_RECORDED, &plan));
    for (int64_t t = 0; t < side * side; t++) {
      const dm_tile tile = dm_plan_tile(&plan, t);
      const int64_t twin = dm_triangle_twin(&plan, t);
      const bool there =
          dm_tile_has(&states, t, DM_TILE_RECORDED) && dm_tile_has(&states, twin, DM_TILE_RECORDED);
      assert_int_equal(dm_triangle_twin(&plan, twin), t);
      assert_int_equal(dm_plan_tile_at(&plan, tile.r, tile.c), t);
      assert_int_equal(dm_triangle_is_image(&plan, t), tile.r < tile.c);
      assert_int_equal(dm_plan_todo_place(&plan, t) >= 0, tile.r >= tile.c && !there);
    }
    dm_tile_states_close(&states);
  }
}

RUN_ALL(test_plan_triangle)
