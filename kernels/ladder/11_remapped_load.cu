/* remapped_load: C (+)= A B; threads load other elements than they multiply.
 *
 * The idea: tiles are shared, so any thread can load any element.  Threads are numbered linearly
 * and mapped to the tiles row by row: neighbouring threads access neighbouring addresses, and all
 * load the same number of elements.
 *
 * Adds to thread_tile_2d: coalesced loads by all threads.  Limit: each instruction moves a single
 * element, and the number of instructions now matters: 8 loads and 8 stores per thread for 512
 * multiply-adds.
 *
 * Measured on an H200, N = 8192: f32 0.512, f64 0.146 of cuBLAS' speed. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/product/thread_tile.cuh"

namespace {

/* Loads TILE from M at (row, col). */
template <class T, int ROWS, int COLS>
__device__ __forceinline__ void load_tile(T (&tile)[ROWS][COLS], const Matrix<const T> &m,
                                          int64_t row, int64_t col) {
#pragma unroll
  for (int first = 0; first < ROWS * COLS; first += Square::THREADS) {
    const int i = (first + threadIdx.x) / COLS, j = (first + threadIdx.x) % COLS;
    tile[i][j] = load<T>(m, row + i, col + j);
  }
}

template <class T>
__global__ void __launch_bounds__(Square::THREADS, SQUARE_BLOCKS<T>) remapped_load(Product<T> p) {
  constexpr int BM = Square::BM, BN = Square::BN, BK = Square::BK, TM = Square::TM, TN = Square::TN;
  __shared__ T a_tile[BM][BK], b_tile[BK][BN];

  const int x = threadIdx.x % Square::ACROSS, y = threadIdx.x / Square::ACROSS;
  const Corner corner = block_corner(p.c, BM, BN);
  const auto row = [=](int i) { return corner.row + y * TM + i; };
  const auto col = [=](int j) { return corner.col + x * TN + j; };

  T sums[TM][TN];
  begin_sums(sums, p, row, col);
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    load_tile(a_tile, p.a, corner.row, k);
    load_tile(b_tile, p.b, k, corner.col);
    __syncthreads();
    multiply_tiles(sums, a_tile, b_tile, y * TM, x * TN);
    __syncthreads();
  }
  store_sums(sums, p, row, col);
}

} // namespace

cudaError_t dm_kernels_remapped_load(const dm_product *product) {
  const unsigned blocks = blocks_for_tiles(product->c, Square::BM, Square::BN);
  return with_real(product, [&](auto p) {
    remapped_load<<<blocks, Square::THREADS, 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
