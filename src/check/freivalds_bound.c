#include <math.h>

#include "check/freivalds_impl.h"

/* The bound's factor: the largest residuals seen are then 1/5 to 1/100 of the bound. */
static const double safety = 8.0;

typedef struct roundoffs {
  double accumulate, input, result;
  long double subnormal; /* largest loss of C w to underflow */
  long double column;    /* largest ratio of an element to its term in C w */
} roundoffs;

/* Over all columns: ||w||, and the largest 1/|w_j|, for C before scaling. */
static void take_columns(const dm_freivalds *check, roundoffs *u) {
  long double squares = 0.0L;
  for (int64_t j = 0; j < check->problem.n; j++) {
    const int64_t exponent = check->col_exponents ? check->col_exponents[j] : 0;
    const long double w = scalbnl(fabs(check->w[j * check->parts]), (int)-exponent);
    squares += w * w;
    if (w > 0.0L && check->col_squares[j] > 0.0) u->column = fmaxl(u->column, 1.0L / w);
  }
  u->subnormal = sqrtl(squares);
}

static int row_exponent(const dm_freivalds *check, int64_t row) {
  return check->row_exponents ? (int)check->row_exponents[row] : 0;
}

static double modulus(const double z[2]) {
  return z[1] == 0.0 ? fabs(z[0]) : hypot(z[0], z[1]);
}

static roundoffs roundoffs_of(const dm_freivalds *check) {
  const dm_problem *p = &check->problem;
  roundoffs u = {.accumulate = p->compute.roundoff,
                 .input = p->compute.shortening,
                 .result = dm_dtype_roundoff(p->c)};
  const long double alpha = scalbnl(modulus(check->alpha), check->alpha_exponent);
  take_columns(check, &u);
  u.subnormal *= 0.5L * (dm_dtype_smallest(p->c) +
                         (alpha * (long double)p->k + 2.0L) * dm_dtype_smallest(p->accumulator));
  /* Tensor cores also cut off the low bits of sums: errors have a bias and grow with k. */
  if (check->tensor && p->compute.truncates) u.accumulate *= 1.0 + sqrt((double)p->k) / 16.0;
  return u;
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

/* SCALE: upper bound of |C(i,:) w|: the product's part plus |beta| ||C0(i,:) w||. */
static double bound_of(const dm_freivalds *check, const roundoffs *u, int64_t row, double product,
                       double scale, double spread) {
  const double depth = sqrt((double)check->problem.k), s = fmin(spread, scale);
  double bound = u->accumulate * (product + depth * s + scale) + u->input * (product / depth + s) +
                 u->result * s + (double)scalbnl(u->subnormal, -row_exponent(check, row));
  return safety * bound;
}

/* Whether this row of a correct C may have a number as large as the largest of C's type. */
static bool may_overflow(const dm_freivalds *check, const roundoffs *u, int64_t row, double scale) {
  const long double most = scalbnl(scale * u->column, row_exponent(check, row));
  return !(most < dm_dtype_largest(check->problem.c));
}

/* Whether sums of squares overflowed or lost accuracy to underflow. Rows of zeros lose nothing. */
static bool is_strained(const dm_freivalds *check, const dm_rows_checked *rows, int64_t i,
                        double scale) {
  double y[2], z[2], z0[2] = {0.0, 0.0};
  load(check, rows->y, i, y);
  load(check, rows->z, i, z);
  if (check->problem.reads_c) load(check, rows->z0, i, z0);
  if (!isfinite(scale)) return true;
  if (rows->a_squares[i] < dm_least_squares && modulus(y) > 0.0) return true;
  return scale < 1e-130 && modulus(y) + modulus(z) + modulus(z0) > 0.0;
}

/* A strained row's bound is meaningless, unless the row must be zero or was scaled. */
static bool is_bounded(const dm_freivalds *check, const dm_rows_checked *rows, int64_t i,
                       bool strained) {
  double y[2], z0[2] = {0.0, 0.0};
  load(check, rows->y, i, y);
  if (check->problem.reads_c) load(check, rows->z0, i, z0);
  return !strained || check->row_exponents || modulus(y) + modulus(z0) == 0.0;
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
    if (check->marks) check->marks[i] = 1;
    if (verdict->pass) verdict->worst_row = i;
    verdict->pass = false;
    verdict->residual = verdict->relative = INFINITY;
  }
}

/* Compares row ROW of the group whose sums start at FIRST; false: left out. */
static bool compare_row(const dm_freivalds *check, const roundoffs *u, const dm_rows_checked *rows,
                        int64_t first, int64_t row, dm_verdict *verdict) {
  const int64_t i = first + row;
  const double spread = sqrt(rows->z_squares[i]);
  const double old = check->problem.reads_c ? sqrt(rows->z0_squares[i]) : 0.0;
  const double depth = sqrt((double)check->problem.k);
  const double product = modulus(check->alpha) * depth * sqrt(rows->a_squares[i]);
  const double scale = product + modulus(check->beta) * old;
  double residual = residual_of(check, rows, i);
  bool overflowed = !isfinite(residual) && may_overflow(check, u, row, scale);
  const bool strained = is_strained(check, rows, i, scale);
  verdict->strained |= strained;
  if (!isfinite(scale) || overflowed) return false;
  double ratio = residual == 0.0 ? 0.0 : residual / bound_of(check, u, row, product, scale, spread);
  if (!isfinite(ratio)) ratio = INFINITY; /* NaN in C without a cause */
  if (ratio > 1.0 && isfinite(residual) && !is_bounded(check, rows, i, strained)) return false;
  if (scale > 0.0 && isfinite(residual))
    verdict->relative = fmax(verdict->relative, residual / scale);
  if (check->marks && ratio > 1.0) check->marks[row] = 1;
  if (ratio > verdict->residual) {
    verdict->residual = ratio;
    verdict->worst_row = row;
  }
  return true;
}

void dm_freivalds_compare(const dm_freivalds *check, const dm_rows_checked *rows,
                          dm_verdict *verdict) {
  *verdict = (dm_verdict){
      .pass = true, .exact = check->exact, .worst_row = -1, .cols_left_out = check->cols_left_out};
  verdict->strained = check->strained && !check->exact;
  verdict->cols_checked = check->problem.n - check->cols_left_out;
  if (check->exact) {
    compare_exactly(check, rows, verdict);
    return;
  }
  const roundoffs u = roundoffs_of(check);
  for (int64_t i = 0; i < check->problem.m; i++) {
    bool whole = true;
    for (int g = 0; g < check->groups; g++)
      whole &= compare_row(check, &u, rows, g * check->problem.m, i, verdict);
    verdict->rows_checked += whole;
    verdict->rows_left_out += !whole;
  }
  verdict->pass = verdict->residual <= 1.0;
}
