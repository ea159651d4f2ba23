/* row_bound: the random weights of the verification, and the comparison of one row of C w with its
 * bound (check/freivalds.h); also compiled for GPUs. */
#ifndef DM_CORE_ROW_BOUND_H
#define DM_CORE_ROW_BOUND_H

#include <math.h>
#include <stdbool.h>

#include "core/element.h"

/* A sum of squares below this has lost accuracy to underflow. */
#define DM_LEAST_SQUARES 1e-270

/* The bound's factor: the largest residuals seen are then 1/5 to 1/100 of the bound. */
#define DM_ROW_SAFETY 8.0

/* What all rows have in common. */
typedef struct dm_row_factors {
  double alpha[2], beta[2];
  double accumulate, input, result; /* roundoffs */
  double own;                       /* that of the verification's sums of n terms */
  double depth;                     /* sqrt(k) */
  double unit;                      /* largest loss of an element of C to underflow */
  double largest;                   /* alpha A B, if neither C nor A B overflows */
  bool reads_c;
  bool scaled; /* before the product: strained rows have a bound, too */
  bool cancel; /* rounding errors cancel as far as the terms of their sums do */
} dm_row_factors;

typedef struct dm_row_sums {
  double y[2], z[2], z0[2];
  double a_squares, z_squares, z0_squares;
} dm_row_sums;

typedef struct dm_row_found {
  double ratio, relative;
  bool checked, strained;
} dm_row_found;

/* The random factor of w_j: of either sign, |factor| from 1 to 2. With signs alone, the same error
 * in two columns would cancel every other time. */
static inline DM_HOST_DEVICE double dm_row_weight(uint64_t seed, int64_t j) {
  const uint64_t bits = dm_random_bits(seed, 0, j, 0);
  const double size = 1.0 + 0x1p-52 * (double)(bits & (((uint64_t)1 << 52) - 1));
  return bits >> 63 ? -size : size;
}

static inline DM_HOST_DEVICE double dm_row_modulus(const double z[2]) {
  return z[1] == 0.0 ? fabs(z[0]) : hypot(z[0], z[1]);
}

/* What follows takes REAL as a constant: true leaves out what complex numbers need, which is most
 * of the code, and a GPU waits for code that runs once. */

static inline DM_HOST_DEVICE double dm_row_size(const double z[2], bool real) {
  return real ? fabs(z[0]) : dm_row_modulus(z);
}

static inline DM_HOST_DEVICE void dm_row_add(double sum[2], const double a[2], const double b[2],
                                             double sign) {
  sum[0] += sign * (a[0] * b[0] - a[1] * b[1]);
  sum[1] += sign * (a[0] * b[1] + a[1] * b[0]);
}

/* R = z - alpha y - beta z0. */
static inline DM_HOST_DEVICE void dm_row_difference(const dm_row_factors *f, const dm_row_sums *s,
                                                    bool real, double r[2]) {
  r[0] = s->z[0], r[1] = real ? 0.0 : s->z[1];
  if (real) {
    r[0] -= f->alpha[0] * s->y[0];
    if (f->reads_c) r[0] -= f->beta[0] * s->z0[0];
    return;
  }
  dm_row_add(r, f->alpha, s->y, -1.0);
  if (f->reads_c) dm_row_add(r, f->beta, s->z0, -1.0);
}

static inline DM_HOST_DEVICE double dm_row_residual(const dm_row_factors *f, const dm_row_sums *s) {
  double r[2];
  dm_row_difference(f, s, false, r);
  return dm_row_modulus(r);
}

/* Whether sums of squares overflowed or lost accuracy to underflow. Rows of zeros lose nothing. */
static inline DM_HOST_DEVICE bool dm_row_is_strained(const dm_row_sums *s, double scale,
                                                     bool real) {
  const double y = dm_row_size(s->y, real);
  if (!isfinite(scale)) return true;
  if (s->a_squares < DM_LEAST_SQUARES && y > 0.0) return true;
  return scale < 1e-130 && y + dm_row_size(s->z, real) + dm_row_size(s->z0, real) > 0.0;
}

/* The bound of a row's residual: PRODUCTS and SCALE bound |alpha A (B w)| and |C w|, SPREAD, at
 * most SCALE, the root of the sum of squares of C w. */
static inline DM_HOST_DEVICE double dm_row_bound(const dm_row_factors *f, double products,
                                                 double scale, double spread, double subnormal) {
  const double share = !f->cancel ? 1.0 : scale > 0.0 ? spread / scale : 0.0;
  return DM_ROW_SAFETY * (f->accumulate * (products + f->depth * spread * share + scale) +
                          f->input * (products / f->depth + spread) + f->result * spread +
                          f->own * (products / f->depth + spread + scale - products) + subnormal);
}

/* SUBNORMAL: largest loss of the row of C w to underflow; LIMIT: the scale from which on a correct
 * C may overflow. */
