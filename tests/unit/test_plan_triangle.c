/* A symmetric C: products compute each element or its mirror image, and what is stored covers each
 * element once. */
#include <stdlib.h>

#include "plan/partition.h"
#include "plan/steps.h"
#include "plan/tiles.h"
#include "plan_cases.h"

enum { MOST = 700 };

/* Adds 1 for all elements on ROWS and COLS. */
static void add(int n, dm_range rows, dm_range cols, uint8_t *count) {
  for (int64_t i = rows.begin; i < rows.end; i++)
    for (int64_t j = cols.begin; j < cols.end; j++) count[i * n + j]++;
}

typedef struct counting {
  const dm_plan *plan;
  dm_range rows; /* that rectangles may have */
  uint8_t *count;
} counting;

static dm_status add_rectangle(void *context, dm_extent part) {
  const counting *c = context;
  assert_true(part.rows.begin < part.rows.end && part.cols.begin < part.cols.end);
  assert_true(part.rows.begin >= c->rows.begin && part.rows.end <= c->rows.end);
  add((int)c->plan->problem.n, part.rows, part.cols, c->count);
  return NULL;
}

/* Products of ROWS of a block; what a square's products leave out, its strips mirror. */
static void add_block(const dm_plan *plan, int64_t tile, dm_coords at, dm_range rows, bool mirrors,
                      uint8_t *count) {
  counting c = {plan, rows, count};
  assert_null(dm_triangle_each(plan, tile, at.i, at.j, rows, add_rectangle, &c));
  if (!mirrors || !dm_triangle_is_square(plan, tile, at.i, at.j)) return;
  const int64_t n = plan->problem.n, first = dm_plan_cols(plan, tile, at.j).begin;
  for (int64_t i = rows.begin; i < rows.end; i++)
    for (int64_t j = first; j < i; j++) count[j * n + i] = 1;
}

/* Blocks of all tiles that are computed, each by its first GEMM or its STRIPs; strips in the order
 * in which they are stored: then their rows must be complete. */
static void add_products(const dm_plan *plan, bool mirrors, uint8_t *count) {
  for (int rank = 0; rank < plan->ranks; rank++) {
    const dm_coords at = dm_plan_coords(plan, rank);
    if (at.idle || at.l > 0) continue; /* all layers compute the same elements */
    dm_cursor cursor;
    dm_step of_rank;
    int64_t before = -1; /* the tile whose block has been added */
    dm_cursor_start(&cursor, plan, rank);
    while (dm_cursor_next(&cursor, &of_rank)) {
      const dm_range rows = dm_plan_rows(plan, of_rank.tile, at.i);
      if (of_rank.kind == DM_STEP_STRIP || of_rank.kind == DM_STEP_STORE) {
        if (of_rank.strip < 0) continue;
        const dm_strip strip = dm_plan_strip(plan, at.i, of_rank.strip);
        const int64_t from = rows.begin + strip.from;
        const dm_range part = {from, from + dm_range_size(strip.rows)};
        if (of_rank.kind == DM_STEP_STRIP) add_block(plan, 0, at, part, mirrors, count);
        for (int64_t i = part.begin; i < part.end && of_rank.kind == DM_STEP_STORE && mirrors; i++)
          for (int64_t j = 0; j < plan->problem.n; j++)
            assert_int_equal(count[i * plan->problem.n + j], 1);
      } else if (of_rank.kind == DM_STEP_GEMM && plan->strips == 0 && of_rank.tile != before) {
        add_block(plan, of_rank.tile, at, rows, mirrors, count);
        before = of_rank.tile;
      }
    }
  }
}

/* What each rank stores of its rows: a part of them and, unless the block is a square, its image.
 */
