/* verify_sums: what the verification wants to know of matrices in either space.
 *
 * Vectors are host memory of the wide type: f64; two f64 for a complex matrix; int64_t (sums wrap)
 * for an integer matrix.  Of matrices in device memory sums are posted, ahead of waiting products,
 * and added to what the caller has when dm_backend_settle returns.  Until then matrices stay as
 * they are, and what sums are added to stays where it is; vectors that are only read may change. */
#ifndef DM_BACKEND_VERIFY_SUMS_H
#define DM_BACKEND_VERIFY_SUMS_H

#include "backend/backend.h"

/* y[i] += sum_j M(i,j) x[j];  squares[i] += sum_j |M(i,j) x[j]|^2 unless squares is NULL.  A column
 * whose x is 0 is not read: its elements may be NaN. */
dm_status dm_backend_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                           double *squares);

/* col_squares[j] += sum_i |M(i,j)|^2, and at least DM_VANISHING where an element is not 0, so that
 * underflow does not make a column look empty. */
#define DM_VANISHING 0x1p-1000
dm_status dm_backend_scan(dm_backend *backend, dm_view matrix, double *col_squares);

/* *SUM += the checksum (core/element_sum.h) of MATRIX, which begins at PLACE, or -= it; both are in
 * device memory. */
dm_status dm_backend_checksum(dm_backend *backend, dm_view matrix, dm_place place, bool subtract,
                              uint64_t *sum);

/* All of these will be wanted of A and B, of type OPERANDS, and of C: what that takes is loaded by
 * a thread meanwhile. */
dm_status dm_backend_expect_sums(dm_backend *backend, dm_dtype operands, dm_dtype c);

/* Waits for all sums that were posted.  An error loses what was not added yet. */
dm_status dm_backend_settle(dm_backend *backend);

#endif
