/* verify_stream: passes a matrix, in a file or in memory, once, in runs of rows. Private to job. */
#ifndef DM_PRODUCT_VERIFY_STREAM_H
#define DM_PRODUCT_VERIFY_STREAM_H

#include "product/verify.h"

/* Processes PART of op(X), whose first element is (row, col), in host memory. */
typedef dm_status dm_verify_take(void *context, dm_view part, int64_t row, int64_t col);

/* Passes this rank's share of VERIFY's MATRIX (DM_A, DM_B: op(X), rounded as the equation says;
 * DM_C, DM_OLD) to TAKE as elements of WORK. */
dm_status dm_verify_stream(dm_run *run, const dm_verify *verify, int matrix, dm_dtype work,
                           dm_verify_take *take, void *context);

/* Collective: reads A, B, C and the old C for COUNT checks of parts of C, and for the checksums of
 * VERIFY. */
dm_status dm_verify_gather(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                           dm_freivalds *const *checks, int64_t count);

/* Sets the random vector and the marks that VERIFY requests in a new CHECK. */
void dm_verify_prepare(const dm_verify *verify, const dm_problem *problem, dm_freivalds *check);

/* Collective: the verdict for matrices with NaN or Inf, or exponents too large or too small for
 * sums of squares. Rows and columns are scaled by powers of two; rows and columns of C that must be
 * NaN or Inf, and are, count as checked. (verify_scaled.c) */
dm_status dm_verify_scaled(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                           dm_verdict *verdict);

#endif
