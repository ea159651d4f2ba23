/* verify_kernels: sums over matrices for the verification.  Functions follow the conventions of
 * kernels.h. */
#ifndef DM_KERNELS_VERIFY_KERNELS_H
#define DM_KERNELS_VERIFY_KERNELS_H

#include "core/element_sum.h"
#include "core/row_bound.h"
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sums[i] += sum_j M(i,j) x[j];  squares[i] += sum_j |M(i,j) x[j]|^2 unless squares is NULL.  With
 * SIZES, in the same pass: squares[i] += sum_j |M(i,j) sizes[j]|^2, and unless norms is NULL
 * norms[i] += sum_j |M(i,j)|^2; columns whose size is 0 count as 0, but not in norms.
 * x and sums have the wide type (f64, two f64, int64_t); columns whose x is 0 count as 0.  Fast if
 * rows are contiguous and 16-byte aligned.  (helpers/probe.cu) */
typedef struct dm_probe_work {
  dm_view matrix;
  const void *x;
  int64_t parts;
  void *scratch; /* PARTS * rows numbers of the wide type; as many f64 for squares, and for norms */
  void *sums;
  double *squares;
  const double *sizes; /* NULL: those of x */
  double *norms;
  cudaStream_t stream;
} dm_probe_work;
cudaError_t dm_kernels_probe(const dm_probe_work *work);

/* The number of PARTS, ranges of columns with separate sums, that keeps PROCESSORS multiprocessors
 * busy. */
int64_t dm_kernels_probe_parts(dm_view matrix, int processors);

/* sums[j] += sum_i |M(i,j)|^2; SCRATCH holds PARTS * cols values.  (helpers/scan.cu) */
cudaError_t dm_kernels_scan(dm_view matrix, int64_t parts, double *scratch, double *sums,
                            cudaStream_t stream);
int64_t dm_kernels_scan_parts(dm_view matrix, int processors);

/* *sum += the checksum (core/element_sum.h) of MATRIX, which begins at PLACE; SUBTRACT: -=.  c128
 * is passed as its parts, with twice as many columns.  (helpers/checksum.cu) */
cudaError_t dm_kernels_checksum(dm_view matrix, dm_place place, bool subtract, uint64_t *sum,
                                int processors, cudaStream_t stream);

/* The vectors of the verification of a whole product, of a real or complex floating-point type:
 * PARTS f64 per number.  (helpers/judge.cu) */
typedef struct dm_judge_work {
  int64_t rows, cols, depth; /* m, n, k */
  int parts;
  uint64_t seed;
  dm_row_factors factors;
  const double *col_squares;                                 /* n */
  double *w, *sizes_w;                                       /* n */
  double *t, *sizes_t;                                       /* k: B w, and sums of squares */
  const double *y, *a_squares;                               /* m: A t */
  const double *z, *z_squares, *z0, *z0_squares, *c_squares; /* m: C w, the old C w; |C|^2 */
  dm_columns_found *columns;
  dm_rows_found *found; /* dm_kernels_judge_parts */
  cudaStream_t stream;
} dm_judge_work;
cudaError_t dm_kernels_weigh(const dm_judge_work *work);      /* sets w, sizes_w, columns */
cudaError_t dm_kernels_take_roots(const dm_judge_work *work); /* of sizes_t */
cudaError_t dm_kernels_judge(const dm_judge_work *work);      /* sets found */
int64_t dm_kernels_judge_parts(int64_t rows);

/* Load the kernels that these functions launch for aligned matrices of DTYPE, to save the time at
 * the first launch. */
cudaError_t dm_kernels_probe_load(dm_dtype dtype);
cudaError_t dm_kernels_scan_load(dm_dtype dtype);
cudaError_t dm_kernels_checksum_load(dm_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
