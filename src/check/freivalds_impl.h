/* freivalds_impl: the sums behind a check, and their comparison. */
#ifndef DM_CHECK_FREIVALDS_IMPL_H
#define DM_CHECK_FREIVALDS_IMPL_H

#include "check/freivalds.h"
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

/* See dm_verdict. */
double dm_freivalds_unbiased(const dm_row_factors *factors);

#endif
