/* freivalds_impl: the sums behind a check, and their comparison. */
#ifndef DM_CHECK_FREIVALDS_IMPL_H
#define DM_CHECK_FREIVALDS_IMPL_H

#include <string.h>

#include "check/freivalds.h"
#include "core/checked.h"
#include "core/row_bound.h"

/* Vectors of the wide type (see dm_backend_probe) hold PARTS doubles per element; integer
 * vectors hold int64_t in the same memory. Vectors over k and m exist once per group, one after
 * the other; those over k have the rows of op(B) in the window, ROOM elements apart. */
struct dm_freivalds {
  dm_problem problem;  /* m and n are those of the checked part, ... */
  dm_range rows, cols; /* ... these rows and columns of C */
  int64_t depth;       /* rows of op(B): k of all entries */
  int64_t room;        /* rows of the longest window, ... */
  dm_range window;     /* ... and the present one */
  double spread;       /* sum of |B(l,j) w_j|^2 over the windows so far */
  int64_t entry_rows;  /* rows of C in an entry */
  double alpha[2], beta[2];
  bool exact, from_gpu;
  bool conjugate_a, conjugate_b; /* in op(A) and op(B), but not in their parts */
  int groups;
  int64_t group_cols; /* columns of C per group, from C's first column on */
  bool stated;        /* SEED was stated by the user; else it is drawn when w is */
  uint64_t seed;      /* seed of w, on all ranks once w is drawn */
  uint8_t *marks;     /* set by dm_freivalds_mark, or NULL */
  dm_backend *adds;   /* backend with pending sums, or NULL */
  int parts;
  const int64_t *row_exponents, *col_exponents; /* set by dm_freivalds_scaled, or NULL */
  int alpha_exponent;
  const dm_centering *nan_rows, *nan_cols; /* set by dm_freivalds_expect_nan, or NULL */
  int64_t step;                            /* op(B) is scanned at every STEP-th row */
  bool strained; /* squares of B overflowed or vanished, or B has NaN or Inf */
  int64_t cols_left_out;
  int64_t count;                                /* of numbers in */
  double *memory;                               /* which holds all that follow */
  double *col_squares;                          /* n */
  double *w;                                    /* n, wide */
  double *t;                                    /* room, wide: B w */
  double *sizes;                                /* room: sum_j |B(k,j) w_j|^2, later its root */
  double *y, *z, *z0;                           /* m, wide: A t; C w; C0 w */
  double *scratch;                              /* m, wide; shared by the groups */
  double *row_squares, *z_squares, *z0_squares; /* m */
  double *c_squares; /* m: sum_j |C(i,j)|^2, or that of a part at its first row; for all groups */
};

/* The same, summed over the ranks. */
typedef struct dm_row_totals {
  double *y, *z, *z0;
  double *a_squares, *z_squares, *z0_squares;
} dm_row_totals;

/* Whether line I of C was stated to be NaN by LINES, which may be NULL. */
static inline bool dm_freivalds_expects(const dm_centering *lines, int64_t i) {
  return lines && dm_centering_is_nan(lines, i);
}

/* Waits for pending sums of a device. (freivalds.c) */
dm_status dm_freivalds_arrive(dm_freivalds *check);

/* Collective: adds VECTOR, of COUNT wide numbers, over all ranks. (freivalds.c) */
dm_status dm_freivalds_sum_wide(const dm_freivalds *check, const dm_comm *comm, double *vector,
                                int64_t count);

/* Where row ROW of op(B), which is in the window, is in the vectors of group G. */
static inline int64_t dm_freivalds_at(const dm_freivalds *check, int g, int64_t row) {
  return g * check->room + row - check->window.begin;
}

/* Takes the roots of COUNT completed sums in SIZES, from row ROW of op(B) on. (freivalds_roots.c)
 */
dm_status dm_freivalds_take_roots(dm_freivalds *check, int64_t row, int64_t count);

/* Collective: draws the seed of w, unless it is stated. (freivalds.c) */
dm_status dm_freivalds_draw(dm_freivalds *check, const dm_comm *comm);

