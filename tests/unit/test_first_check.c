/* First example of src/check: random vectors find an element that is off by a millionth. */
#include "check/freivalds.h"
#include "checks.h"
#include "comm/team.h"
#include "lib/product_problem.h"

enum { N = 20 };

static bool is_square(const dm_comm *alone, dm_view a, dm_view c) {
  static const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};
  const dm_problem problem = product_problem(N, N, N, DM_F64);
  dm_freivalds *check;
  dm_verdict verdict;
  ok(dm_freivalds_new(&problem, one, zero, false, N, &check));
  ok(dm_freivalds_scan_b(check, NULL, a, 0, 0));
  ok(dm_freivalds_weigh(check, alone));
  ok(dm_freivalds_add_b(check, NULL, a, 0, 0));
  ok(dm_freivalds_project(check, alone));
  ok(dm_freivalds_add_a(check, NULL, a, 0, 0));
  ok(dm_freivalds_add_c(check, NULL, c, 0, 0));
  ok(dm_freivalds_judge(check, alone, &verdict));
  dm_freivalds_free(check);
  return verdict.pass;
}

static void judge_two(dm_comm *alone, void *none __attribute__((unused))) {
  double a[N * N], c[N * N];
  const dm_view of[] = {dm_view_row_major(a, DM_F64, N, N), dm_view_row_major(c, DM_F64, N, N)};
  for (int i = 0; i < N * N; i++) a[i] = 0.5, c[i] = 0.25 * N;
  assert_true(is_square(alone, of[0], of[1]));
  c[7 * N + 3] *= 1.0 + 1e-6;
  assert_false(is_square(alone, of[0], of[1]));
  dm_comm_free(alone);
}

TEST(first_wrong_element) {
  ok(dm_team_run(1, judge_two, NULL));
}

RUN_ALL(test_first_check)
