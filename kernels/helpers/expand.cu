/* expand: TO = a complex matrix as a real one of twice the rows and columns.
 *
 * The idea: an element x + iy becomes the square (x, y; -y, x). The parts of a row of another
 * complex matrix, multiplied with it, are those of the row of the product; so real kernels compute
 * it, with as many multiplications.  A thread writes one square, in two pairs.  Limits: TO has
 * twice the bytes. */
#include "kernels/helpers/matrix.cuh"

namespace {

constexpr int COLS = 32, ROWS = 8; /* threads of a block */

template <class Part>
__global__ void __launch_bounds__(COLS *ROWS)
    expand(Matrix<Complex<Part>> to, Matrix<const Complex<Part>> from) {
  const int64_t col = (int64_t)blockIdx.x * COLS + threadIdx.x;
  const int64_t step = (int64_t)gridDim.y * ROWS; /* at most 65535 blocks in y */
  if (col >= from.cols) return;
  for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < from.rows; row += step) {
    const Complex<Part> v = from.at(row, col);
    to.at(2 * row, col) = v;
    to.at(2 * row + 1, col) = {-v.im, v.re};
  }
}

template <class Part> cudaError_t launch(dm_view to, dm_view from, cudaStream_t stream) {
  const dim3 grid(blocks_for(divide_up(from.cols, COLS)),
                  blocks_for(divide_up(from.rows, ROWS), 65535));
  expand<Part><<<grid, dim3(COLS, ROWS), 0, stream>>>(matrix_of<Complex<Part>>(to),
                                                      matrix_of<const Complex<Part>>(from));
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_expand(dm_view to, dm_view from, cudaStream_t stream) {
  return from.dtype == DM_C64 ? launch<float>(to, from, stream) : launch<double>(to, from, stream);
}