/* (freivalds_bound.c) */
dm_row_factors dm_freivalds_factors(const dm_freivalds *check);

/* One row of the wide vectors, as a complex number. */
static inline void dm_freivalds_load(const dm_freivalds *check, const double *vector, int64_t row,
                                     double out[2]) {
  out[0] = vector[row * check->parts];
  out[1] = check->parts == 2 ? vector[row * 2 + 1] : 0.0;
}

/* The sums of row I among those of all groups. */
static inline dm_row_sums dm_freivalds_sums_of(const dm_freivalds *check, const dm_row_totals *rows,
                                               int64_t i) {
  dm_row_sums s = {.a_squares = rows->a_squares[i], .z_squares = rows->z_squares[i]};
  dm_freivalds_load(check, rows->y, i, s.y);
  if (check->conjugate_a) s.y[1] = -s.y[1];
  dm_freivalds_load(check, rows->z, i, s.z);
  if (!check->problem.reads_c) return s;
  dm_freivalds_load(check, rows->z0, i, s.z0);
  s.z0_squares = rows->z0_squares[i];
  return s;
}

/* ---- rows that stand out (freivalds_suspects.c) ---- */

/* Residuals are compared in units of C w and of what it is like if terms have random signs:
 * rounding errors of all rows are similar then, also of those with a few large elements, as on the
 * diagonal of a Gram matrix. */
static inline double dm_freivalds_squared_unit(const dm_row_factors *f, const dm_row_sums *s) {
  const double alpha = dm_row_modulus(f->alpha), beta = dm_row_modulus(f->beta);
  return s->z_squares + alpha * alpha * s->a_squares + beta * beta * s->z0_squares;
}

/* What residuals of rows are like: the largest, squared and over its unit, with its row; and how
 * many of those that are counted have about 2^(i - DM_RESIDUAL_SIZES). */
enum { DM_RESIDUAL_SIZES = 128 };
typedef struct dm_residual_sizes {
  double largest;
  int64_t row;
  int32_t rows[DM_RESIDUAL_SIZES];
} dm_residual_sizes;

/* Rows are counted whose number has none of these bits: some thousands. */
static inline int64_t dm_freivalds_uncounted(int64_t rows) {
  int64_t bits = 0;
  while (rows / (bits + 1) > 2048) bits = 2 * bits + 1;
  return bits;
}

/* The exponent of X > 0, which is normal, but for a constant. */
static inline int64_t dm_freivalds_exponent(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (int64_t)(bits >> 52);
}

/* Residuals of zero, or too large or small to tell, are left out. */
static inline void dm_freivalds_count(dm_residual_sizes *sizes, const dm_row_factors *f,
                                      const dm_row_sums *s, int64_t row, bool counted) {
  const double r = dm_row_residual(f, s), unit = dm_freivalds_squared_unit(f, s);
  if (!(r > 1e-120 && r < 1e120 && unit > DM_LEAST_SQUARES && unit < 1.0 / DM_LEAST_SQUARES))
    return;
  if (r * r > sizes->largest * unit) {
    sizes->largest = r * r / unit;
    sizes->row = row;
  }
  if (!counted) return;
  const int64_t size = dm_freivalds_exponent(r * r) - dm_freivalds_exponent(unit);
  sizes->rows[dm_max(0, dm_min(DM_RESIDUAL_SIZES - 1, DM_RESIDUAL_SIZES + size))]++;
}

void dm_freivalds_join_sizes(dm_residual_sizes *sizes, const dm_residual_sizes *more);

/* Marks rows within their bounds that stand out, and sets VERDICT's suspect row. */
void dm_freivalds_suspect(const dm_freivalds *check, const dm_row_factors *f,
                          const dm_row_totals *rows, const dm_residual_sizes *sizes,
                          dm_verdict *verdict);

/* See dm_verdict. */
double dm_freivalds_unbiased(const dm_row_factors *factors);

#endif
