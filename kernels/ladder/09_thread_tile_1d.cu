/* thread_tile_1d: C (+)= A B with a column of 8 elements of C for each thread.
 *
 * The idea: registers are faster than shared memory.  A thread that computes TM elements of the
 * same column loads an element of B once and uses it TM times from a register.
 *
 * Adds to tiled: registers as a third level of memory, with (TM + 1) / TM = 1.1 loads from shared
 * memory for each multiply-add instead of 2, and tiles of 64 x 64, so every number from global
 * memory is used 64 times.  (Volkov, Demmel: Benchmarking GPUs to tune dense linear algebra, SC
 * 2008)
 *
 * What limits it: still shared memory.  A is not reused in registers, so the number of loads stays
 * above one. */
#include "kernels/gemm.h"

namespace {

constexpr int BM = 64, BN = 64, BK = 8, TM = 8; /* the block's tiles, the thread's rows of C */
constexpr int THREADS = BM * BN / TM;
static_assert(THREADS == BM * BK && THREADS == BK * BN, "a thread loads one element of each tile");

template <class T> __global__ void __launch_bounds__(THREADS) thread_tile_1d(Product<T> p) {
  __shared__ T a_tile[BM][BK], b_tile[BK][BN];

  const int t = threadIdx.x, x = t % BN, y = t / BN * TM;
  const Corner corner = block_corner(p.c, BM, BN);
  const auto row = [=](int r) { return corner.row + y + r; };
  const auto col = [=] { return corner.col + x; };

  T sums[TM];
#pragma unroll
  for (int r = 0; r < TM; r++) sums[r] = p.old(row(r), col());
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    a_tile[t / BK][t % BK] = load<T>(p.a, corner.row + t / BK, k + t % BK);
    b_tile[t / BN][t % BN] = load<T>(p.b, k + t / BN, corner.col + t % BN);
    __syncthreads();
#pragma unroll 2 /* more would move loads so far ahead that registers run out */
    for (int i = 0; i < BK; i++)
#pragma unroll
      for (int r = 0; r < TM; r++) sums[r] = mad(a_tile[y + r][i], b_tile[i][x], sums[r]);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < TM; r++)
    if (row(r) < p.c.rows && col() < p.c.cols) p.c.at(row(r), col()) = sums[r];
}

} // namespace

extern "C" cudaError_t dm_kernels_thread_tile_1d(const dm_gemm *product) {
  const unsigned blocks = blocks_for_tiles(product->c, BM, BN);
  return with_real(product, [&](auto p) {
    thread_tile_1d<<<blocks, THREADS, 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
