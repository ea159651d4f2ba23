/* kernels: the whole C interface of the CUDA kernels.
 *
 * Every function posts work on STREAM of the current device and returns at once; matrices lie in
 * device memory.  Any shape with rows, cols >= 1 and any strides are correct; what is only fast
 * says so. */
#ifndef DM_KERNELS_KERNELS_H
#define DM_KERNELS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C (+)= A B; C of the accumulator type of A and B, all with col_stride 1.  An element of C is one
 * chain of fused multiply-adds over ascending k, begun from the old C (or 0): its bits depend on
 * nothing but its row of A, its column of B and the old value.  (tiled.cu) */
cudaError_t dm_kernels_tiled(dm_view c, dm_view a, dm_view b, bool accumulate, cudaStream_t stream);

/* sums[i] = sum_j M(i,j) x[j];  squares[i] = sum_j |M(i,j) x[j]|^2 unless squares is NULL.
 * x and sums are of the wide type (f64, two f64, int64_t); columns whose x is 0 count as 0.  sums
 * and squares have room for PARTS * rows values, of which the first ROWS are the result. Fast where
 * rows are contiguous and 16-byte aligned.  (probe.cu) */
cudaError_t dm_kernels_probe(dm_view matrix, const void *x, int64_t parts, void *sums,
                             double *squares, cudaStream_t stream);

/* PARTS that keep PROCESSORS multiprocessors busy: so many runs of columns are summed separately.
 */
int64_t dm_kernels_probe_parts(dm_view matrix, int processors);

/* sums[j] = sum_i |M(i,j)|^2, with room for PARTS * cols values.  (scan.cu) */
cudaError_t dm_kernels_scan(dm_view matrix, int64_t parts, double *sums, cudaStream_t stream);
int64_t dm_kernels_scan_parts(dm_view matrix, int processors);

/* VIEW(i,j) = element (row + i, col + j), with the bits that dm_fill gives.  (fill.cu) */
cudaError_t dm_kernels_fill(dm_view view, const dm_generator *generator, int64_t row, int64_t col,
                            cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
