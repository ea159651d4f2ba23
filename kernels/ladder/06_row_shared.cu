/* row_shared: C (+)= A B with a block for each row of C and the row of A in shared memory.
 *
 * The idea: all elements of a row of C need the same row of A.  The block copies it once to shared
 * memory, which is as fast as the multiprocessor.  Long rows are processed in pieces; in between, C
 * holds the partial sums.
 *
 * Adds to row_per_block: shared memory and its two barriers, one after a piece is loaded, one
 * before it is overwritten.
 *
 * What limits it: only A is reused; each element of B is still loaded for a single multiply-add, 2
 * operations for 4 bytes in f32. */
#include "kernels/gemm.h"

namespace {

constexpr int THREADS = 256;
constexpr int PIECE = 4096; /* elements of A in shared memory */

template <class T> __global__ void row_shared(Product<T> p) {
  __shared__ T piece[PIECE];

  for (int64_t row = blockIdx.x; row < p.c.rows; row += gridDim.x) {
    for (int64_t k0 = 0; k0 < p.a.cols; k0 += PIECE) {
      const int length = (int)min((int64_t)PIECE, p.a.cols - k0);
      for (int k = threadIdx.x; k < length; k += THREADS) piece[k] = p.a.at(row, k0 + k);
      __syncthreads();
      for (int64_t col = threadIdx.x; col < p.c.cols; col += THREADS) {
        T sum = k0 > 0 ? p.c.at(row, col) : p.old(row, col);
        for (int k = 0; k < length; k++) sum = mad(piece[k], p.b.at(k0 + k, col), sum);
        p.c.at(row, col) = sum;
      }
      __syncthreads();
    }
  }
}

} // namespace

extern "C" cudaError_t dm_kernels_row_shared(const dm_gemm *product) {
  return with_real(product, [&](auto p) {
    row_shared<<<blocks_for(product->c.rows), THREADS, 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
