/* exact_residues: the expected result, bit for bit, of a product of generated matrices by residues:
 * the exact sum of scaled integers, rounded once. */
#ifndef DM_TESTS_EXACT_RESIDUES_H
#define DM_TESTS_EXACT_RESIDUES_H

#include <math.h>

#include "core/residues.h"
#include "small_product.h"

/* Real numbers per element. */
static inline int64_t parts_of(const dm_problem *p) {
  return dm_dtype_is_complex(p->work) ? 2 : 1;
}

/* The real matrix that maps parts of A, side by side, to parts of C. */
static inline double *expanded(rank_test *test, const dm_problem *p, double *b) {
  if (parts_of(p) == 1) return b;
  double *to = memory_of(test, 4 * p->k * p->n * (int64_t)sizeof *to);
  for (int64_t l = 0; l < p->k; l++)
    for (int64_t j = 0; j < p->n; j++) {
      const double *from = b + 2 * (l * p->n + j);
      double *upper = to + 4 * l * p->n + 2 * j, *lower = upper + 2 * p->n;
      upper[0] = from[0], upper[1] = from[1];
      lower[0] = -from[1], lower[1] = from[0];
    }
  free(b);
  return to;
}

/* The exponent of a row or column of COUNT numbers, STRIDE apart. */
static inline int exponent_of(const dm_moduli *m, const double *line, int64_t count,
                              int64_t stride) {
  double largest = 0.0;
  int64_t squares = 0;
  for (int64_t l = 0; l < count; l++) largest = fmax(largest, fabs(line[l * stride]));
  for (int64_t l = 0; l < count && largest > 0.0; l++)
    squares += dm_square(line[l * stride], dm_square_power(largest));
  return dm_exponent(m, largest, squares, count);
}

/* Sums integers of up to 2^59, so that sums of their products fit 127 bits. */
static inline double element(const double *a, int s, const double *b, int64_t stride, int t,
                             int64_t k) {
  __int128 sum = 0;
  for (int64_t l = 0; l < k; l++)
    sum += (__int128)(int64_t)ldexp(a[l], s) * (int64_t)ldexp(b[l * stride], t);
  return ldexp((double)sum, -(s + t));
}

/* All of C, by parts; free() it. */
static inline double *expected_of(rank_test *test, const product *p) {
  const dm_problem *problem = &p->plan.problem;
  const int64_t parts = parts_of(problem);
  const int64_t m = problem->m, n = parts * problem->n, k = parts * problem->k;
  const dm_range rows = {0, m}, inner = {0, problem->k}, cols = {0, problem->n};
  double *a = generated(test, &p->a, problem->work, rows, inner).base;
  double *b = expanded(test, problem, generated(test, &p->b, problem->work, inner, cols).base);
  double *c = memory_of(test, m * n * (int64_t)sizeof *c);
  dm_moduli moduli;
  dm_moduli_make(problem->compute.moduli, &moduli);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      c[i * n + j] = element(a + i * k, exponent_of(&moduli, a + i * k, k, 1), b + j, n,
                             exponent_of(&moduli, b + j, k, n), k);
  free(a);
  free(b);
  return c;
}

/* Element (row, col) of C has the bits of EXPECTED: all of C, by parts. */
static inline void same_bits(void *expected, const product *p, int64_t row, int64_t col,
                             double got) {
  const dm_plan *plan = &p->plan;
  const double want =
      ((const double *)expected)[row * parts_of(&plan->problem) * plan->problem.n + col];
  CHECK(p->test, memcmp(&got, &want, sizeof got) == 0,
        "%s in %s, grid %dx%dx%d, panels of %lld, tile %lld of %lld, %d strips, A %s, B %s: "
        "C(%lld, %lld) = %a, wanted %a",
        dm_dtype_name(plan->problem.work), plan->problem.compute.name, plan->pm, plan->pn, plan->pk,
        (long long)plan->kb, (long long)p->local.tile, (long long)dm_plan_tiles(plan), plan->strips,
        dm_residence_name(plan->a), dm_residence_name(plan->b), (long long)row, (long long)col, got,
        want);
}

#endif
