/* A symmetric C: products compute each element or its mirror image, and what is stored covers each
 * element once. */
#include <stdlib.h>

#include "plan/partition.h"
#include "plan/steps.h"
#include "plan/tiles.h"
#include "plan_cases.h"
#include "steps/simulate.h"

enum { MOST = 1900, DEEP = 4 }; /* rows of C, panels of k */

/* Adds 1 for all elements on ROWS and COLS; of a SQUARE only for those on and below the diagonal of
 * C, as the others are mirrored. */
static void add(int n, dm_range rows, dm_range cols, bool square, uint8_t *count) {
  for (int64_t i = rows.begin; i < rows.end; i++)
    for (int64_t j = cols.begin; j < (square ? dm_min(cols.end, i + 1) : cols.end); j++)
      count[i * n + j]++;
}

typedef struct counting {
  const dm_plan *plan;
  dm_range rows; /* that rectangles may have */
  bool square;
  uint8_t *count;
} counting;

static dm_status add_rectangle(void *context, dm_extent part) {
  const counting *c = context;
  assert_true(part.rows.begin < part.rows.end && part.cols.begin < part.cols.end);
  assert_true(part.rows.begin >= c->rows.begin && part.rows.end <= c->rows.end);
  add((int)c->plan->problem.n, part.rows, part.cols, c->square, c->count);
  return NULL;
}

/* Products of ROWS of a block with one panel. */
static void add_block(const dm_plan *plan, int64_t tile, dm_coords at, dm_range rows,
                      uint8_t *count) {
  counting c = {plan, rows, dm_triangle_is_square(plan, tile, at.i, at.j), count};
  assert_null(dm_triangle_each(plan, tile, at.i, at.j, rows, add_rectangle, &c));
}

/* What a strip's products leave out, those of the strips before it have mirrored. */
static void check_strip(const dm_plan *plan, dm_range rows, const uint8_t *count) {
  const int64_t n = plan->problem.n;
  for (int64_t i = rows.begin; i < rows.end; i++)
    for (int64_t j = 0; j < n; j++)
      assert_int_equal(count[dm_max(i, j) * n + dm_min(i, j)], plan->panels);
}

/* The products of all steps of a rank, and its strips when they are stored. */
static void add_products(const dm_plan *plan, int rank, uint8_t *count) {
  const dm_coords at = dm_plan_coords(plan, rank);
  dm_cursor cursor;
  dm_step of_rank;
  dm_cursor_start(&cursor, plan, rank);
  while (dm_cursor_next(&cursor, &of_rank)) {
    dm_range rows = dm_plan_rows(plan, of_rank.tile, at.i);
    if (of_rank.kind == DM_STEP_GEMM) add_block(plan, of_rank.tile, at, rows, count);
    if (of_rank.strip < 0) continue;
    const dm_strip strip = dm_plan_strip(plan, at.i, of_rank.strip);
    const int64_t from = rows.begin + strip.from;
    rows = (dm_range){from, from + dm_range_size(strip.rows)};
    for (int64_t p = 0; p < plan->stretch && of_rank.kind == DM_STEP_STRIP; p++)
      add_block(plan, 0, at, rows, count);
    if (of_rank.kind == DM_STEP_STORE) check_strip(plan, rows, count);
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
          add(n, part.rows, part.cols, false, count);
          if (dm_triangle_has_image(plan, t, i, j)) add(n, part.cols, part.rows, false, count);
        }
  }
}

/* On a square grid, in strips or tiles; X in memory, or read tile by tile. */
static dm_plan symmetric_plan(dice *d, int n, bool *strips) {
  const int side = roll(d, 0, 1) ? 1 : (int)roll(d, 2, 3), layers = (int)roll(d, 1, 3);
  dm_plan plan =
      plan_on_grid(problem_of(n, n, DEEP * DM_PANEL_STEP - 7, DM_F64), side, side, layers);
  plan.problem.symmetry = roll(d, 0, 2) ? DM_SYMMETRIC : DM_HERMITIAN;
  plan.problem.op_a = roll(d, 0, 1) ? DM_OP_N : DM_OP_C;
  plan.problem.op_b = plan.problem.op_a == DM_OP_N ? DM_OP_C : DM_OP_N;
  plan.problem.verify = roll(d, 0, 1);
  plan.border = roll(d, 0, 2) == 0 ? DM_BORDER : 0;
  plan.gpu = roll(d, 0, 1);
  *strips = side == 1 && layers == 1 && roll(d, 0, 1);
  if (*strips) {
    plan.strips = (int)roll(d, 1, 4), plan.stretch = roll(d, 1, DEEP);
    plan.a = plan.b = plan.gpu ? DM_IN_DEVICE : DM_IN_HOST;
  } else {
    plan.tiles_m = plan.tiles_n = roll(d, 0, 1) ? 1 : roll(d, 2, 5);
    plan.a = plan.b = roll(d, 0, 1) ? DM_IN_FILE : DM_IN_HOST;
    plan.reads = plan.slots + 1;
  }
  return plan;
}

/* Every panel is multiplied once for each element or its mirror image. */
TEST(each_element_once) {
  dice d = {.seed = 31};
  uint8_t *products = malloc(MOST * MOST), *stored = malloc(MOST * MOST);
  int shared = 0, layers = 0, tiles = 0, streams = 0;
  assert_true(products && stored);
  for (int turn = 0; turn < 90; turn++) {
    const int n = (int)(roll(&d, 0, 3) ? roll(&d, 8, 500) : roll(&d, 500, MOST));
    bool strips;
    dm_plan plan = symmetric_plan(&d, n, &strips);
    dm_tile_states states;
    assert_null(dm_tile_states_open(dm_plan_tiles(&plan), &states));
    assert_null(dm_tile_states_choose(&states, DM_TILE_RECORDED, &plan));
    assert_int_equal(dm_plan_todo(&plan), dm_triangle_tiles(&plan));
    ok(dm_plan_simulate(&plan));
    memset(products, 0, MOST * MOST);
    memset(stored, 0, MOST * MOST);
    for (int rank = 0; rank < plan.ranks; rank++) add_products(&plan, rank, products);
    add_stored(&plan, stored);
    for (int i = 0; i < n; i++)
      for (int j = 0; j <= i; j++) {
        assert_int_equal(stored[i * n + j], 1);
        assert_int_equal(stored[j * n + i], 1);
        const int image = i > j ? products[j * n + i] : 0;
        assert_int_equal(products[i * n + j] + image, plan.panels);
        assert_true(image == 0 || image == plan.panels);
      }
    shared += dm_triangle_shares(&plan, DM_A) || dm_triangle_shares(&plan, DM_B);
    layers += plan.pk > 1;
    tiles += plan.tiles_m > 1;
    streams += dm_plan_streams(&plan);
    dm_tile_states_close(&states);
  }
  assert_true(shared > 10 && layers > 10 && tiles > 10 && streams > 10);
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
