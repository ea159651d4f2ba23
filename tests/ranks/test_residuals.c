/* ranks: 1 3. The check's bound holds for correct products, and is at most 200 times their largest
 * residual. The bound grows with the square root of k, like the error of sequential sums; a BLAS
 * that sums in blocks stays further below it for deeper products, so each depth is reported. */
#include "small_product.h"

#include "check/freivalds.h"
#include "engine/execute.h"
#include "engine/share_check.h"

static const double one[2] = {1.0, 0.0}, none[2] = {0.0, 0.0};
static const double least = 1.0 / 200;

/* The residual of a product of SIZE x K by K x SIZE, as a part of the bound. */
static double residual(rank_test *test, dm_dtype work, int64_t size, int64_t k, dm_kind kind,
                       uint64_t seed) {
  dm_problem problem = product_problem(size, size, k, work);
  product p = product_open(test, problem, (dm_wishes){0}, kind, seed);
  product_fill(&p);
  dm_freivalds *check;
  must(test, dm_freivalds_new(&problem, one, none, false, problem.k, &check));
  dm_freivalds_repeat(check, (dm_check_seed){true, 1}, 0);
  must(test, dm_check_operands(&p.local, check, NULL));
  product_run(&p, DM_PRODUCTS);
  product_run(&p, DM_SUMS);
  dm_range rows;
  dm_view sums = product_sums(&p, &rows);
  if (!dm_view_is_empty(sums))
    must(test, dm_freivalds_add_c(check, NULL, sums, rows.begin, p.local.cols.begin));
  dm_verdict verdict;
  must(test, dm_freivalds_judge(check, test->run.world, &verdict));
  CHECK(test, verdict.pass && verdict.residual <= 1.0, "%s, k = %lld, %s: residual %g of the bound",
        dm_dtype_name(work), (long long)k, dm_kind_name(kind), verdict.residual);
  CHECK(test, verdict.rows_checked == size && verdict.rows_left_out + verdict.cols_left_out == 0,
        "%s: %lld rows checked", dm_dtype_name(work), (long long)verdict.rows_checked);
  dm_freivalds_free(check);
  product_close(&p);
  return verdict.residual;
}

static void tight(rank_test *test, dm_dtype work) {
  static const int64_t depths[] = {40, 300, 2000};
  double largest = 0.0;
  for (int d = 0; d < 3; d++) {
    double worst = 0.0;
    for (uint64_t run = 0; run < 8; run++)
      worst = fmax(worst, residual(test, work, 40 + 20 * (int64_t)run, depths[d],
                                   run % 2 ? DM_UNIFORM : DM_NORMAL, run));
    if (test->run.rank == 0)
      printf("%-4s k = %-4lld bound / residual = %.0f\n", dm_dtype_name(work), (long long)depths[d],
             1 / worst);
    largest = fmax(largest, worst);
  }
  CHECK(test, largest >= least, "%s: the largest residual is 1/%.0f of the bound",
        dm_dtype_name(work), 1 / largest);
}

/* Kinds of data that each stress a bound. */
static void adverse(rank_test *test, dm_dtype work) {
  static const dm_kind kinds[] = {DM_OZAKI, DM_IDENTITY, DM_CONSTANT, DM_HILBERT, DM_INTEGER};
  static const int64_t shapes[][2] = {{1, 1}, {1, 5000}, {300, 1}, {300, 7}, {130, 9000}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
      residual(test, work, shapes[s][0], shapes[s][1], kinds[i], 7);
}

/* Errors of equal products are alike: one chain of them would exceed the bound. In these shapes
 * BLAS has kernels of one chain. */
static void alike(rank_test *test, dm_dtype work) {
  static const int64_t shapes[][2] = {{1, 40000}, {1, 300000}, {2, 100000}, {4, 40000}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    const double part = residual(test, work, shapes[s][0], shapes[s][1], DM_CONSTANT, 7);
    CHECK(test, part <= 0.5, "%s: %lld x %lld: %g of the bound", dm_dtype_name(work),
          (long long)shapes[s][0], (long long)shapes[s][1], part);
  }
}

TEST_PROGRAM(test_residuals) {
  rank_test test = rank_test_start();
  for (dm_dtype work = DM_F64; work < DM_I8; work++) {
    tight(&test, work);
    adverse(&test, work);
    if (work != DM_F16 && work != DM_BF16) alike(&test, work);
  }
  return rank_test_end(&test);
}
