/* First example of src/engine: two datasets and an equation become the problem that is planned. */
#include "checks.h"
#include "engine/equation.h"

TEST(first_problem) {
  const dm_dataset a = {.rows = 5, .cols = 7, .dtype = DM_F32};
  const dm_dataset b = {.rows = 5, .cols = 3, .dtype = DM_F32};
  dm_equation equation = {.alpha = {1.0, 0.0}, .type = DM_DTYPE_NONE, .type_c = DM_DTYPE_NONE};
  dm_problem problem;
  fails(dm_problem_of(&a, &b, NULL, &equation, &problem), DM_E_INPUT, "they fit with --op-a t");
  equation.op_a = DM_OP_T;
  ok(dm_problem_of(&a, &b, NULL, &equation, &problem));
  assert_true(problem.m == 7 && problem.n == 3 && problem.k == 5);
  assert_true(problem.work == DM_F32 && problem.c == DM_F32);
}

RUN_ALL(test_first_engine)
