/* ranks: 1 2 4. States of tiles: a check of a single corrupted tile finds it, and only that tile is
 * reset and computed again; runs with any set of finished tiles compute the others, with the same
 * bits. */
#include "engine/execute.h"
#include "small_product.h"

#include "engine/share_check.h"
#include "plan/tiles.h"
#include "steps/simulate.h"

enum { M = 90, N = 70, MOST = 64 };

/* Stores this rank's elements of C in place. */
typedef struct storage {
  rank_test *test;
  product *p;
  dm_view c;
  int64_t tiles[MOST], stored; /* in order of completion */
  int64_t loads;
} storage;

static dm_status load(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  storage *s = context;
  (void)local;
  fill_panel(s->p, matrix, panel);
  s->loads++;
  return DM_OK;
}

/* This rank's part of a tile. */
static dm_view place_of(const storage *s, int64_t t) {
  const dm_plan *plan = &s->p->plan;
  const dm_coords *at = &s->p->local.coords;
  if (at->idle) return (dm_view){0};
  const dm_range rows =
      plan->pk > 1 ? dm_plan_c_share(plan, t, at->i, at->l) : dm_plan_rows(plan, t, at->i);
  const dm_range cols = dm_plan_cols(plan, t, at->j);
  return dm_view_sub(s->c, rows.begin, cols.begin, dm_range_size(rows), dm_range_size(cols));
}

static dm_status store(void *context, dm_rank_state *local, dm_range rows, bool *done) {
  storage *s = context;
  const dm_view sums = local->plan->pk > 1 ? local->c_sum : local->c;
  const dm_view place = place_of(s, local->tile);
  CHECK(s->test, rows.begin == 0 && rows.end == place.rows, "tile %lld: other rows",
        (long long)local->tile);
  for (int64_t i = 0; i < place.rows; i++)
    memcpy(dm_view_at(place, i, 0), dm_view_at(sums, i, 0),
           (size_t)(place.cols * dm_dtype_size(place.dtype)));
  s->tiles[s->stored++] = local->tile;
  *done = true;
  return DM_OK;
}

/* Collective: a tile keeps the states that it has on every rank in the grid. */
static void agree(const storage *s, dm_tile_states *states) {
  int64_t missing[4 * MOST] = {0};
  for (int64_t i = 0; i < 4 * states->tiles && !s->p->local.coords.idle; i++)
    missing[i] = !dm_tile_has(states, i / 4, 1u << i % 4);
  must(s->test, dm_comm_max_i64(s->test->run.world, missing, 4 * states->tiles));
  for (int64_t i = 0; i < 4 * states->tiles; i++) {
    if (i % 4 == 0) dm_tile_give_back(states, i / 4);
    if (!missing[i]) dm_tile_reach(states, i / 4, 1u << i % 4);
  }
}

static void execute(storage *s) {
  static const dm_source_ops source = {.load = load};
  static const dm_sink_ops sink = {.store = store};
  const dm_step_calls calls = {.source = {{&source, s}, {&source, s}}, .sink = {&sink, s}};
  s->stored = s->loads = 0;
  must(s->test, dm_execute(&s->p->local, DM_ALL_STEPS, &calls));
  agree(s, s->p->local.states);
}

/* Collective: whether tile T of C is correct; every other tile is checked panel by panel. */
static bool judge(storage *s, int64_t t) {
  static const double one[2] = {1.0, 0.0}, none[2] = {0.0, 0.0};
  const dm_tile tile = dm_plan_tile(&s->p->plan, t);
  dm_freivalds *check;
  dm_verdict verdict;
  const dm_problem *problem = &s->p->plan.problem;
  const int64_t depth = dm_problem_b_rows(problem);
  const int64_t room = t % 2 ? dm_min(depth, dm_plan_width(&s->p->plan)) : depth;
  must(s->test, dm_freivalds_new_part(problem, one, none, false, (dm_extent){tile.rows, tile.cols},
                                      room, &check));
  must(s->test, dm_check_operands(&s->p->local, check, NULL));
  const dm_view mine = place_of(s, t);
  const dm_coords *at = &s->p->local.coords;
  if (!at->idle)
    must(s->test,
         dm_freivalds_add_c(check, NULL, mine,
                            s->p->plan.pk > 1 ? dm_plan_c_share(&s->p->plan, t, at->i, at->l).begin
                                              : dm_plan_rows(&s->p->plan, t, at->i).begin,
                            dm_plan_cols(&s->p->plan, t, at->j).begin));
  must(s->test, dm_freivalds_judge(check, s->test->run.world, &verdict));
  dm_freivalds_free(check);
  return verdict.pass;
}

/* Corrupts one element of tile T, on the rank that has its first row. */
static void spoil(storage *s, int64_t t) {
  const dm_coords *at = &s->p->local.coords;
  const dm_view mine = place_of(s, t);
  if (at->idle || at->i + at->j + at->l > 0 || dm_view_is_empty(mine)) return;
  double *first = dm_view_at(mine, mine.rows / 2, mine.cols / 2);
  *first += 1e-6;
}

