/* ranks: 2 3 4 */
/* Panels that arrive out of order must still be multiplied in ascending order: this transport
 * delays every second gather. */
#include "check/freivalds.h"
#include "delayed_transport.h"
#include "engine/execute.h"
#include "engine/share_check.h"
#include "small_product.h"

TEST_PROGRAM(test_late_panels) {
  static const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};
  rank_test test = rank_test_start();
  const dm_problem problem = product_problem(300, 300, 300, DM_F64);
  const dm_wishes wishes = {.pm = 1, .pn = test.run.ranks, .pk = 1, .panel = 64};
  product p = product_open(&test, problem, wishes, DM_UNIFORM, 0);
  product_fill(&p);
  delayed_transport late = delayed(p.local.transport);
  late.patience = 40;
  p.local.transport = &late.base;
  dm_freivalds *check;
  dm_verdict verdict;
  must(&test, dm_freivalds_new(&problem, one, zero, false, problem.k, &check));
  must(&test, dm_check_operands(&p.local, check, NULL));
  product_run(&p, DM_PRODUCTS);
  must(&test, dm_freivalds_add_c(check, NULL, p.local.c, p.local.rows.begin, p.local.cols.begin));
  must(&test, dm_freivalds_judge(check, test.run.world, &verdict));
  CHECK(&test, verdict.pass, "row %lld is off by %g times the bound", (long long)verdict.worst_row,
        verdict.residual);
  dm_freivalds_free(check);
  product_close(&p);
  return rank_test_end(&test);
}
