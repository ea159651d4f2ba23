/* kernels: the C interface of the CUDA kernels.
 *
 * Every function enqueues work on STREAM of the current device and returns immediately; matrices
 * are in device memory.  Results are correct for any shape with rows, cols >= 1 and any strides,
 * unless stated otherwise; conditions for speed are stated too. */
#ifndef DM_KERNELS_KERNELS_H
#define DM_KERNELS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/view.h"
#include "kernels/gemm.h"
#include "kernels/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline dm_gemm_matrix dm_gemm_matrix_of(dm_view view) {
  const dm_gemm_matrix matrix = {view.base, view.rows, view.cols, view.row_stride, view.col_stride};
  return matrix;
}

/* The products of the registry (registry.h), each in the file of its name.  The bits of an element
 * of C depend only on its row of A, its column of B and the old value.  All kernels with
 * DM_SUM_CHAIN (old value, then fused multiply-adds over ascending k) compute the same bits. */
#define DM_KERNEL_LAUNCHER(name, ...) cudaError_t dm_kernels_##name(const dm_gemm *product);
DM_KERNEL_LIST(DM_KERNEL_LAUNCHER)
#undef DM_KERNEL_LAUNCHER

/* Bytes of scratch memory that a kernel needs for PRODUCT. */
static inline int64_t dm_kernels_no_scratch(const dm_gemm *product) {
  return (void)product, 0;
}
int64_t dm_kernels_padded_scratch(const dm_gemm *product);  /* (ladder/03_pitched.cu) */
int64_t dm_kernels_aligned_scratch(const dm_gemm *product); /* (helpers/repack.cu) */
int64_t dm_kernels_tma_scratch(const dm_gemm *product);

/* Unloads what jit has compiled.  (ladder/22_jit.cu) */
void dm_kernels_forget(struct dm_jit *compiled);

/* TO(j, i) = FROM(i, j): the same type, both with col_stride 1, not overlapping. CONJUGATE: complex
 * elements become their conjugates (transpose_tiled only). */
typedef struct dm_transposition {
  dm_view to, from;
  bool conjugate;
  cudaStream_t stream;
} dm_transposition;

/* Z = alpha X + beta Y, computed in f64 and rounded once to the type of Z (f32, f64); i32 needs
 * integral alpha and beta, and wraps.  All have one type and shape, and col_stride 1; Z may be X or
 * Y.  A matrix whose factor is 0 is not read. */
typedef struct dm_addition {
  dm_view z, x, y;
  double alpha, beta;
  cudaStream_t stream;
} dm_addition;

/* *result = sum over i, j of X(i, j) Y(i, j), of one type (f32, f64, i32) and shape, with
 * col_stride 1; accumulated in f64.  All but dot_atomic give the same bits in every run.  Only
 * dot_two_stage blocks: its second stage runs on the CPU. */
typedef struct dm_dot_product {
  dm_view x, y;
  double *result; /* device memory */
  void *scratch;  /* device memory of dm_kernels_dot_scratch bytes, aligned to 256 */
  int processors;
  cudaStream_t stream;
} dm_dot_product;

#define DM_KERNEL_LAUNCHER(name, ...) cudaError_t dm_kernels_##name(const dm_transposition *);
DM_TRANSPOSE_LIST(DM_KERNEL_LAUNCHER)
#undef DM_KERNEL_LAUNCHER
#define DM_KERNEL_LAUNCHER(name, ...) cudaError_t dm_kernels_##name(const dm_addition *);
DM_ADD_LIST(DM_KERNEL_LAUNCHER)
#undef DM_KERNEL_LAUNCHER
#define DM_KERNEL_LAUNCHER(name, ...) cudaError_t dm_kernels_##name(const dm_dot_product *);
DM_DOT_LIST(DM_KERNEL_LAUNCHER)
#undef DM_KERNEL_LAUNCHER
int64_t dm_kernels_dot_scratch(const dm_dot_product *product);

/* VIEW(i,j) = element (row + i, col + j), bit-identical to dm_fill.  (helpers/fill.cu) */
cudaError_t dm_kernels_fill(dm_view view, const dm_generator *generator, int64_t row, int64_t col,
                            cudaStream_t stream);

/* Elements of SQUARE above its diagonal become the mirror images of those below it in rows from
 * FIRST on; with CONJUGATE, for complex elements, their conjugates, and the diagonal there real.
 * Elements of 1, 4, 8 or 16 bytes, col_stride 1.  (helpers/mirror.cu) */
cudaError_t dm_kernels_mirror(dm_view square, int64_t first, bool conjugate, cudaStream_t stream);

/* C = alpha (S_0 + S_1 + ...) + beta OLD, or with LOWER only its elements below the diagonal and on
 * it: COUNT matrices, of which SUMS is the first and the next begins STEP elements on, added in
 * this order in f64 and rounded once, as dm_apply_alpha_beta (engine/alpha_beta.h) does. OLD has
 * the type of C, may be C, and is not read if beta is 0. C and OLD have any strides, SUMS
 * col_stride 1. Of SUMS in f32 or f64, C has any real floating-point type; of c64 or c128 any
 * complex one. (helpers/epilogue.cu) */
typedef struct dm_epilogue {
  dm_view c, sums, old;
  int64_t count, step;
  bool lower;
  double alpha[2], beta[2];
  cudaStream_t stream;
} dm_epilogue;
cudaError_t dm_kernels_epilogue(const dm_epilogue *work);

/* TO = FROM for all pairs of runs of rows and columns (OF, on the host, of ROWS and COLS in
 * device memory): the same type, both with col_stride 1, not overlapping. Fast if all is aligned to
 * 16 bytes.  (helpers/copy_runs.cu) */
typedef struct dm_runs_copy {
  dm_view to, from;
  dm_copy_runs of;
  const dm_copy_run *rows, *cols;
  int64_t size; /* bytes of an element */
  cudaStream_t stream;
} dm_runs_copy;
cudaError_t dm_kernels_copy_runs(const dm_runs_copy *work);

/* TO = FROM, of the same shape, real floating-point types with col_stride 1, rounded to the type of
 * TO as by dm_copy.  (helpers/convert.cu) */
cudaError_t dm_kernels_convert(dm_view to, dm_view from, cudaStream_t stream);

/* Copies FROM, by rows, to rows of COLS elements whose last ones are 0, and which begin at
 * multiples of the stride: of 128 bytes.  COLS is at most the stride.  (helpers/repack.cu) */
cudaError_t dm_kernels_pad(dm_view from, int64_t cols, void *to, cudaStream_t stream);
int64_t dm_kernels_padded_stride(dm_view from); /* elements */

/* TO, of twice the rows, = the complex FROM expanded: as real matrices of twice the columns, parts
 * of A times TO are the parts of A FROM.  Both have col_stride 1.  (helpers/expand.cu) */
cudaError_t dm_kernels_expand(dm_view to, dm_view from, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