static void add_stored(const dm_plan *plan, uint8_t *count) {
  const int n = (int)plan->problem.n;
  for (int64_t place = 0; place < dm_plan_todo(plan); place++) {
    const int64_t t = dm_plan_todo_tile(plan, place);
    for (int i = 0; i < plan->pm; i++)
      for (int j = 0; j < plan->pn; j++)
        for (int l = 0; l < plan->pk; l++) {
          const dm_range rows = dm_plan_c_share(plan, t, i, l);
          dm_extent part = dm_triangle_part(plan, t, i, j);
          if (part.rows.begin < rows.begin) part.rows.begin = rows.begin;
          if (part.rows.end > rows.end) part.rows.end = rows.end;
          add(n, part.rows, part.cols, count);
          if (dm_triangle_has_image(plan, t, i, j)) add(n, part.cols, part.rows, count);
        }
  }
}

/* On a square grid, in strips or tiles. */
static dm_plan symmetric_plan(dice *d, int n, bool *strips) {
  const int side = (int)roll(d, 1, 3), layers = (int)roll(d, 1, 3);
  dm_plan plan = plan_on_grid(problem_of(n, n, 640, DM_F64), side, side, layers);
  plan.problem.symmetry = roll(d, 0, 1) ? DM_SYMMETRIC : DM_HERMITIAN;
  plan.border = roll(d, 0, 2) == 0 ? DM_BORDER : 0;
  *strips = side == 1 && layers == 1 && roll(d, 0, 1);
  if (*strips)
    plan.strips = (int)roll(d, 1, 4), plan.stretch = 1;
  else
    plan.tiles_m = plan.tiles_n = roll(d, 1, 5);
  return plan;
}

TEST(each_element_once) {
  dice d = {.seed = 31};
  uint8_t *products = malloc(MOST * MOST), *stored = malloc(MOST * MOST);
  assert_true(products && stored);
  for (int turn = 0; turn < 60; turn++) {
    const int n = (int)roll(&d, 8, MOST);
    bool strips;
    dm_plan plan = symmetric_plan(&d, n, &strips);
    dm_tile_states states;
    assert_null(dm_tile_states_open(dm_plan_tiles(&plan), &states));
    assert_null(dm_tile_states_choose(&states, DM_TILE_RECORDED, &plan));
    assert_int_equal(dm_plan_todo(&plan), dm_triangle_tiles(&plan));
    memset(products, 0, MOST * MOST);
    memset(stored, 0, MOST * MOST);
    add_products(&plan, false, products);
    add_stored(&plan, stored);
    for (int i = 0; i < n; i++)
      for (int j = 0; j <= i; j++) {
        const int below = products[i * n + j], above = products[j * n + i];
        const bool square = dm_triangle_has_images(&plan) == false;
        assert_int_equal(stored[i * n + j], 1);
        assert_int_equal(stored[j * n + i], 1);
        assert_true(below <= 1 && above <= 1 && below + above >= 1);
        if (square) assert_int_equal(below, 1);
      }
    memset(products, 0, MOST * MOST);
    if (strips) add_products(&plan, true, products);
    dm_tile_states_close(&states);
  }
  free(products);
  free(stored);
}

/* Squares are cut: half of C and little more; pairs of blocks share the work evenly. */
TEST(half_of_the_work) {
  dm_plan plan = plan_on_grid(problem_of(8192, 8192, 8192, DM_F64), 1, 1, 1);
  assert_true(dm_triangle_fraction(&plan) == 1.0);
  plan.problem.symmetry = DM_SYMMETRIC;
  assert_true(dm_triangle_fraction(&plan) > 0.5 && dm_triangle_fraction(&plan) < 0.54);
  plan.pm = plan.pn = 3;
  assert_true(dm_triangle_fraction(&plan) > 0.5 && dm_triangle_fraction(&plan) < 0.63);
  dm_plan on_gpu = plan_on_grid(problem_of(16384, 16384, 16384, DM_F64), 1, 1, 1);
  on_gpu.problem.symmetry = DM_SYMMETRIC;
  on_gpu.gpu = true;
  assert_true(dm_triangle_fraction(&on_gpu) == 0.5625);
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
