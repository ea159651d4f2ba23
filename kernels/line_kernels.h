/* line_kernels: moments of the rows or columns of a matrix, copies of it that are centered by them
 * (core/centering.h), and covariances of pairs of lines (core/pairs.h).  Functions follow the
 * conventions of kernels.h. */
#ifndef DM_KERNELS_LINE_KERNELS_H
#define DM_KERNELS_LINE_KERNELS_H

#include "core/centering.h"
#include "core/pairs.h"
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The moments of the columns of MATRIX, of any type, one pass, the same bits in every run: as
 * numbers[what * width + j], with WIDTH = cols, or for complex matrices 2 cols.  Of these, the
 * squares of an element's two parts are one sum.  *first becomes the least place of a missing
 * element, row * row_place + column * col_place, if that is less.  Fast if rows or columns are
 * contiguous.  (helpers/moments.cu) */
typedef struct dm_moments_work {
  dm_view matrix;
  dm_gaps gaps;
  const double *weights; /* of the rows, or DM_LEFT_OUT; NULL: 1 */
  const double *powers;  /* that the elements of each column are multiplied with; NULL: 1 */
  int64_t row_place, col_place;
  int64_t parts; /* of the rows, summed separately */
  void *scratch; /* dm_kernels_moments_scratch bytes, aligned to 16 */
  double *numbers;
  int64_t *first;
  cudaStream_t stream;
} dm_moments_work;
cudaError_t dm_kernels_moments(const dm_moments_work *work);
int64_t dm_kernels_moments_parts(dm_view matrix, int processors);
int64_t dm_kernels_moments_scratch(dm_view matrix, int64_t parts);

/* TO = FROM as CENTERING says, whose arrays are in device memory: computed in f64 and rounded once.
 * Both are real or both complex, TO is not i32, and in both rows are contiguous, or in both
 * columns.  (helpers/center.cu) */
typedef struct dm_center_work {
  dm_view to, from;
  dm_gaps gaps;
  dm_centering centering;
  cudaStream_t stream;
} dm_center_work;
cudaError_t dm_kernels_center(const dm_center_work *work);

/* C, real floating-point, = the covariances or correlations of OF as FORM says, rounded once; all
 * in device memory.  C may be the counts.  *doubtful becomes 1 if the sums of a pair are.
 * (helpers/pairs.cu) */
cudaError_t dm_kernels_pairs(dm_view c, const dm_pairs *of, const dm_pair_form *form,
                             int64_t *doubtful, cudaStream_t stream);

/* C, floating-point: FACTOR times correlations, whose magnitude becomes at most FACTOR's, and with
 * DIAGONAL those of column = row - AHEAD exactly FACTOR; NaN stays.  (helpers/pairs.cu) */
cudaError_t dm_kernels_correlate(dm_view c, int64_t ahead, double factor, bool diagonal,
                                 cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
