/* Rows within their bounds that stand out. A bound that holds for all data is some ten times wider
 * than the errors of most; the residuals of all rows show how large these are here. */
#include <math.h>
#include <string.h>

#include "check/freivalds_impl.h"
#include "core/checked.h"

/* The residual over its scale, squared; 0: it is zero, or too large or small to tell. */
static double squared_relative(const dm_row_factors *f, const dm_row_sums *s) {
  const double r = dm_row_residual(f, s), scale = dm_freivalds_squared_scale(f, s),
               square = r * r / scale;
  return r > 1e-120 && scale > DM_LEAST_SQUARES && isfinite(square) ? square : 0.0;
}

void dm_freivalds_join_sizes(dm_residual_sizes *sizes, const dm_residual_sizes *more) {
  for (int i = 0; i < DM_RESIDUAL_SIZES; i++) sizes->rows[i] += more->rows[i];
}

/* A residual is suspect above this part of its bound; or if it is so many roundings of its elements
 * and so many times what the largest of normal numbers is likely to be. */
static const double suspect_part = 0.2, suspect_roundings = 3.5, suspect_times = 1.5;

/* The residual over its scale above which a row stands out; infinite: of too few rows. It follows
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

static bool stands_out(const dm_row_factors *f, const dm_row_sums *s, double least) {
  const double rounding = fmax(f->accumulate, fmax(f->result, f->own));
  return squared_relative(f, s) > least * least &&
         dm_row_residual(f, s) > suspect_roundings * rounding * sqrt(s->z_squares);
}

/* Marks rows that are right by their bound but stand out; the first of the most suspect ones
 * becomes VERDICT's. */
static void find_suspects(const dm_freivalds *check, const dm_row_factors *f,
                          const dm_row_totals *rows, double least, dm_verdict *verdict) {
  double largest = 0.0;
  for (int64_t i = 0; i < check->problem.m; i++) {
    if (dm_freivalds_expects(check->nan_rows, check->rows.begin + i)) continue;
    for (int g = 0; g < check->groups; g++) {
      const dm_row_sums sums = dm_freivalds_sums_of(check, rows, g * check->problem.m + i);
      const double square = squared_relative(f, &sums);
      if (!stands_out(f, &sums, least)) continue;
      if (check->marks) check->marks[i] = 1;
      if (square > largest) verdict->suspect_row = i;
      largest = fmax(largest, square);
    }
  }
  verdict->suspect = largest > 0.0;
}

/* Only of products that dm_verify_doubts can take again. */
static bool may_be_suspect(const dm_freivalds *check, const dm_verdict *verdict) {
  const dm_problem *p = &check->problem;
  return verdict->pass && !verdict->strained && !check->row_exponents && !check->from_gpu &&
         dm_compute_is_plain(&p->compute) && p->half == DM_BOTH_HALVES &&
         dm_problem_entries(p) == 1;
}

void dm_freivalds_suspect(const dm_freivalds *check, const dm_row_factors *f,
                          const dm_row_totals *rows, const dm_residual_sizes *sizes,
                          dm_verdict *verdict) {
  const double least = suspect_size(sizes, check->groups * check->problem.m);
  if (!may_be_suspect(check, verdict)) return;
  if (verdict->relative > least) find_suspects(check, f, rows, least, verdict);
  if (verdict->suspect || !(verdict->residual > suspect_part)) return;
  verdict->suspect = true;
  verdict->suspect_row = verdict->worst_row;
}
