/* ranks: 1 2 3 4 6 8.  Products of f32 from f16 work as those of f32 do: on every grid, in layers,
 * tiles, strips, streamed and resumed; with --reproducible they have the same bits on any grid. */
#include <math.h>

#include "core/compute_choice.h"
#include "core/split.h"
#include "stored_product.h"

enum { M = 37, N = 29 };

/* All of C, of which each rank gets its part. */
static void keep(void *c, const product *p, int64_t row, int64_t col, double value) {
  (void)p;
  ((float *)c)[row * N + col] = (float)value;
}

/* Each element of C that this rank computed: whole numbers exactly, others within f. */
static void check(const product *p, const float *c) {
  const dm_plan *plan = &p->plan;
  const double factor = fmax((double)plan->problem.k, dm_split_factor(plan->problem.k));
  for (int64_t i = 0; i < M; i++)
    for (int64_t j = 0; j < N; j++) {
      const double got = c[i * N + j];
      double sum = 0.0, size = 0.0;
      if (isnan(got)) continue;
      for (int64_t l = 0; l < plan->problem.k; l++) {
        const double one =
            (double)(float)dm_element(&p->a, i, l, 0) * (double)(float)dm_element(&p->b, l, j, 0);
        sum += one;
        size += fabs(one);
      }
      const double bound = p->a.kind == DM_INTEGER ? 0.0 : factor * 0x1p-24 * size;
      CHECK(p->test, fabs(got - sum) <= bound,
            "grid %dx%dx%d, %lld tiles, %d strips: C(%lld, %lld) = %.9g, wanted %.9g", plan->pm,
            plan->pn, plan->pk, (long long)dm_plan_tiles(plan), plan->strips, (long long)i,
            (long long)j, got, sum);
    }
}

/* A number that depends on all bits of C and on nothing else. */
static int64_t hash_of(rank_test *test, const float *c) {
  int64_t hash = 0;
  for (int64_t at = 0; at < M * N; at++) {
    uint32_t bits;
    memcpy(&bits, &c[at], sizeof bits);
    if (!isnan(c[at])) hash += (int64_t)(dm_mix((uint64_t)at << 32 | bits) >> 24);
  }
  must(test, dm_comm_sum_i64(test->run.world, &hash, 1));
  return hash;
}

static int64_t multiply(rank_test *test, int turn, dm_wishes wishes, int strips, int64_t done) {
  static const dm_kind kinds[] = {DM_INTEGER, DM_NORMAL, DM_INTEGER, DM_OZAKI};
  dm_problem problem = product_problem(M, N, 64 * 8 + 5, DM_F32);
  dm_compute_choice choice = 0;
  CHECK(test, dm_compute_parse("f32:f16", &choice), "there is no f32:f16");
  must(test, dm_compute_choose(choice, DM_F32, problem.k, &problem.compute));
  const dm_machine machine = one_node(test, NULL, strips > 0); /* what is gathered has to stay */
  if (wishes.tiles_m > 0) problem.home = DM_HOME_FILES;
  if (!wishes.reproducible) wishes.panel = strips > 0 ? 64 : 64 + 64 * (turn % 3);
  product p = product_open_on(test, &machine, problem, wishes,
                              wishes.reproducible ? DM_OZAKI : kinds[turn % 4], 5);
  float *c = memory_of(test, M * N * (int64_t)sizeof *c);
  for (int64_t at = 0; at < M * N; at++) c[at] = NAN;
  product_store(&p, strips, done, keep, c);
  check(&p, c);
  const int64_t hash = hash_of(test, c);
  free(c);
  return hash;
}

static void every_grid(rank_test *test) {
  const int ranks = test->run.ranks;
  int64_t bits = 0;
  for (int pm = 1, turn = 0; pm <= ranks; pm++)
    for (int pn = 1; pm * pn <= ranks; pn++)
      for (int pk = 1; pm * pn * pk <= ranks && pk <= 5; pk++, turn++) {
        dm_wishes wishes = {.pm = pm, .pn = pn, .pk = pk, .no_overlap = turn % 3 == 2};
        multiply(test, turn, wishes, 0, 0);
        multiply(test, turn + 1, wishes, 3, 0);
        wishes.tiles_m = 2, wishes.tiles_n = 3;
        multiply(test, turn + 1, wishes, 0, 0);
        multiply(test, turn, wishes, 0, 4); /* resumed */
        if (pk > 1) continue;
        wishes = (dm_wishes){.pm = pm, .pn = pn, .pk = 1, .reproducible = true};
        const int64_t hash = multiply(test, turn, wishes, 0, 0);
        if (bits == 0) bits = hash;
        CHECK(test, hash == bits, "other bits on the grid %dx%d", pm, pn);
      }
}

TEST_PROGRAM(test_split) {
  static rank_test test; /* a run that waits for files must not be moved */
  test = (rank_test){0};
  must(&test, dm_run_start(&test.run, DM_LOG_ERROR, DM_PROGRESS_NEVER, "test"));
  every_grid(&test);
  return rank_test_end(&test);
}