static inline DM_HOST_DEVICE dm_row_found dm_row_compare(const dm_row_factors *f,
                                                         const dm_row_sums *s, double subnormal,
                                                         double limit, bool real) {
  dm_row_found found = {0.0, 0.0, false, false};
  double r[2];
  const double products = dm_row_size(f->alpha, real) * f->depth * sqrt(s->a_squares);
  /* An upper bound of |C(i,:) w|: the product's part plus |beta| ||C0(i,:) w||. */
  const double scale =
      f->reads_c ? products + dm_row_size(f->beta, real) * sqrt(s->z0_squares) : products;
  const double of_c = sqrt(s->z_squares), spread = of_c < scale ? of_c : scale; /* NaN: SCALE */
  dm_row_difference(f, s, real, r);
  const double residual = dm_row_size(r, real);
  found.strained = dm_row_is_strained(s, scale, real);
  if (!isfinite(scale) || (!isfinite(residual) && !(scale < limit))) return found;
  const double bound = dm_row_bound(f, products, scale, spread, subnormal);
  found.ratio = residual == 0.0 ? 0.0 : residual / bound;
  if (!isfinite(found.ratio)) found.ratio = (double)INFINITY; /* NaN in C without a cause */
  /* A strained row's bound is meaningless, unless the row must be zero or was scaled. */
  const bool bounded =
      !found.strained || f->scaled ||
      dm_row_size(s->y, real) + (f->reads_c ? dm_row_size(s->z0, real) : 0.0) == 0.0;
  if (found.ratio > 1.0 && isfinite(residual) && !bounded) {
    found.ratio = 0.0;
    return found;
  }
  if (scale > 0.0 && isfinite(residual)) found.relative = residual / scale;
  found.checked = true;
  return found;
}

/* ---- the mean signed residual ----
 *
 * Elements that are cut off toward zero are too small in proportion to what they are. So is C w
 * then, whatever the signs of w: the residuals of all rows are -d C w, with one d. Other rounding
 * errors have either sign, and cancel in the mean. */

/* Sums over rows, in units of the root of the sum of squares of C w. */
typedef struct dm_row_bias {
  double cross, power; /* of residuals times C w, and of its squares: the mean is their ratio */
  double noise;        /* squares of the terms of CROSS */
  double allowed;      /* roundoffs, which grow where terms cancel */
  double rows;
} dm_row_bias;

static inline DM_HOST_DEVICE void dm_row_bias_join(dm_row_bias *sum, const dm_row_bias *more) {
  sum->cross += more->cross;
  sum->power += more->power;
  sum->noise += more->noise;
  sum->allowed += more->allowed;
  sum->rows += more->rows;
}

static inline DM_HOST_DEVICE void dm_row_bias_add(dm_row_bias *sum, const dm_row_factors *f,
                                                  const dm_row_sums *s, bool real) {
  if (!(s->z_squares > DM_LEAST_SQUARES && s->z_squares < 1.0 / DM_LEAST_SQUARES)) return;
  const double by = 1.0 / s->z_squares;
  double r[2];
  dm_row_difference(f, s, real, r);
  const double cross = (r[0] * s->z[0] + (real ? 0.0 : r[1] * s->z[1])) * by;
  const double power = (s->z[0] * s->z[0] + (real ? 0.0 : s->z[1] * s->z[1])) * by;
  const double products = dm_row_size(f->alpha, real) * f->depth * sqrt(s->a_squares * by);
  const dm_row_bias one = {cross, power, cross * cross, f->accumulate * products, 1.0};
  if (isfinite(one.noise) && isfinite(one.power) && isfinite(one.allowed))
    dm_row_bias_join(sum, &one);
}

/* ---- on a GPU, where all rows of a group are compared at once ---- */

enum { DM_JUDGED_PARTS = 512 }; /* blocks of rows or columns, at most */

/* What columns have in common, once they are weighted. */
typedef struct dm_columns_found {
  double squares, column; /* ||w||^2; the largest 1/|w_j| */
  double spread;          /* with a sample: sum of |B(l,j) w_j|^2 over all elements */
  int64_t left_out;       /* with NaN or Inf */
  int32_t strained;       /* squares of B, or of B w, overflowed or vanished */
} dm_columns_found;

static inline DM_HOST_DEVICE void dm_columns_join(dm_columns_found *found,
                                                  const dm_columns_found *more) {
  found->squares += more->squares;
  found->column = fmax(found->column, more->column);
  found->spread += more->spread;
  found->left_out += more->left_out;
  found->strained |= more->strained;
}

/* Some of the rows. */
typedef struct dm_rows_found {
  double residual, relative, squares; /* squares: of C's elements */
  int64_t worst, checked;             /* worst row, or -1 */
  int32_t strained;
  dm_row_bias bias;
} dm_rows_found;

/* All of a product. */
typedef struct dm_verified_found {
  dm_columns_found columns;
  dm_rows_found rows;
} dm_verified_found;

/* Of those of FOUND and MORE; equal ones: the first row. */
static inline DM_HOST_DEVICE void dm_rows_join(dm_rows_found *found, const dm_rows_found *more) {
  const bool later = found->worst >= 0 && more->worst > found->worst;
  if (more->worst >= 0 &&
      (more->residual > found->residual || (more->residual == found->residual && !later))) {
    found->residual = more->residual;
    found->worst = more->worst;
  }
  found->relative = fmax(found->relative, more->relative);
  found->squares += more->squares;
  found->checked += more->checked;
  found->strained |= more->strained;
  dm_row_bias_join(&found->bias, &more->bias);
}

#endif
