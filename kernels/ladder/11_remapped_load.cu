/* remapped_load: C (+)= A B; threads load other elements than they multiply.
 *
 * The idea: tiles are shared, so any thread can load any element.  Threads are numbered linearly
 * and mapped to the tiles row by row: neighbouring threads access neighbouring addresses, and all
 * load the same number of elements.
 *
 * Adds to thread_tile_2d: coalesced loads by all threads.
 *
 * What limits it: the number of instructions.  Each moves a single element: 8 loads and 8 stores
 * for each thread and 512 multiply-adds. */
#include "kernels/gemm.h"

namespace {

constexpr int BM = 128, BN = 128, BK = 8; /* the block's tiles */
constexpr int TM = 8, TN = 8;             /* the thread's tile of C */
constexpr int ACROSS = BN / TN, THREADS = BM / TM * ACROSS;

/* Two blocks for each multiprocessor hide each other's barriers; with 64 sums of f64 a thread has
 * registers for only one. */
template <class T> constexpr int BLOCKS = sizeof(T) == 4 ? 2 : 1;

/* Loads TILE from M at (row, col). */
template <class T, int ROWS, int COLS>
__device__ __forceinline__ void load_tile(T (&tile)[ROWS][COLS], const Matrix<const T> &m,
                                          int64_t row, int64_t col) {
#pragma unroll
  for (int first = 0; first < ROWS * COLS; first += THREADS) {
    const int i = (first + threadIdx.x) / COLS, j = (first + threadIdx.x) % COLS;
    tile[i][j] = load<T>(m, row + i, col + j);
  }
}

template <class T>
__global__ void __launch_bounds__(THREADS, BLOCKS<T>) remapped_load(Product<T> p) {
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
    load_tile(a_tile, p.a, corner.row, k);
    load_tile(b_tile, p.b, k, corner.col);
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

extern "C" cudaError_t dm_kernels_remapped_load(const dm_gemm *product) {
  const unsigned blocks = blocks_for_tiles(product->c, BM, BN);
  return with_real(product, [&](auto p) {
    remapped_load<<<blocks, THREADS, 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
