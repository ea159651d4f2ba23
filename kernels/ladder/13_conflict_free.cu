/* conflict_free: C (+)= A B without bank conflicts in shared memory.
 *
 * The idea: shared memory has 32 banks of 4 bytes; a load by a warp takes one pass if its threads
 * read different banks or the same word.  So a thread computes every 16th column of C instead of 8
 * adjacent ones: for each of them the warp reads 16 adjacent words of B.  The tile of A is stored
 * transposed, so that the elements of one k are adjacent, as in B; padding of 16 bytes for each row
 * spreads the transposing stores over the banks.
 *
 * Adds to vectorized: only the layout.
 *
 * What limits it: the 8 columns of a thread are read one by one, and C is stored element by
 * element, since the columns of a thread are not adjacent. */
#include "kernels/ladder/vectors.cuh"

namespace {

constexpr int BM = 128, BN = 128, BK = 8; /* the block's tiles */
constexpr int TM = 8, TN = 8;             /* the thread's tile of C */
constexpr int ACROSS = BN / TN, THREADS = BM / TM * ACROSS;

/* Two blocks for each multiprocessor hide each other's barriers; with 64 sums of f64 a thread has
 * registers for only one. */
template <class T> constexpr int BLOCKS = sizeof(T) == 4 ? 2 : 1;

template <class T>
__global__ void __launch_bounds__(THREADS, BLOCKS<T>) conflict_free(Product<T> p, Wide wide) {
  alignas(16) __shared__ T a_tile[BK][BM + Vector<T>::LENGTH], b_tile[BK][BN];

  const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS;
  const Corner corner = block_corner(p.c, BM, BN);
  const auto row = [=](int i) { return corner.row + y * TM + i; };
  const auto col = [=](int j) { return corner.col + x + j * ACROSS; };

  T sums[TM][TN];
#pragma unroll
  for (int r = 0; r < TM; r++)
#pragma unroll
    for (int c = 0; c < TN; c++) sums[r][c] = p.old(row(r), col(c));
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    TilePart<T, BM, BK, THREADS> a_part;
    TilePart<T, BK, BN, THREADS> b_part;
    a_part.load(p.a, corner.row, k, wide.a);
    b_part.load(p.b, k, corner.col, wide.b);
    a_part.store_transposed(a_tile);
    b_part.store(b_tile);
    __syncthreads();
#pragma unroll 2 /* more would move loads so far ahead that registers run out */
    for (int i = 0; i < BK; i++)
#pragma unroll
      for (int r = 0; r < TM; r++)
#pragma unroll
        for (int c = 0; c < TN; c++)
          sums[r][c] = mad(a_tile[i][y * TM + r], b_tile[i][x + c * ACROSS], sums[r][c]);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < TM; r++)
#pragma unroll
    for (int c = 0; c < TN; c++)
      if (row(r) < p.c.rows && col(c) < p.c.cols) p.c.at(row(r), col(c)) = sums[r][c];
}

} // namespace

extern "C" cudaError_t dm_kernels_conflict_free(const dm_gemm *product) {
  const unsigned blocks = blocks_for_tiles(product->c, BM, BN);
  return with_real(product, [&](auto p) {
    conflict_free<<<blocks, THREADS, 0, product->stream>>>(p, wide_of(p));
    return cudaGetLastError();
  });
}
