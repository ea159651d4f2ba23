/* vectorized: C (+)= A B with loads and stores of 16 bytes.
 *
 * The idea: issuing an instruction that moves 16 bytes costs as much as one that moves 4.  Rows of
 * A, B and C are moved in vectors of 4 f32 or 2 f64, between global memory and registers and
 * between registers and shared memory.  (vectors.cuh)
 *
 * Adds to remapped_load: vectors, with a quarter of the instructions that move tiles (half in f64).
 *
 * What limits it: bank conflicts.  The threads of a warp read b_tile 8 elements apart, so several
 * of them want different words of the same bank of shared memory, one after the other.  Rows that
 * do not begin at multiples of 16 bytes are moved element by element. */
#include "kernels/ladder/vectors.cuh"

namespace {

constexpr int BM = 128, BN = 128, BK = 8; /* the block's tiles */
constexpr int TM = 8, TN = 8;             /* the thread's tile of C */
constexpr int ACROSS = BN / TN, THREADS = BM / TM * ACROSS;

/* Two blocks for each multiprocessor hide each other's barriers; with 64 sums of f64 a thread has
 * registers for only one. */
template <class T> constexpr int BLOCKS = sizeof(T) == 4 ? 2 : 1;

template <class T>
__global__ void __launch_bounds__(THREADS, BLOCKS<T>) vectorized(Product<T> p, Wide wide) {
  alignas(16) __shared__ T a_tile[BM][BK], b_tile[BK][BN];

  const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS;
  const Corner corner = block_corner(p.c, BM, BN);
  const auto row = [=](int i) { return corner.row + y * TM + i; };
  const auto col = [=](int j) { return corner.col + x * TN + j; };

  T sums[TM][TN];
  begin_vectors(sums, p, wide.c, row, col);
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    TilePart<T, BM, BK, THREADS> a_part;
    TilePart<T, BK, BN, THREADS> b_part;
    a_part.load(p.a, corner.row, k, wide.a);
    b_part.load(p.b, k, corner.col, wide.b);
    a_part.store(a_tile);
    b_part.store(b_tile);
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
  store_vectors(sums, p, wide.c, row, col);
}

} // namespace

extern "C" cudaError_t dm_kernels_vectorized(const dm_gemm *product) {
  const unsigned blocks = blocks_for_tiles(product->c, BM, BN);
  return with_real(product, [&](auto p) {
    vectorized<<<blocks, THREADS, 0, product->stream>>>(p, wide_of(p));
    return cudaGetLastError();
  });
}
