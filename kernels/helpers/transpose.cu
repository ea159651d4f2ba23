/* transpose: TO(j, i) = FROM(i, j), the simple ways: a thread for each element.
 *
 * The idea: neighbouring threads should access neighbouring addresses, but a row of one matrix is a
 * column of the other.  transpose_read_coalesced counts its threads along the rows of FROM: loads
 * are coalesced, and each store of a warp is 32 transactions.  transpose_write_coalesced counts
 * along the rows of TO: here loads are scattered, which is faster, because other warps run while
 * loads wait, and the L2 cache keeps the unused parts of loaded sectors.  transpose_2d uses a
 * two-dimensional grid, which saves the division that turns a number into a row and a column.
 *
 * Limits: one side is always scattered, in single elements while memory moves 32 bytes;
 * transpose_tiled solves this. */
#include "kernels/helpers/matrix.cuh"

namespace {

constexpr int THREADS = 256, COLS = 32, ROWS = 8; /* threads of a block */

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

/* Calls FUNCTION with both matrices in their type. */
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
