/* reference: results to check kernels by, and the plain reading that reductions are measured by.
 * What kernels.h says of streams and shapes holds here too; views may have any strides. */
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
 * the place (i * cols + j) * parts + p; complex elements have two parts.  The true result is
 * value + rest; magnitude is the sum of what was added, without signs. */
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
/* alpha X + beta Y, of f32, f64 or i32, rounded as dm_addition says */
cudaError_t dm_kernels_reference_addition(const dm_reference *reference, dm_view x, dm_view y,
                                          double alpha, double beta);
/* The dot product, of f32, f64 or i32: one row of one element */
cudaError_t dm_kernels_reference_dot(const dm_reference *reference, dm_view x, dm_view y);

/* errors[place] = |RESULT - reference| / magnitude; infinite where it is more than 1. */
cudaError_t dm_kernels_errors(const dm_reference *reference, dm_view result, double *errors);

/* Reads BYTES at X and as many at Y, both aligned to 16; *sink is hardly ever written. */
cudaError_t dm_kernels_read(const void *x, const void *y, int64_t bytes, int processors,
                            unsigned *sink, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
