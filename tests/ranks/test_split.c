/* ranks: 1 2 3 4 6 8. Products of f32 and c64 from f16 work like native ones: on every grid, in
 * layers, tiles and strips, streamed and resumed; with --reproducible they have the same bits on
 * any grid. */
#include <math.h>

#include "core/compute_choice.h"
#include "core/split.h"
#include "engine/execute.h"
#include "small_product.h"

enum { M = 37, N = 29 };

/* Receives all results: all of C, of which each rank has its part. */
typedef struct storage {
  product *p;
  dm_view c; /* real: two numbers per complex one */
  int64_t parts, stored;
} storage;

static dm_status fill(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  (void)local;
  fill_panel(((storage *)context)->p, matrix, panel);
  return DM_OK;
}

static dm_status store(void *context, dm_rank_state *local, dm_range rows, bool *done) {
  storage *s = context;
  const dm_plan *plan = local->plan;
  const dm_coords *at = &local->coords;
  const dm_view sums = dm_view_parts(plan->pk > 1 ? local->c_sum : local->c);
  const int64_t first =
      plan->pk > 1 ? dm_plan_c_share(plan, local->tile, at->i, at->l).begin : local->rows.begin;
  const dm_view to = dm_view_sub(s->c, first, s->parts * local->cols.begin, sums.rows, sums.cols);
  for (int64_t i = rows.begin; i < rows.end; i++)
    for (int64_t j = 0; j < sums.cols; j++, s->stored++)
      *(float *)dm_view_at(to, i, j) = *(float *)dm_view_at(sums, i, j);
  *done = true;
  return DM_OK;
}

/* Elements of tiles that are not done yet; done ones are not computed again. */
static int64_t elements_of(const dm_plan *plan) {
  int64_t elements = 0;
  for (int64_t place = 0; place < dm_plan_todo(plan); place++)
    for (int i = 0; i < plan->pm; i++)
      for (int j = 0; j < plan->pn; j++) {
        const int64_t tile = dm_plan_todo_tile(plan, place);
        elements +=
            dm_range_size(dm_plan_rows(plan, tile, i)) * dm_range_size(dm_plan_cols(plan, tile, j));
      }
  return elements;
}

/* Term L of number J in row I: real, from parts of A and B. */
static double product_of(dm_view a, dm_view b, int64_t parts, int64_t i, int64_t j, int64_t l) {
  const int64_t of_a = l % parts, of_b = (l + j) % parts;
  const double x = ((float *)dm_view_at(a, i, l / parts))[of_a];
  const double y = ((float *)dm_view_at(b, l / parts, j / parts))[of_b];
  return of_a == 1 && of_b == 1 ? -x * y : x * y;
}

/* Checks each number of C computed by this rank: integers exactly, others within f. */
static void check(const storage *s) {
  const product *p = s->p;
  const dm_plan *plan = &p->plan;
  const int64_t depth = s->parts * plan->problem.k;
  const double factor = fmax((double)depth, dm_split_factor(depth));
  const dm_dtype work = plan->problem.work;
  const dm_range k = {0, plan->problem.k};
  const dm_view a = generated(p->test, &p->a, work, (dm_range){0, M}, k);
  const dm_view b = generated(p->test, &p->b, work, k, (dm_range){0, N});
  int64_t checked = 0;
  for (int64_t i = 0; i < M; i++)
    for (int64_t j = 0; j < s->c.cols; j++) {
      const double got = *(float *)dm_view_at(s->c, i, j);
      double sum = 0.0, size = 0.0;
      if (isnan(got)) continue;
      checked++;
      for (int64_t l = 0; l < depth; l++) {
        const double one = product_of(a, b, s->parts, i, j, l);
        sum += one;
        size += fabs(one);
      }
      const double bound = p->a.kind == DM_INTEGER ? 0.0 : factor * 0x1p-24 * size;
      CHECK(p->test, fabs(got - sum) <= bound,
            "grid %dx%dx%d, %lld tiles, %d strips: C(%lld, %lld) = %.9g, wanted %.9g", plan->pm,
            plan->pn, plan->pk, (long long)dm_plan_tiles(plan), plan->strips, (long long)i,
            (long long)j, got, sum);
    }
  CHECK(p->test, checked == s->stored, "%lld of %lld numbers are stored", (long long)checked,
        (long long)s->stored);
  free(a.base), free(b.base);
}

/* A hash of all bits of C. */
static int64_t hash_of(rank_test *test, dm_view c) {
  const float *numbers = c.base;
  int64_t hash = 0;
  for (int64_t at = 0; at < c.rows * c.cols; at++) {
    uint32_t bits;
    memcpy(&bits, &numbers[at], sizeof bits);
    if (!isnan(numbers[at])) hash += (int64_t)(dm_mix((uint64_t)at << 32 | bits) >> 24);
  }
  must(test, dm_comm_sum_i64(test->run.world, &hash, 1));
  return hash;
}

