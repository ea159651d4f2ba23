/* product_problem: products of one element type, for tests. */
#ifndef DM_TESTS_PRODUCT_PROBLEM_H
#define DM_TESTS_PRODUCT_PROBLEM_H

#include "plan/plan.h"

static inline dm_problem product_problem(int64_t m, int64_t n, int64_t k, dm_dtype work) {
  const dm_dtype sums = dm_compute_sum(work);
  return (dm_problem){.m = m,
                      .n = n,
                      .k = k,
                      .file_a = work,
                      .file_b = work,
                      .work = work,
                      .compute = *dm_compute_by((dm_operand)work),
                      .accumulator = sums,
                      .c = sums,
                      .verify = true};
}

#endif
