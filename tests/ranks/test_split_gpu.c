/* ranks: 1 2 4. Products of f32 and c64 from f16 on GPUs work like native ones: on every grid, in
 * layers, tiles and strips, streamed and resumed; with --reproducible they have the same bits on
 * any grid. */
#include <math.h>

#include "core/split.h"
#include "gpu_ranks.h"
#include "plan/buffers.h"
#include "stored_product.h"

enum { M = 37, N = 29 };

/* All of C, of which each rank has its part. */
typedef struct result {
  dm_view c; /* real: two numbers per complex one; NaN: not stored by this rank */
  int64_t parts, stored;
} result;

static void keep(void *context, const product *p, int64_t row, int64_t col, double value) {
  result *r = context;
  (void)p;
  *(float *)dm_view_at(r->c, row, col) = (float)value;
  r->stored++;
}

/* Term L of number J in row I: real, from parts of A and B. */
static double product_of(dm_view a, dm_view b, int64_t parts, int64_t i, int64_t j, int64_t l) {
  const int64_t of_a = l % parts, of_b = (l + j) % parts;
  const double x = ((float *)dm_view_at(a, i, l / parts))[of_a];
  const double y = ((float *)dm_view_at(b, l / parts, j / parts))[of_b];
  return of_a == 1 && of_b == 1 ? -x * y : x * y;
}

/* Checks each number of C computed by this rank: integers exactly, others within f. */
static void check(const product *p, const result *s) {
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

/* Whether strips find all panels in their slots. */
static bool keeps_panels(const dm_plan *plan) {
  const dm_route a = dm_plan_route(plan, DM_A), b = dm_plan_route(plan, DM_B);
  return dm_route_keeps_panels(&a) && dm_route_keeps_panels(&b) && plan->overlap;
}

static int64_t multiply(rank_test *test, dm_dtype work, int turn, dm_wishes wishes, int strips,
                        int64_t done) {
  static const dm_kind kinds[] = {DM_INTEGER, DM_NORMAL, DM_INTEGER, DM_OZAKI};
  dm_problem problem = product_problem(M, N, 64 * 8 + 5, work);
  must(test, product_compute("f32:f16", &problem));
  const dm_machine machine = one_node(test, "h200", false);
  if (wishes.tiles_m > 0) dm_problem_set_home(&problem, DM_HOME_FILE);
  if (!wishes.reproducible) wishes.panel = strips > 0 ? 64 : 64 + 64 * (turn % 3);
  product p = product_open_on(test, &machine, problem, wishes,
                              wishes.reproducible ? DM_OZAKI : kinds[turn % 4], 5);
  const int64_t parts = dm_dtype_is_complex(work) ? 2 : 1;
  float *numbers = memory_of(test, parts * M * N * (int64_t)sizeof *numbers);
  for (int64_t at = 0; at < parts * M * N; at++) numbers[at] = NAN;
  result r = {.c = dm_view_row_major(numbers, DM_F32, M, parts * N), .parts = parts};
  product_store(&p, keeps_panels(&p.plan) ? strips : 0, done, keep, &r);
  check(&p, &r);
  const int64_t hash = hash_of(test, r.c);
  free(numbers);
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

TEST_PROGRAM(test_split_gpu) {
  static gpu_test test; /* a run that waits for files must not move */
  if (!gpu_test_start(&test, false)) return SKIPPED;
  if (!test.device.own_kernels && !strstr(test.device.name, "emulated"))
    return gpu_test_end(&test) ? 1 : SKIPPED;
  every_grid(&test.base, DM_F32);
  every_grid(&test.base, DM_C64);
  return gpu_test_end(&test);
}
