/* naive: C (+)= A B with a two-dimensional grid of threads, the wrong way round.
 *
 * The idea: a thread for each element of C, as in thread_per_element_1d, but in a two-dimensional
 * grid, like the matrix.  Here x is the row.
 *
 * Adds only a mistake to learn from.  A warp consists of threads with consecutive x, so it covers a
 * column of C: its 32 loads of A and its 32 stores access 32 different rows, each in a separate
 * memory transaction, most of whose bytes are unused.
 *
 * Measured on an H200, N = 8192: f32 0.010, f64 0.008 of cuBLAS' speed. */
#include "kernels/helpers/matrix.cuh"

namespace {

constexpr int ROWS = 32, COLS = 8;

template <class T> __global__ void naive(Product<T> p) {
  const int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.x;
  if (row >= p.c.rows) return;
  const int64_t step = (int64_t)gridDim.y * COLS; /* a grid has at most 65535 blocks in y */
  for (int64_t col = (int64_t)blockIdx.y * COLS + threadIdx.y; col < p.c.cols; col += step)
    multiply_element(p, row, col);
}

} // namespace

cudaError_t dm_kernels_naive(const dm_product *product) {
  const dim3 grid(blocks_for(divide_up(product->c.rows, ROWS)),
                  blocks_for(divide_up(product->c.cols, COLS), 65535));
  return with_real(product, [&](auto p) {
    naive<<<grid, dim3(ROWS, COLS), 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
