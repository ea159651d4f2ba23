/* transpose: TO(j, i) = FROM(i, j), the plain ways: a thread for each element.
 *
 * The idea: neighbouring threads must touch neighbouring addresses, but a transposition has two
 * sides, and what is a row on one is a column on the other.  transpose_read_coalesced counts its
 * threads along the rows of FROM: loads are coalesced, and each store of a warp is 32 transactions.
 * transpose_write_coalesced counts along the rows of TO: the other way round, and better, because a
 * load that waits can be overtaken by other warps, and the L2 cache keeps what was loaded too much.
 * transpose_2d takes its elements from a grid of two dimensions, which spares the division that
 * makes a row and a column of a number.
 *
 * Their limits: one side is always scattered, in pieces of one element where memory moves 32 bytes;
 * transpose_tiled is the way out. */
#include "kernels/helpers/matrix.cuh"

namespace {

constexpr int THREADS = 256, COLS = 32, ROWS = 8; /* of a block */

template <class T> __global__ void read_coalesced(Matrix<T> to, Matrix<const T> from) {
  const int64_t count = from.rows * from.cols, step = (int64_t)gridDim.x * THREADS;
  for (int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x; n < count; n += step) {
    const int64_t row = n / from.cols, col = n % from.cols;
    to.at(col, row) = from.at(row, col);
  }
}

template <class T> __global__ void write_coalesced(Matrix<T> to, Matrix<const T> from) {
  const int64_t count = to.rows * to.cols, step = (int64_t)gridDim.x * THREADS;
  for (int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x; n < count; n += step) {
    const int64_t row = n / to.cols, col = n % to.cols;
    to.at(row, col) = from.at(col, row);
  }
}

template <class T> __global__ void two_dimensional(Matrix<T> to, Matrix<const T> from) {
  const int64_t col = (int64_t)blockIdx.x * COLS + threadIdx.x; /* of FROM */
  if (col >= from.cols) return;
  const int64_t step = (int64_t)gridDim.y * ROWS; /* at most 65535 blocks in y */
  for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < from.rows; row += step)
    to.at(col, row) = from.at(row, col);
}

unsigned blocks(const dm_transposition *t) {
  return blocks_for(divide_up(t->from.rows * t->from.cols, THREADS));
}

/* FUNCTION called with both matrices, in their type. */
template <class Function> cudaError_t with_matrices(const dm_transposition *t, Function function) {
  return with_type(t->from.dtype, [&](auto element) {
    typedef decltype(element) T;
    function(matrix_of<T>(t->to), matrix_of<const T>(t->from));
    return cudaGetLastError();
  });
}

} // namespace

cudaError_t dm_kernels_transpose_read_coalesced(const dm_transposition *t) {
  return with_matrices(t, [&](auto to, auto from) {
    read_coalesced<<<blocks(t), THREADS, 0, t->stream>>>(to, from);
  });
}

cudaError_t dm_kernels_transpose_write_coalesced(const dm_transposition *t) {
  return with_matrices(t, [&](auto to, auto from) {
    write_coalesced<<<blocks(t), THREADS, 0, t->stream>>>(to, from);
  });
}

cudaError_t dm_kernels_transpose_2d(const dm_transposition *t) {
  const dim3 grid(blocks_for(divide_up(t->from.cols, COLS)),
                  blocks_for(divide_up(t->from.rows, ROWS), 65535));
  return with_matrices(t, [&](auto to, auto from) {
    two_dimensional<<<grid, dim3(COLS, ROWS), 0, t->stream>>>(to, from);
  });
}
