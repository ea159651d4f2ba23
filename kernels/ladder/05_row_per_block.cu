/* row_per_block: C (+)= A B with a block for each row of C.
 *
 * The idea: the threads of a block share a row of A and stride over the columns of C, so any number
 * of threads handles any number of columns; blocks stride over the rows in the same way.
 *
 * Adds to thread_per_element_1d: a whole block reads the same element of A at about the same time.
 * One load from memory serves all threads, if the cache keeps it long enough.
 *
 * What limits it: as before, two loads for each multiply-add; whether data is reused is left to the
 * cache; and a C with few rows leaves most of the GPU idle. */
#include "kernels/gemm.h"

namespace {

constexpr int THREADS = 256;

template <class T> __global__ void row_per_block(Product<T> p) {
  for (int64_t row = blockIdx.x; row < p.c.rows; row += gridDim.x)
    for (int64_t col = threadIdx.x; col < p.c.cols; col += THREADS) {
      T sum = p.old(row, col);
      for (int64_t k = 0; k < p.a.cols; k++) sum = mad(p.a.at(row, k), p.b.at(k, col), sum);
      p.c.at(row, col) = sum;
    }
}

} // namespace

extern "C" cudaError_t dm_kernels_row_per_block(const dm_gemm *product) {
  return with_real(product, [&](auto p) {
    row_per_block<<<blocks_for(product->c.rows), THREADS, 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
