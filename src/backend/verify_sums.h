/* verify_sums: sums of matrices in either space, for the verification.
 *
 * Vectors are in host memory and have the wide type: f64; two f64 for a complex matrix; int64_t
 * (sums wrap) for an integer matrix. For matrices in device memory, sums are posted ahead of
 * waiting products, and added to the caller's vectors by the time dm_backend_settle returns. Until
 * then matrices must not change and these vectors must stay in place; vectors that are only read
 * may change. */
#ifndef DM_BACKEND_VERIFY_SUMS_H
#define DM_BACKEND_VERIFY_SUMS_H

#include "backend/backend_table.h"
#include "core/checked.h"
#include "core/row_bound.h"

/* y[i] += sum_j M(i,j) x[j]; squares[i] += sum_j |M(i,j) x[j]|^2 unless squares is NULL. A column
 * with x = 0 is not read: its elements may be NaN. */
dm_status dm_backend_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                           double *squares);

/* col_squares[j] += sum_i |M(i,j)|^2, and at least DM_VANISHING if an element is not 0, so that
 * underflow does not make a column look empty. */
#define DM_VANISHING 0x1p-1000
dm_status dm_backend_scan(dm_backend *backend, dm_view matrix, double *col_squares);

/* *SUM += the checksum (core/element_sum.h) of MATRIX, which starts at PLACE; with SUBTRACT, -=.
 * MATRIX and *SUM are in device memory. */
dm_status dm_backend_checksum(dm_backend *backend, dm_view matrix, dm_element_place place,
                              bool subtract, uint64_t *sum);

/* Announces all of these sums for A and B, of type OPERANDS, and for C: a thread loads the kernels
 * meanwhile. */
dm_status dm_backend_expect_sums(dm_backend *backend, dm_dtype operands, dm_dtype c);

/* Waits for all posted sums. After an error, pending sums are lost. */
dm_status dm_backend_settle(dm_backend *backend);

/* The weights of the verification may follow from a sample of op(B), of DEPTH rows: every STEP-th
 * of them, about 256 but at most a fifth. STEP is odd, as matrices have more structure in powers of
 * two; 1: all rows. */
static inline int64_t dm_sample_step(int64_t depth) {
  enum { VERIFY_SUMS_SAMPLED = 256, VERIFY_SUMS_LEAST = 5 };
  return depth < VERIFY_SUMS_SAMPLED ? 1
                                     : dm_max(VERIFY_SUMS_LEAST, depth / VERIFY_SUMS_SAMPLED | 1);
}

/* Those of MATRIX, which begins with row ROW of op(B). */
static inline dm_view dm_sample(dm_view matrix, int64_t row, int64_t step) {
  const int64_t first = dm_min(matrix.rows, dm_round_up(row, step) - row);
  dm_view rows = dm_view_sub(matrix, first, 0, dm_ceil_div(matrix.rows - first, step), matrix.cols);
  rows.row_stride *= step;
  return rows;
}

/* Whether weights from a sample are useful for N columns: SQUARES is the sum of |B(l,j) w_j|^2 over
 * all elements, which is N to 4 N if the sample represents op(B). */
static inline bool dm_sample_is_sound(double squares, int64_t n) {
  return squares <= 64.0 * (double)n;
}

/* Statistics of whole rows or columns, from which the exponents of residues
 * (core/residues.h) follow. */

/* The statistics of each row (BY_ROW) or column of MATRIX, of f64 or f32, in either space.
 * Synchronous, exact, and in any order. NaN counts as infinite.
 *   extremes[2 l] = max |a|, extremes[2 l + 1] = max -|a| over a != 0, joined with old values;
 *   sums[DM_LINE_SUMS l + ...] += sum of dm_square(a), and counts of |a| >= 2^(top - q),
 *   q = dm_line_depths[0], ..., with max |a| < 2^top from the whole line's extremes. */
enum { DM_LINE_DEPTHS = 6, DM_LINE_SUMS = 1 + DM_LINE_DEPTHS };
extern const int dm_line_depths[DM_LINE_DEPTHS];
dm_status dm_backend_extremes(dm_backend *backend, dm_view matrix, bool by_row, double *extremes);
dm_status dm_backend_line_sums(dm_backend *backend, dm_view matrix, bool by_row,
                               const double *extremes, int64_t *sums);

/* ---- a product of whole matrices with its verification in one group of columns ----
 *
 * The vectors stay on the GPU. */

/* One of several ranks: it has rows of C, from FIRST on of ROWS, and a part of op(B), perhaps
 * empty, which starts at (ROW, COL). Of op(A) it has the same rows, or, as of op(B), a PART. */
struct dm_verified_ranks {
  int64_t rows, first, depth; /* depth: k */
  int64_t row, col;
  bool part;
  int64_t row_of_a, col_of_a; /* where that part starts */
  int parts_of_k; /* so many ranks have parts of k: that of op(A) meets only this rank's elements of
                     op(B) w, and SUM need not add others to them, nor be given them; 0: it needs
                     all */
  /* Collective: sums COUNT numbers of f64, or integers, over the ranks, unless one comes with an
   * error, MINE. VALUES have room for one more; NULL with an error. First called for the squares of
   * all columns of op(B), unless they are integers, then for op(B) w and its sizes, then for those
   * of a divided op(A). */
  dm_status (*sum)(void *context, dm_status mine, void *values, int64_t count, bool integers);
  /* Called once, before the first sum over the ranks, even after an error: parts of op(B) begin to
   * travel and, if PRODUCTS, are multiplied before the sums are taken; all ranks state the same.
   * Returns whether some are. */
  bool (*begin)(void *context, bool products);
  /* Called again and again while the host waits for this GPU's part of a sum: op(B) travels on, and
   * is multiplied if begin said so. */
  void (*advance)(void *context);
  /* Multiplies, and returns when C is complete; called once the sums of A and B are taken, unless
   * one fails. */
  dm_status (*multiply)(void *context);
  void *context;
};

struct dm_verified_product {
  dm_whole_product whole; /* that the backend suits */
  int64_t step;           /* of the sample of op(B) from which the weights follow; 0 or 1: all */
  bool multiplied;        /* C is complete and only verified; several ranks are asked to multiply */
  uint64_t seed;
  dm_row_factors factors;
  const dm_verified_ranks *ranks; /* NULL: one process */
  /* Set by dm_backend_multiply_verified: how the backend multiplies; ALONE: no sums run beside. */
  dm_status (*multiply)(dm_backend *backend, const dm_whole_product *whole, void *stream,
                        dm_event *done);
  bool alone;
};

/* Whether the backend has this. */
bool dm_backend_checks(const dm_backend *backend);

/* Synchronous. */
dm_status dm_backend_multiply_verified(dm_backend *backend, const dm_verified_product *product,
                                       dm_verified_found *found);

#endif
