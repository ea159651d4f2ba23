/* verify_stream: a matrix in a file, read once in runs of rows.  Private to job. */
#ifndef DM_JOB_VERIFY_STREAM_H
#define DM_JOB_VERIFY_STREAM_H

#include "job/verify.h"

/* Takes PART of op(X), which begins at (row, col) of it, in host memory. */
typedef dm_status dm_verify_take(void *context, dm_view part, int64_t row, int64_t col);

/* This rank's share of DATASET's rows, rounded to AS, goes to TAKE as elements of WORK. */
dm_status dm_verify_stream(dm_run *run, int threads, const dm_dataset *dataset, dm_op op,
                           dm_dtype as, dm_dtype work, dm_verify_take *take, void *context);

/* What VERIFY wants of the random vector and of marks, of a new CHECK. */
void dm_verify_prepare(const dm_verify *verify, const dm_problem *problem, dm_freivalds *check);

/* Collective: the verdict where exponents are too large or too small for sums of squares, or
 * matrices hold NaN or Inf.  Rows and columns are scaled by powers of two; rows and columns of C
 * that have to be NaN or Inf, and are, count as checked.  (verify_scaled.c) */
dm_status dm_verify_scaled(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                           dm_verdict *verdict);

#endif