static product open(rank_test *test, dm_wishes wishes, bool streams) {
  wishes.panel = 64;
  product p = product_open(test, product_problem(M, N, 64 * 4 + 7, DM_F64), wishes, DM_UNIFORM, 9);
  p.plan.tiles_m = 3; /* the planner only does this for files */
  p.plan.tiles_n = 4;
  p.plan.down = wishes.down;
  p.plan.strips = 0;
  p.plan.stretch = 0;
  p.plan.blocks = p.plan.overlap && p.plan.pk == 1 ? 2 : 1;
  if (!streams) return p;
  p.plan.a = p.plan.b = DM_IN_FILE;
  p.plan.held_a = p.plan.held_b = 1;
  p.plan.reads = p.plan.slots + 1;
  return p;
}

static void same_bits(storage *s, const void *want, const char *when) {
  CHECK(s->test, memcmp(want, s->c.base, M * N * sizeof(double)) == 0, "%s: C has other bits",
        when);
}

/* Only possible for a product with resident factors. */
static void repair(storage *s, dm_tile_states *states, const void *want, int64_t t) {
  dm_plan *plan = &s->p->plan;
  const bool judges = !dm_plan_streams(plan), idle = s->p->local.coords.idle;
  spoil(s, t);
  plan->todo = NULL;
  for (int64_t i = 0; i < dm_plan_tiles(plan) && judges; i++)
    CHECK(s->test, judge(s, i) == (i != t), "tile %lld of which %lld is wrong", (long long)i,
          (long long)t);
  dm_tile_give_back(states, t);
  must(s->test, dm_tile_states_choose(states, DM_TILE_STORED, plan));
  must(s->test, dm_plan_simulate(plan));
  execute(s);
  CHECK(s->test, idle || (s->stored == 1 && s->tiles[0] == t), "%lld tiles are computed again",
        (long long)s->stored);
  CHECK(s->test, dm_tile_has(states, t, DM_TILE_COMPUTED | DM_TILE_STORED), "it is not there");
  same_bits(s, want, "computed again");
}

/* Some tiles are finished: the others are computed, in snake order. */
static void resume(storage *s, dm_tile_states *states, const void *want, unsigned there) {
  dm_plan *plan = &s->p->plan;
  const int64_t tiles = dm_plan_tiles(plan);
  int64_t wanted = 0;
  for (int64_t t = 0; t < tiles; t++) {
    if (there >> t & 1) continue;
    const dm_view mine = place_of(s, t);
    for (int64_t i = 0; i < mine.rows; i++)
      memset(dm_view_at(mine, i, 0), 0x7f, (size_t)mine.cols * sizeof(double));
    dm_tile_give_back(states, t);
    wanted++;
  }
  must(s->test, dm_tile_states_choose(states, DM_TILE_STORED, plan));
  must(s->test, dm_plan_simulate(plan));
  execute(s);
  CHECK(s->test, s->p->local.coords.idle || s->stored == wanted, "%lld of %lld tiles are computed",
        (long long)s->stored, (long long)wanted);
  for (int64_t i = 1; i < s->stored; i++)
    CHECK(s->test, s->tiles[i] > s->tiles[i - 1], "tile %lld after %lld", (long long)s->tiles[i],
          (long long)s->tiles[i - 1]);
  same_bits(s, want, "resumed");
}

static void try_grid(rank_test *test, dm_wishes wishes, bool streams) {
  product p = open(test, wishes, streams);
  storage s = {.test = test, .p = &p};
  void *want = memory_of(test, M * N * sizeof(double));
  s.c = dm_view_row_major(memory_of(test, M * N * sizeof(double)), DM_F64, M, N);
  memset(s.c.base, 0, M * N * sizeof(double));
  const int64_t tiles = dm_plan_tiles(&p.plan);
  dm_tile_states states;
  must(test, dm_tile_states_open(tiles, &states));
  must(test, dm_rank_open(&test->run, &p.plan, p.backend, p.transport, &p.local));
  p.local.states = &states;
  execute(&s);
  CHECK(test, p.local.coords.idle || s.stored == tiles, "%lld tiles", (long long)s.stored);
  for (int64_t t = 0; t < tiles; t++)
    CHECK(test, dm_tile_has(&states, t, DM_TILE_COMPUTED | DM_TILE_STORED),
          "tile %lld is not there", (long long)t);
  memcpy(want, s.c.base, M * N * sizeof(double));
  repair(&s, &states, want, 0);
  repair(&s, &states, want, tiles - 1);
  repair(&s, &states, want, 5);
  resume(&s, &states, want, 0x0f0);
  resume(&s, &states, want, 0xa5a);
  resume(&s, &states, want, 0xfff);
  dm_tile_states_close(&states);
  free(want);
  free(s.c.base);
  product_close(&p);
}

TEST_PROGRAM(test_tile_states) {
  rank_test test = rank_test_start();
  const int ranks = test.run.ranks;
  for (int streams = 0; streams < 2; streams++) {
    try_grid(&test, (dm_wishes){.pm = ranks, .pn = 1, .pk = 1}, streams);
    try_grid(&test, (dm_wishes){.pm = 1, .pn = 1, .pk = ranks, .down = true}, streams);
    try_grid(&test, (dm_wishes){.pm = 1, .pn = 1, .pk = 1, .no_overlap = true}, streams);
    if (ranks == 4) try_grid(&test, (dm_wishes){.pm = 2, .pn = 2, .pk = 1}, streams);
    if (ranks == 4) try_grid(&test, (dm_wishes){.pm = 1, .pn = 2, .pk = 2}, streams);
  }
  return rank_test_end(&test);
}
