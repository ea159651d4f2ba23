#include <math.h>

#include "check/freivalds_impl.h"

/* The bound's factor; with it the largest residual seen is 1/5 to 1/100 of the bound. */
static const double safety = 8.0;

typedef struct roundoffs {
  double accumulate, input, result;
} roundoffs;

static roundoffs roundoffs_of(const dm_freivalds *check) {
  const dm_problem *p = &check->problem;
  roundoffs u = {.accumulate = p->compute.roundoff,
                 .input = p->compute.shortening,
                 .result = dm_dtype_roundoff(p->c)};
  /* Tensor cores cut off the low bits of their sums too: the errors have a bias and grow with k. */
  if (check->tensor && p->compute.truncates) u.accumulate *= 1.0 + sqrt((double)p->k) / 16.0;
  return u;
}

static double modulus(const double z[2]) {
  return hypot(z[0], z[1]);
}

/* One row of the wide vectors, as a complex number. */
static void load(const dm_freivalds *check, const double *vector, int64_t row, double out[2]) {
  out[0] = vector[row * check->parts];
  out[1] = check->parts == 2 ? vector[row * 2 + 1] : 0.0;
}

static void add_product(double sum[2], const double a[2], const double b[2], double sign) {
  sum[0] += sign * (a[0] * b[0] - a[1] * b[1]);
  sum[1] += sign * (a[0] * b[1] + a[1] * b[0]);
}

/* |z - alpha y - beta z0| of one row. */
static double residual_of(const dm_freivalds *check, const dm_rows_checked *rows, int64_t row) {
  double r[2], y[2], z0[2];
  load(check, rows->z, row, r);
  load(check, rows->y, row, y);
  add_product(r, check->alpha, y, -1.0);
  if (check->problem.reads_c) {
    load(check, rows->z0, row, z0);
    add_product(r, check->beta, z0, -1.0);
  }
  return modulus(r);
}

/* scale: what |C(i,:) w| can be at most, |alpha| ||A(i,:)|| q + |beta| ||C0(i,:) w||. */
static double bound_of(const dm_freivalds *check, const roundoffs *u, double product, double scale,
                       double spread) {
  const double depth = sqrt((double)check->problem.k), s = fmin(spread, scale);
  double bound = u->accumulate * (product + depth * s + scale) + u->input * (product / depth + s) +
                 u->result * s;
  /* Products below 1e-270 lose bits to underflow; nothing is claimed about them. */
  return safety * bound + 1e-270;
}

/* Whether a number as large as C's type's largest can stand in this row of a correct C. */
static bool may_overflow(const dm_freivalds *check, double row_norm, double old_spread) {
  double most = modulus(check->alpha) * row_norm * check->largest_column +
                modulus(check->beta) * old_spread * check->largest_column;
  return !(most < dm_dtype_largest(check->problem.c));
}

static void compare_exactly(const dm_freivalds *check, const dm_rows_checked *rows,
                            dm_verdict *verdict) {
  const uint64_t *y = (const uint64_t *)rows->y, *z = (const uint64_t *)rows->z,
                 *z0 = (const uint64_t *)rows->z0;
  const uint64_t alpha = (uint64_t)(int64_t)check->alpha[0];
  const uint64_t beta = (uint64_t)(int64_t)check->beta[0];
  for (int64_t i = 0; i < check->problem.m; i++) {
    verdict->rows_checked++;
    if (z[i] == alpha * y[i] + beta * z0[i]) continue;
    if (verdict->pass) verdict->worst_row = i;
    verdict->pass = false;
    verdict->residual = verdict->relative = INFINITY;
  }
}

static void compare_row(const dm_freivalds *check, const roundoffs *u, const dm_rows_checked *rows,
                        int64_t i, dm_verdict *verdict) {
  const double row_norm = sqrt(rows->a_squares[i]);
  const double spread = sqrt(rows->z_squares[i]);
  const double old = check->problem.reads_c ? sqrt(rows->z0_squares[i]) : 0.0;
  const double product = modulus(check->alpha) * row_norm * check->q;
  const double scale = product + modulus(check->beta) * old;
  double residual = residual_of(check, rows, i);
  bool overflowed = !isfinite(residual) && may_overflow(check, row_norm, old);
  if (!isfinite(row_norm) || !isfinite(old) || overflowed) {
    verdict->rows_left_out++;
    return;
  }
  verdict->rows_checked++;
  double ratio = residual / bound_of(check, u, product, scale, spread);
  if (!isfinite(ratio)) ratio = INFINITY; /* NaN in C where none can come from */
  if (scale > 0.0 && isfinite(residual))
    verdict->relative = fmax(verdict->relative, residual / scale);
  if (ratio > verdict->residual) {
    verdict->residual = ratio;
    verdict->worst_row = i;
  }
}

void dm_freivalds_compare(const dm_freivalds *check, const dm_rows_checked *rows,
                          dm_verdict *verdict) {
  *verdict = (dm_verdict){
      .pass = true, .exact = check->exact, .worst_row = -1, .cols_left_out = check->cols_left_out};
  if (check->exact) {
    compare_exactly(check, rows, verdict);
    return;
  }
  const roundoffs u = roundoffs_of(check);
  for (int64_t i = 0; i < check->problem.m; i++) compare_row(check, &u, rows, i, verdict);
  verdict->pass = verdict->residual <= 1.0;
}
