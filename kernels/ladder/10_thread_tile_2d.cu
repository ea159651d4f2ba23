/* thread_tile_2d: C (+)= A B with 8 x 8 elements of C for each thread.
 *
 * The idea: a thread that computes TM x TN elements loads TM numbers of A and TN of B for TM TN
 * multiply-adds.
 *
 * Adds to thread_tile_1d: the second dimension.  A multiply-add takes (8 + 8) / 64, a quarter of a
 * load from shared memory, and the block's tile of C grows to 128 x 128, so every number from
 * global memory is used 128 times: 32 operations for each byte in f32.  An H100 needs 20 (67
 * TFLOP/s and 3.35 TB/s).
 *
 * What limits it: loading the tiles.  Threads load the rows and columns of their own elements, so
 * half of them idle meanwhile, and neighbours access addresses far apart. */
#include "kernels/gemm.h"

namespace {

constexpr int BM = 128, BN = 128, BK = 8; /* the block's tiles */
constexpr int TM = 8, TN = 8;             /* the thread's tile of C */
constexpr int ACROSS = BN / TN, THREADS = BM / TM * ACROSS;

/* Two blocks for each multiprocessor hide each other's barriers; with 64 sums of f64 a thread has
 * registers for only one. */
template <class T> constexpr int BLOCKS = sizeof(T) == 4 ? 2 : 1;

template <class T>
__global__ void __launch_bounds__(THREADS, BLOCKS<T>) thread_tile_2d(Product<T> p) {
  __shared__ T a_tile[BM][BK], b_tile[BK][BN];

  const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS;
  const Corner corner = block_corner(p.c, BM, BN);
  const auto row = [=](int i) { return corner.row + y * TM + i; };
  const auto col = [=](int j) { return corner.col + x * TN + j; };

  T sums[TM][TN];
#pragma unroll
  for (int r = 0; r < TM; r++)
#pragma unroll
    for (int c = 0; c < TN; c++) sums[r][c] = p.old(row(r), col(c));
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    if (x < BK)
      for (int i = 0; i < TM; i++) a_tile[y * TM + i][x] = load<T>(p.a, row(i), k + x);
    if (y < BK)
      for (int j = 0; j < TN; j++) b_tile[y][x * TN + j] = load<T>(p.b, k + y, col(j));
    __syncthreads();
#pragma unroll 2 /* more would move loads so far ahead that registers run out */
    for (int i = 0; i < BK; i++)
#pragma unroll
      for (int r = 0; r < TM; r++)
#pragma unroll
        for (int c = 0; c < TN; c++)
          sums[r][c] = mad(a_tile[y * TM + r][i], b_tile[i][x * TN + c], sums[r][c]);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < TM; r++)
#pragma unroll
    for (int c = 0; c < TN; c++)
      if (row(r) < p.c.rows && col(c) < p.c.cols) p.c.at(row(r), col(c)) = sums[r][c];
}

} // namespace

extern "C" cudaError_t dm_kernels_thread_tile_2d(const dm_gemm *product) {
  const unsigned blocks = blocks_for_tiles(product->c, BM, BN);
  return with_real(product, [&](auto p) {
    thread_tile_2d<<<blocks, THREADS, 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
