/* reference: results to check kernels against, and a read-only kernel as the baseline for
 * reductions.  Streams and shapes as in kernels.h; views may have any strides. */
#ifndef DM_KERNELS_REFERENCE_H
#define DM_KERNELS_REFERENCE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* COUNT rows of a result (at most 65535), all in device memory.  Part p of element j of row i has
 * index (i * cols + j) * parts + p; complex elements have two parts.  The true result is value +
 * rest; magnitude is the sum of absolute values. */
typedef struct dm_reference {
  const int64_t *rows;
  int64_t count;
  double *value, *rest, *magnitude;
  cudaStream_t stream;
} dm_reference;

/* (OLD +) A B */
cudaError_t dm_kernels_reference_product(const dm_reference *reference, dm_view a, dm_view b,
                                         dm_view old, bool accumulate);
/* FROM, transposed */
cudaError_t dm_kernels_reference_transposition(const dm_reference *reference, dm_view from);
/* alpha X + beta Y, of f32, f64 or i32, rounded as by dm_addition */
cudaError_t dm_kernels_reference_addition(const dm_reference *reference, dm_view x, dm_view y,
                                          double alpha, double beta);
/* The dot product, of f32, f64 or i32: one row of one element */
cudaError_t dm_kernels_reference_dot(const dm_reference *reference, dm_view x, dm_view y);

/* errors[index] = |RESULT - reference| / magnitude; infinite if above 1. */
cudaError_t dm_kernels_errors(const dm_reference *reference, dm_view result, double *errors);

/* Reads BYTES at X and at Y, both aligned to 16 bytes; hardly ever writes *sink. */
cudaError_t dm_kernels_read(const void *x, const void *y, int64_t bytes, int processors,
                            unsigned *sink, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
