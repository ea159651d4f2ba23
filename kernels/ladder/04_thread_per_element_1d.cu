/* thread_per_element_1d: C (+)= A B with threads counted in one dimension.
 *
 * The idea: a grid of any size strides over the elements of C, numbered row after row (a
 * grid-stride loop).  It fits every shape: no dimension of the grid is limited to 65535, and the
 * last block of a row does not idle.
 *
 * Adds to naive_coalesced: the loop.  A warp still covers 32 adjacent elements of a row, so its
 * loads of B stay contiguous; in f64 the eight warps of a block now share one row of A, which stays
 * in the L1 cache.
 *
 * What limits it: as before, two loads for each multiply-add, and a division to find the row. */
#include "kernels/gemm.h"

namespace {

constexpr int THREADS = 256;

template <class T> __global__ void thread_per_element_1d(Product<T> p) {
  const int64_t count = p.c.rows * p.c.cols, step = (int64_t)gridDim.x * THREADS;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += step) {
    const int64_t row = i / p.c.cols, col = i % p.c.cols;
    T sum = p.old(row, col);
    for (int64_t k = 0; k < p.a.cols; k++) sum = mad(p.a.at(row, k), p.b.at(k, col), sum);
    p.c.at(row, col) = sum;
  }
}

} // namespace

extern "C" cudaError_t dm_kernels_thread_per_element_1d(const dm_gemm *product) {
  const unsigned blocks = blocks_for(divide_up(product->c.rows * product->c.cols, THREADS));
  return with_real(product, [&](auto p) {
    thread_per_element_1d<<<blocks, THREADS, 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
