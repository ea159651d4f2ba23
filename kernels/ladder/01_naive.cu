/* naive: C (+)= A B with a thread for each element of C, the first thing one writes.
 *
 * The idea: elements of C do not depend on each other, so each gets a thread of its own, in a
 * two-dimensional grid like the matrix; x counts the rows.
 *
 * What limits it: the order of x and y.  The 32 threads of a warp have consecutive x, so the warp
 * covers a column of C: its 32 loads of A and its 32 stores access 32 different rows, each in a
 * memory transaction of its own, of which 4 of 32 bytes are used. */
#include "kernels/gemm.h"

namespace {

constexpr int ROWS = 32, COLS = 8; /* of C, per block */

template <class T> __global__ void naive(Product<T> p) {
  const int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.x;
  if (row >= p.c.rows) return;
  const int64_t step = (int64_t)gridDim.y * COLS; /* a grid has at most 65535 blocks in y */
  for (int64_t col = (int64_t)blockIdx.y * COLS + threadIdx.y; col < p.c.cols; col += step) {
    T sum = p.old(row, col);
    for (int64_t k = 0; k < p.a.cols; k++) sum = mad(p.a.at(row, k), p.b.at(k, col), sum);
    p.c.at(row, col) = sum;
  }
}

} // namespace

extern "C" cudaError_t dm_kernels_naive(const dm_gemm *product) {
  const dim3 grid(blocks_for(divide_up(product->c.rows, ROWS)),
                  blocks_for(divide_up(product->c.cols, COLS), 65535));
  return with_real(product, [&](auto p) {
    naive<<<grid, dim3(ROWS, COLS), 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
