/* thread_tile_2d: C (+)= A B with 8 x 8 elements of C for each thread.
 *
 * The idea: a thread that computes TM x TN elements loads TM numbers of A and TN of B for TM TN
 * multiply-adds.  The block's tile of C grows to 128 x 128, so each number from global memory is
 * used 128 times.
 *
 * Adds to thread_tile_1d: the second dimension, with a quarter of a load from shared memory per
 * multiply-add.  Limits: threads load the rows and columns of their own elements, so half of them
 * idle, and neighbours access addresses far apart.
 *
 * Measured on an H200, N = 8192: f32 0.422, f64 0.137 of cuBLAS' speed. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/product/thread_tile.cuh"

namespace {

template <class T>
__global__ void __launch_bounds__(Square::THREADS, SQUARE_BLOCKS<T>) thread_tile_2d(Product<T> p) {
  constexpr int BM = Square::BM, BN = Square::BN, BK = Square::BK, TM = Square::TM, TN = Square::TN;
  __shared__ T a_tile[BM][BK], b_tile[BK][BN];

  const int x = threadIdx.x % Square::ACROSS, y = threadIdx.x / Square::ACROSS;
  const Corner corner = block_corner(p.c, BM, BN);
  const auto row = [=](int i) { return corner.row + y * TM + i; };
  const auto col = [=](int j) { return corner.col + x * TN + j; };

  T sums[TM][TN];
  begin_sums(sums, p, row, col);
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    if (x < BK)
      for (int i = 0; i < TM; i++) a_tile[y * TM + i][x] = load<T>(p.a, row(i), k + x);
    if (y < BK)
      for (int j = 0; j < TN; j++) b_tile[y][x * TN + j] = load<T>(p.b, k + y, col(j));
    __syncthreads();
    multiply_tiles(sums, a_tile, b_tile, y * TM, x * TN);
    __syncthreads();
  }
  store_sums(sums, p, row, col);
}

} // namespace

cudaError_t dm_kernels_thread_tile_2d(const dm_product *product) {
  const unsigned blocks = blocks_for_tiles(product->c, Square::BM, Square::BN);
  return with_real(product, [&](auto p) {
    thread_tile_2d<<<blocks, Square::THREADS, 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
