/* product_problem: products of one element type, for tests. */
#ifndef DM_TESTS_PRODUCT_PROBLEM_H
#define DM_TESTS_PRODUCT_PROBLEM_H

#include "core/compute.h"
#include "plan/plan.h"

static inline dm_problem product_problem(int64_t m, int64_t n, int64_t k, dm_dtype work) {
  const dm_dtype sums = dm_compute_sum(work);
  dm_problem problem = {.m = m,
                        .n = n,
                        .k = k,
                        .file_a = work,
                        .file_b = work,
                        .work = work,
                        .compute = *dm_compute_by((dm_operand)work),
                        .accumulator = sums,
                        .c = sums,
                        .verify = true};
  problem.compute.piece = 0; /* as equations have it, unless sums are to be right */
  return problem;
}

/* Multiplies in the compute mode that users call NAME. */
static inline dm_status product_compute(const char *name, dm_problem *problem) {
  dm_compute_choice choice;
  if (!dm_compute_parse(name, &choice)) return dm_fail(DM_E_BUG, "there is no %s", name);
  return dm_compute_choose(choice, problem->work, problem->k, &problem->compute);
}

#endif
