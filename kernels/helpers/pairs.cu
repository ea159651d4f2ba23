/* pairs: covariances or correlations of pairs of lines, from the sums over what both have
 * (core/pairs.h): a thread for each element. The sums of other lines may be read down columns;
 * neighbouring rows of a block share what is loaded. */
#include "kernels/gemm.h"
#include "kernels/helpers/rounding.cuh"
#include "kernels/line_kernels.h"

namespace {

constexpr int COLS = 32, ROWS = 8; /* threads of a block */

template <class T>
__global__ void __launch_bounds__(COLS *ROWS)
    pairs(dm_view c, dm_pairs of, dm_pair_form form, int64_t *doubtful) {
  const int64_t col = (int64_t)blockIdx.x * COLS + threadIdx.x;
  const int64_t step = (int64_t)gridDim.y * ROWS;
  if (col >= c.cols) return;
  for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < c.rows; row += step) {
    const dm_pair pair = dm_pair_at(&of, row, col);
    T *to = static_cast<T *>(c.base) + row * c.row_stride + col * c.col_stride;
    if (dm_pair_is_doubtful(&pair)) *doubtful = 1; /* all write the same */
    round_to(to, dm_pair_element(&form, &pair, dm_pair_is_same(&of, row, col)));
  }
}

__device__ __forceinline__ double correlated(double value, double factor, bool same) {
  return dm_correlated(value, factor, same);
}
__device__ __forceinline__ Complex128 correlated(Complex128 value, double factor, bool same) {
  return {dm_correlated(value.re, factor, same),
          same && !isnan(value.im) ? 0.0 : dm_correlated(value.im, factor, false)};
}

template <class T, class Number>
__global__ void __launch_bounds__(COLS *ROWS)
    correlate(dm_view c, int64_t ahead, double factor, bool diagonal) {
  const int64_t col = (int64_t)blockIdx.x * COLS + threadIdx.x;
  const int64_t step = (int64_t)gridDim.y * ROWS;
  if (col >= c.cols) return;
  for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < c.rows; row += step) {
    T *at = static_cast<T *>(c.base) + row * c.row_stride + col * c.col_stride;
    round_to(at, correlated(widen<Number>(*at), factor, diagonal && row == col + ahead));
  }
}

template <class T, class Number>
cudaError_t launch_correlate(const dm_view &c, int64_t ahead, double factor, bool diagonal,
                             cudaStream_t stream) {
  const dim3 grid(blocks_for(divide_up(c.cols, COLS)), blocks_for(divide_up(c.rows, ROWS), 65535));
  correlate<T, Number><<<grid, dim3(COLS, ROWS), 0, stream>>>(c, ahead, factor, diagonal);
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_correlate(dm_view c, int64_t ahead, double factor, bool diagonal,
                                 cudaStream_t stream) {
  switch (c.dtype) {
  case DM_F64:
    return launch_correlate<double, double>(c, ahead, factor, diagonal, stream);
  case DM_F32:
    return launch_correlate<float, double>(c, ahead, factor, diagonal, stream);
  case DM_F16:
    return launch_correlate<__half, double>(c, ahead, factor, diagonal, stream);
  case DM_BF16:
    return launch_correlate<__nv_bfloat16, double>(c, ahead, factor, diagonal, stream);
  case DM_C64:
    return launch_correlate<Complex64, Complex128>(c, ahead, factor, diagonal, stream);
  case DM_C128:
    return launch_correlate<Complex128, Complex128>(c, ahead, factor, diagonal, stream);
  default:
    return cudaErrorInvalidValue;
  }
}

cudaError_t dm_kernels_pairs(dm_view c, const dm_pairs *of, const dm_pair_form *form,
                             int64_t *doubtful, cudaStream_t stream) {
  const dim3 grid(blocks_for(divide_up(c.cols, COLS)), blocks_for(divide_up(c.rows, ROWS), 65535));
  return with_one_of<double, float, __half, __nv_bfloat16>(c.dtype, [&](auto element) {
    typedef decltype(element) T;
    pairs<T><<<grid, dim3(COLS, ROWS), 0, stream>>>(c, *of, *form, doubtful);
    return cudaGetLastError();
  });
}
