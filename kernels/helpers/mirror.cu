/* mirror: makes a square matrix symmetric, or Hermitian, in place: C(j, i) = C(i, j) for j < i, in
 * rows i from a given one on.
 *
 * The idea: a block loads a tile below the diagonal along its rows and stores it along its columns,
 * through shared memory, so both sides are coalesced; a column of padding keeps threads from
 * accessing one bank.  Blocks above the diagonal end at once.  Limits: elements are moved one at a
 * time; a matrix is mirrored once, after thousands of operations per element. */
#include "kernels/helpers/matrix.cuh"

namespace {

/* Tiles of small elements are larger: a block keeps enough bytes under way. */
constexpr int THREADS = 256;
template <class T> constexpr int TILE = sizeof(T) < 8 ? 64 : 32;

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
  constexpr int SIDE = TILE<T>, ROWS = THREADS / SIDE;
  __shared__ alignas(16) char memory[SIDE * (SIDE + 1) * sizeof(T)];
  T(*tile)[SIDE + 1] = reinterpret_cast<T(*)[SIDE + 1]>(memory);
#pragma unroll
  for (int k = 0; k < SIDE / ROWS; k++) {
    const int i = k * ROWS + threadIdx.y;
    const int64_t r = row + i, c = col + threadIdx.x;
    if (r < m.rows && c < r) tile[i][threadIdx.x] = m.at(r, c);
    if (conjugates && r < m.rows && c == r) make_real(m.at(r, r));
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < SIDE / ROWS; k++) {
    const int i = k * ROWS + threadIdx.y;
    const int64_t r = row + threadIdx.x, c = col + i;
    if (r >= m.rows || c >= r) continue;
    const T v = tile[threadIdx.x][i];
    m.at(c, r) = conjugates ? conjugate(v) : v;
  }
  __syncthreads();
}

/* A row of the grid takes every gridDim.y-th row of tiles. */
template <class T>
__global__ void __launch_bounds__(THREADS) mirror(Matrix<T> m, int64_t first, bool conjugates) {
  constexpr int SIDE = TILE<T>;
  const int64_t col = (int64_t)blockIdx.x * SIDE;
  for (int64_t row = first + (int64_t)blockIdx.y * SIDE; row < m.rows;
       row += (int64_t)gridDim.y * SIDE)
    if (col < row + SIDE) mirror_tile(m, row, col, conjugates);
}

} // namespace

cudaError_t dm_kernels_mirror(dm_view square, int64_t first, bool conjugates, cudaStream_t stream) {
  if (first >= square.rows) return cudaSuccess;
  return with_type(square.dtype, [&](auto element) {
    typedef decltype(element) T;
    constexpr int SIDE = TILE<T>;
    const dim3 grid(blocks_for(divide_up(square.cols, SIDE)),
                    blocks_for(divide_up(square.rows - first, SIDE), 65535));
    mirror<<<grid, dim3(SIDE, THREADS / SIDE), 0, stream>>>(matrix_of<T>(square), first,
                                                            conjugates);
    return cudaGetLastError();
  });
}
