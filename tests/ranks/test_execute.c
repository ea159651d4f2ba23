/* ranks: 1 2 3 4 6 8. The executor on every possible grid, with many narrow panels of integers:
 * sums must be exact in every type. */
#include "engine/execute.h"
#include "small_product.h"

/* Element (row, col) of A B, both parts. */
static void expected(const product *p, int64_t row, int64_t col, double sum[2]) {
  const bool is_complex = dm_dtype_is_complex(p->plan.problem.work);
  sum[0] = sum[1] = 0.0;
  for (int64_t l = 0; l < p->plan.problem.k; l++) {
    double a = dm_element(&p->a, row, l, 0), b = dm_element(&p->b, l, col, 0);
    double ai = is_complex ? dm_element(&p->a, row, l, 1) : 0.0;
    double bi = is_complex ? dm_element(&p->b, l, col, 1) : 0.0;
    sum[0] += a * b - ai * bi;
    sum[1] += a * bi + ai * b;
  }
}

static void compare(product *p) {
  dm_range rows;
  dm_view sums = product_sums(p, &rows);
  for (int64_t i = 0; i < sums.rows; i++) {
    for (int64_t j = 0; j < sums.cols; j++) {
      double want[2], got[2] = {0.0, 0.0};
      expected(p, rows.begin + i, p->local.cols.begin + j, want);
      dm_load_wide(got, dm_view_at(sums, i, j), sums.dtype, 1, 1);
      CHECK(p->test, got[0] == want[0] && got[1] == want[1],
            "grid %dx%dx%d, %s: C(%lld, %lld) = %g, wanted %g", p->plan.pm, p->plan.pn, p->plan.pk,
            dm_dtype_name(p->plan.problem.work), (long long)(rows.begin + i),
            (long long)(p->local.cols.begin + j), got[0], want[0]);
    }
  }
}

/* The number of elements of C on all ranks. */
static void count(product *p) {
  dm_range rows;
  dm_view sums = product_sums(p, &rows);
  int64_t held = sums.rows * sums.cols;
  must(p->test, dm_comm_sum_i64(p->test->run.world, &held, 1));
  CHECK(p->test, held == p->plan.problem.m * p->plan.problem.n, "%lld elements of C are held",
        (long long)held);
}

static void multiply(rank_test *test, dm_problem problem, dm_wishes wishes) {
  product p = product_open(test, problem, wishes, DM_INTEGER, 5);
  product_fill(&p);
  /* Previous contents of the memory must not matter. */
  if (!p.local.coords.idle)
    memset(p.local.c.base, 0x7f,
           (size_t)(p.local.c.rows * p.local.c.cols * dm_dtype_size(p.local.c.dtype)));
  product_run(&p, DM_PRODUCTS);
  product_run(&p, DM_SUMS);
  compare(&p);
  count(&p);
  product_close(&p);
}

static void every_grid(rank_test *test) {
  static const dm_dtype types[] = {DM_F64, DM_I8, DM_BF16, DM_C64, DM_F32, DM_C128, DM_F16};
  const int ranks = test->run.ranks;
  int turn = 0;
  for (int pm = 1; pm <= ranks; pm++)
    for (int pn = 1; pm * pn <= ranks; pn++)
      for (int pk = 1; pm * pn * pk <= ranks; pk++, turn++) {
        dm_wishes wishes = {.pm = pm, .pn = pn, .pk = pk, .panel = 64, .no_overlap = turn % 3 == 2};
        multiply(test, product_problem(37, 29, 64 * 9 + 5, types[turn % 7]), wishes);
      }
}

/* Grids that the planner chooses; fewer rows, columns or panels than ranks. */
static void small_shapes(rank_test *test) {
  static const int64_t shapes[][3] = {{1, 1, 1}, {1, 40, 3}, {40, 1, 65}, {2, 2, 700}, {3, 5, 64}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const int64_t *s = shapes[i];
    multiply(test, product_problem(s[0], s[1], s[2], DM_F64), (dm_wishes){0});
    multiply(test, product_problem(s[0], s[1], s[2], DM_I8), (dm_wishes){.pk = test->run.ranks});
    multiply(test, product_problem(s[0], s[1], s[2], DM_F32), (dm_wishes){.pm = test->run.ranks});
    multiply(test, product_problem(s[0], s[1], s[2], DM_C128), (dm_wishes){.pn = test->run.ranks});
    multiply(test, product_problem(s[0], s[1], s[2], DM_F64), (dm_wishes){.reproducible = true});
  }
}

TEST_PROGRAM(test_execute) {
  rank_test test = rank_test_start();
  every_grid(&test);
  small_shapes(&test);
  return rank_test_end(&test);
}
