/* mirror: makes a square matrix symmetric, or Hermitian, in place: C(j, i) = C(i, j) for j < i, in
 * rows i from a given one on.
 *
 * The idea: a block loads a tile below the diagonal along its rows and stores it along its columns,
 * through shared memory, so both sides are coalesced; a column of padding keeps threads from
 * accessing one bank.  Blocks above the diagonal end at once.  Limits: elements are moved one at a
 * time; a matrix is mirrored once, after thousands of operations per element. */
#include "kernels/helpers/matrix.cuh"

namespace {

constexpr int TILE = 32, ROWS = 8;

template <class T> __device__ __forceinline__ T conjugate(T v) {
  return v;
}
template <class Part> __device__ __forceinline__ Complex<Part> conjugate(Complex<Part> v) {
  return {v.re, -v.im};
}

template <class T> __device__ __forceinline__ void make_real(T &) {
}
template <class Part> __device__ __forceinline__ void make_real(Complex<Part> &v) {
  v.im = 0;
}

template <class T>
__device__ __forceinline__ void mirror_tile(const Matrix<T> &m, int64_t row, int64_t col,
                                            bool conjugates) {
  __shared__ alignas(16) char memory[TILE * (TILE + 1) * sizeof(T)];
  T(*tile)[TILE + 1] = reinterpret_cast<T(*)[TILE + 1]>(memory);
  for (int i = threadIdx.y; i < TILE; i += ROWS) {
    const int64_t r = row + i, c = col + threadIdx.x;
    if (r < m.rows && c < r) tile[i][threadIdx.x] = m.at(r, c);
    if (conjugates && r < m.rows && c == r) make_real(m.at(r, r));
  }
  __syncthreads();
  for (int i = threadIdx.y; i < TILE; i += ROWS) {
    const int64_t r = row + threadIdx.x, c = col + i;
    if (r >= m.rows || c >= r) continue;
    const T v = tile[threadIdx.x][i];
    m.at(c, r) = conjugates ? conjugate(v) : v;
  }
  __syncthreads();
}

/* A row of the grid takes every gridDim.y-th row of tiles. */
template <class T>
__global__ void __launch_bounds__(TILE *ROWS) mirror(Matrix<T> m, int64_t first, bool conjugates) {
  const int64_t col = (int64_t)blockIdx.x * TILE;
  for (int64_t row = first + (int64_t)blockIdx.y * TILE; row < m.rows;
       row += (int64_t)gridDim.y * TILE)
    if (col < row + TILE) mirror_tile(m, row, col, conjugates);
}

} // namespace

cudaError_t dm_kernels_mirror(dm_view square, int64_t first, bool conjugates, cudaStream_t stream) {
  if (first >= square.rows) return cudaSuccess;
  const dim3 grid(blocks_for(divide_up(square.cols, TILE)),
                  blocks_for(divide_up(square.rows - first, TILE), 65535));
  return with_type(square.dtype, [&](auto element) {
    typedef decltype(element) T;
    mirror<<<grid, dim3(TILE, ROWS), 0, stream>>>(matrix_of<T>(square), first, conjugates);
    return cudaGetLastError();
  });
}