static int64_t compute(product *p) {
  rank_test *test = p->test;
  const int64_t parts = dm_dtype_is_complex(p->plan.problem.work) ? 2 : 1, all = parts * M * N;
  float *memory = memory_of(test, all * (int64_t)sizeof(float));
  storage s = {.p = p, .c = dm_view_row_major(memory, DM_F32, M, parts * N), .parts = parts};
  const dm_step_calls loads = {.context = &s, .load = fill};
  const dm_step_calls calls = {.context = &s, .load = fill, .store = store};
  const bool streams = dm_plan_streams(&p->plan);
  for (int64_t at = 0; at < all; at++) memory[at] = NAN;
  must(test, dm_rank_open(&test->run, &p->plan, p->backend, p->transport, &p->local));
  if (!streams) must(test, dm_execute(&p->local, DM_LOADS, &loads));
  must(test, dm_comm_barrier(test->run.world));
  must(test, dm_execute(&p->local, streams ? DM_ALL_STEPS : DM_ALL_STEPS & ~DM_LOADS, &calls));
  check(&s);
  must(test, dm_comm_sum_i64(test->run.world, &s.stored, 1));
  CHECK(test, s.stored == parts * elements_of(&p->plan), "%lld numbers of C are stored, of %lld",
        (long long)s.stored, (long long)(parts * elements_of(&p->plan)));
  const int64_t hash = hash_of(test, s.c);
  free(memory);
  product_close(p);
  return hash;
}

static int64_t multiply(rank_test *test, dm_dtype work, int turn, dm_wishes wishes, int strips,
                        int64_t done) {
  static const dm_kind kinds[] = {DM_INTEGER, DM_NORMAL, DM_INTEGER, DM_OZAKI};
  dm_problem problem = product_problem(M, N, 64 * 8 + 5, work);
  dm_compute_choice choice = 0;
  CHECK(test, dm_compute_parse("f32:f16", &choice), "there is no f32:f16");
  must(test, dm_compute_choose(choice, work, problem.k, &problem.compute));
  const dm_machine machine = one_node(test, NULL, strips > 0); /* strips keep gathered panels */
  if (wishes.tiles_m > 0) problem.home = DM_HOME_FILES;
  if (!wishes.reproducible) wishes.panel = strips > 0 ? 64 : 64 + 64 * (turn % 3);
  product p = product_open_on(test, &machine, problem, wishes,
                              wishes.reproducible ? DM_OZAKI : kinds[turn % 4], 5);
  if (strips > 0) p.plan.strips = strips, p.plan.stretch = 1;
  bool there[64] = {false};
  dm_todo *todo;
  for (int64_t t = 0; t < done; t++) there[t] = true;
  must(test, dm_todo_new(dm_plan_tiles(&p.plan), there, &todo));
  p.plan.todo = todo;
  CHECK(test, done < dm_plan_tiles(&p.plan), "nothing is left to compute");
  const int64_t hash = compute(&p);
  dm_todo_free(todo);
  return hash;
}

static void every_grid(rank_test *test, dm_dtype work) {
  const int ranks = test->run.ranks;
  int64_t bits = 0;
  for (int pm = 1, turn = 0; pm <= ranks; pm++)
    for (int pn = 1; pm * pn <= ranks; pn++)
      for (int pk = 1; pm * pn * pk <= ranks && pk <= 5; pk++, turn++) {
        dm_wishes wishes = {.pm = pm, .pn = pn, .pk = pk, .no_overlap = turn % 3 == 2};
        multiply(test, work, turn, wishes, 0, 0);
        multiply(test, work, turn + 1, wishes, 3, 0);
        wishes.tiles_m = 2, wishes.tiles_n = 3;
        multiply(test, work, turn + 1, wishes, 0, 0);
        multiply(test, work, turn, wishes, 0, 4); /* resumed */
        if (pk > 1) continue;
        wishes = (dm_wishes){.pm = pm, .pn = pn, .pk = 1, .reproducible = true};
        const int64_t hash = multiply(test, work, turn, wishes, 0, 0);
        if (bits == 0) bits = hash;
        CHECK(test, hash == bits, "other bits on the grid %dx%d", pm, pn);
      }
}

TEST_PROGRAM(test_split) {
  static rank_test test; /* a run that waits for files must not move */
  test = (rank_test){0};
  must(&test, dm_run_start(&test.run, DM_LOG_ERROR, DM_PROGRESS_NEVER, "test"));
  every_grid(&test, DM_F32);
  every_grid(&test, DM_C64);
  return rank_test_end(&test);
}
