/* naive_coalesced: C (+)= A B with consecutive threads along a row of C.
 *
 * The idea: x counts the columns, so the threads of a warp access consecutive addresses.
 *
 * Adds to naive: x and y are exchanged.  The 32 loads of B by a warp are contiguous (coalesced: 128
 * bytes in f32, in four sectors of 32), all its threads load the same element of A, and its stores
 * are contiguous, too.  (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory")
 *
 * What limits it: every multiply-add needs two loads, 2 operations for 8 bytes in f32.  Caches
 * serve most of them, but no faster than one element per thread and instruction. */
#include "kernels/gemm.h"

namespace {

constexpr int COLS = 32, ROWS = 8; /* of C, per block */

template <class T> __global__ void naive_coalesced(Product<T> p) {
  const int64_t col = (int64_t)blockIdx.x * COLS + threadIdx.x;
  if (col >= p.c.cols) return;
  const int64_t step = (int64_t)gridDim.y * ROWS; /* at most 65535 blocks in y */
  for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < p.c.rows; row += step) {
    T sum = p.old(row, col);
    for (int64_t k = 0; k < p.a.cols; k++) sum = mad(p.a.at(row, k), p.b.at(k, col), sum);
    p.c.at(row, col) = sum;
  }
}

} // namespace

extern "C" cudaError_t dm_kernels_naive_coalesced(const dm_gemm *product) {
  const dim3 grid(blocks_for(divide_up(product->c.cols, COLS)),
                  blocks_for(divide_up(product->c.rows, ROWS), 65535));
  return with_real(product, [&](auto p) {
    naive_coalesced<<<grid, dim3(COLS, ROWS), 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
