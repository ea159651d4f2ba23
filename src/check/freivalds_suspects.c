/* Rows within their bounds that stand out. A bound that holds for all data is some ten times wider
 * than the errors of most; the residuals of all rows show how large these are here. */
#include <math.h>

#include "check/freivalds_impl.h"
#include "core/checked.h"

void dm_freivalds_join_sizes(dm_residual_sizes *sizes, const dm_residual_sizes *more) {
  for (int i = 0; i < DM_RESIDUAL_SIZES; i++) sizes->rows[i] += more->rows[i];
  if (!(more->largest > sizes->largest)) return;
  sizes->largest = more->largest;
  sizes->row = more->row;
}

/* A residual is suspect above this part of its bound; or if it is so many roundings of its elements
 * and so many times what the largest of normal numbers is likely to be. */
static const double suspect_part = 0.2, suspect_roundings = 3.5, suspect_times = 1.5;

/* The residual over its unit above which a row stands out; infinite: of too few rows. It follows
 * from the median. */
static double suspect_size(const dm_residual_sizes *sizes, int64_t rows) {
  enum { SUSPECT_LEAST_ROWS = 4 };
  static const double median = 0.6745; /* of |x|, x normal */
  int64_t total = 0, seen = 0;
  int i = 0;
  for (int x = 0; x < DM_RESIDUAL_SIZES; x++) total += sizes->rows[x];
  if (total < SUSPECT_LEAST_ROWS) return INFINITY;
  while (2 * seen < total) seen += sizes->rows[i++];
  return suspect_times * sqrt(2.0 * log((double)rows)) / median *
         exp2(0.5 * (i - 1 - DM_RESIDUAL_SIZES));
}

/* Marks rows whose residuals are LEAST times their unit, or more. */
static void mark_suspects(const dm_freivalds *check, const dm_row_factors *f,
                          const dm_row_totals *rows, double least) {
  for (int64_t i = 0; i < check->problem.m; i++) {
    if (dm_freivalds_expects(check->nan_rows, check->rows.begin + i)) continue;
    for (int g = 0; g < check->groups; g++) {
      const dm_row_sums s = dm_freivalds_sums_of(check, rows, g * check->problem.m + i);
      const double r = dm_row_residual(f, &s);
      if (r * r >= least * least * dm_freivalds_squared_unit(f, &s)) check->marks[i] = 1;
    }
  }
}

/* Only of products that dm_verify_doubts can take again, in a time that is short beside that of the
 * product, or for anyone. Of symmetric products rows differ, by their diagonal, too often;
 * correlations are finished by more than one rounding. */
static bool may_be_suspect(const dm_freivalds *check, const dm_verdict *verdict) {
  enum { SUSPECT_MANY_ROWS = 700, SUSPECT_FEW_TERMS = 1 << 21 };
  const dm_problem *p = &check->problem;
  const bool is_quick =
      p->m >= SUSPECT_MANY_ROWS || (double)p->k * (double)p->n <= SUSPECT_FEW_TERMS;
  return verdict->pass && !verdict->strained && !check->row_exponents && !check->from_gpu &&
         dm_compute_is_plain(&p->compute) && p->symmetry == DM_NO_SYMMETRY &&
         p->correlates == 0.0 && dm_problem_entries(p) == 1 && is_quick;
}

void dm_freivalds_suspect(const dm_freivalds *check, const dm_row_factors *f,
                          const dm_row_totals *rows, const dm_residual_sizes *sizes,
                          dm_verdict *verdict) {
  if (!may_be_suspect(check, verdict)) return;
  const double least = fmax(suspect_size(sizes, check->groups * check->problem.m),
                            suspect_roundings * fmax(f->accumulate, fmax(f->result, f->own)));
  const bool stands_out = sizes->largest > least * least;
  verdict->suspect = stands_out || (verdict->worst_row >= 0 && verdict->residual > suspect_part);
  verdict->suspect_row = stands_out ? sizes->row : verdict->worst_row;
  if (stands_out && check->marks) mark_suspects(check, f, rows, least);
}
