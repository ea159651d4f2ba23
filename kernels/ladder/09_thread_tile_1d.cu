/* thread_tile_1d: C (+)= A B with a column of 8 elements of C for each thread.
 *
 * The idea: registers are faster than shared memory.  A thread that computes TM elements of the
 * same column loads an element of B once and uses it TM times from a register.
 *
 * Adds to the tiled kernels: registers as a third level of memory, with (TM + 1) / TM loads from
 * shared memory per multiply-add instead of two.  Limit: A is not reused in registers, so the
 * number stays above one.
 *
 * Measured on an H200, N = 8192: f32 0.273, f64 0.150 of cuBLAS' speed. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/product/thread_tile.cuh"

namespace {

constexpr int BM = 64, BN = 64, BK = 8, TM = 8;
constexpr int THREADS = BM * BN / TM;
static_assert(THREADS == BM * BK && THREADS == BK * BN, "a thread loads one element of each tile");

template <class T> __global__ void __launch_bounds__(THREADS) thread_tile_1d(Product<T> p) {
  __shared__ T a_tile[BM][BK], b_tile[BK][BN];

  const int t = threadIdx.x, x = t % BN, y = t / BN * TM;
  const Corner corner = block_corner(p.c, BM, BN);
  const auto row = [=](int i) { return corner.row + y + i; };
  const auto col = [=](int) { return corner.col + x; };

  T sums[TM][1];
  begin_sums(sums, p, row, col);
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    a_tile[t / BK][t % BK] = load<T>(p.a, corner.row + t / BK, k + t % BK);
    b_tile[t / BN][t % BN] = load<T>(p.b, k + t / BN, corner.col + t % BN);
    __syncthreads();
    multiply_tiles(sums, a_tile, b_tile, y, x);
    __syncthreads();
  }
  store_sums(sums, p, row, col);
}

} // namespace

cudaError_t dm_kernels_thread_tile_1d(const dm_product *product) {
  return with_real(product, [&](auto p) {
    thread_tile_1d<<<blocks_for_tiles(product->c, BM, BN), THREADS, 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
