/* tiled: C (+)= A B with square tiles of A and B in shared memory.
 *
 * The idea is that of the CUDA C++ Programming Guide (shared memory, matrix multiplication): a
 * block of TILE x TILE threads computes a TILE x TILE piece of C, one element per thread.  Going
 * along k, it loads a tile of A and one of B, waits (first barrier), multiplies them out of shared
 * memory, and waits again (second barrier) before the tiles are overwritten.  Every number that
 * comes from global memory is so used TILE times.  Its speed is limited by shared memory: two loads
 * per multiply-add. */
#include "kernels/kernels.h"
#include "kernels/number.cuh"

namespace {

constexpr int TILE = 32;

template <class T> struct Matrix {
  T *base;
  int64_t rows, cols, stride;
};

template <class T> Matrix<T> matrix_of(dm_view view) {
  return {static_cast<T *>(view.base), view.rows, view.cols, view.row_stride};
}

/* Element (row, col), 0 beyond the border: there it adds nothing. */
template <class Sum, class T>
__device__ __forceinline__ Sum load(const Matrix<const T> &m, int64_t row, int64_t col) {
  return row < m.rows && col < m.cols ? widen<Sum>(m.base[row * m.stride + col]) : Sum();
}

template <class Element, class Sum>
__global__ void __launch_bounds__(TILE *TILE)
    tiled(Matrix<Sum> c, Matrix<const Element> a, Matrix<const Element> b, bool accumulate) {
  __shared__ Sum a_tile[TILE][TILE], b_tile[TILE][TILE];

  /* A one-dimensional grid, because the other dimensions end at 65535. */
  const int64_t tiles_across = (c.cols + TILE - 1) / TILE;
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t row = blockIdx.x / tiles_across * TILE + y;
  const int64_t col = blockIdx.x % tiles_across * TILE + x;
  const bool inside = row < c.rows && col < c.cols;

  Sum sum = Sum();
  if (accumulate && inside) sum = c.base[row * c.stride + col];

  for (int64_t k = 0; k < a.cols; k += TILE) {
    a_tile[y][x] = load<Sum>(a, row, k + x);
    b_tile[y][x] = load<Sum>(b, k + y, col);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++) sum = mad(a_tile[y][i], b_tile[i][x], sum);
    __syncthreads();
  }
  if (inside) c.base[row * c.stride + col] = sum;
}

template <class Element>
cudaError_t launch(dm_view c, dm_view a, dm_view b, bool accumulate, cudaStream_t stream) {
  typedef typename Types<Element>::Sum Sum;
  const int64_t blocks = ((c.rows + TILE - 1) / TILE) * ((c.cols + TILE - 1) / TILE);
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration; /* C of more than 8 TB */
  tiled<<<(unsigned)blocks, dim3(TILE, TILE), 0, stream>>>(
      matrix_of<Sum>(c), matrix_of<const Element>(a), matrix_of<const Element>(b), accumulate);
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_tiled(dm_view c, dm_view a, dm_view b, bool accumulate,
                             cudaStream_t stream) {
  return with_type(a.dtype, [&](auto element) {
    return launch<decltype(element)>(c, a, b, accumulate, stream);
  });
}
