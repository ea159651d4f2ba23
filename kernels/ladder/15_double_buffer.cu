/* double_buffer: C (+)= A B with two alternating pairs of tiles.
 *
 * The idea: the next pair of tiles is loaded from global memory while the current one is
 * multiplied.  The loads into registers are issued before the multiplication, and their data is
 * stored to the other pair of tiles after it.
 *
 * Adds to outer_product: the second pair.  512 multiply-adds per thread hide the latency of global
 * memory, several hundred cycles, and one barrier suffices instead of two, because no thread writes
 * the tiles that others read.  Limits: the loads in flight occupy registers, and one step ahead is
 * not always enough.
 *
 * Measured on an H200, N = 8192: f32 0.721, f64 0.319 of cuBLAS' speed. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/product/fragment.cuh"

namespace {

template <class T>
__global__ void __launch_bounds__(Square::THREADS, SQUARE_BLOCKS<T>)
    double_buffer(Product<T> p, Wide wide) {
  alignas(16) __shared__ T a_tile[2][Square::BK][Square::BM + Vector<T>::LENGTH];
  alignas(16) __shared__ T b_tile[2][Square::BK][Square::BN];

  const SquarePlace<T> at(p);
  const auto row = [=](int i) { return at.row(i); };
  const auto col = [=](int j) { return at.col(j); };

  SquareA<T> a_part;
  SquareB<T> b_part;
  a_part.load(p.a, at.corner.row, 0, wide.a);
  b_part.load(p.b, 0, at.corner.col, wide.b);
  T sums[Square::TM][Square::TN];
  begin_vectors(sums, p, wide.c, row, col);
  a_part.store_transposed(a_tile[0]);
  b_part.store(b_tile[0]);
  __syncthreads();

  int now = 0;
  for (int64_t k = Square::BK; k < p.a.cols; k += Square::BK) {
    a_part.load(p.a, at.corner.row, k, wide.a);
    b_part.load(p.b, k, at.corner.col, wide.b);
    multiply_square(sums, a_tile[now], b_tile[now], at.x, at.y);
    now = 1 - now;
    a_part.store_transposed(a_tile[now]);
    b_part.store(b_tile[now]);
    __syncthreads();
  }
  multiply_square(sums, a_tile[now], b_tile[now], at.x, at.y);
  store_vectors(sums, p, wide.c, row, col);
}

} // namespace

cudaError_t dm_kernels_double_buffer(const dm_product *product) {
  const unsigned blocks = blocks_for_tiles(product->c, Square::BM, Square::BN);
  return with_real(product, [&](auto p) {
    double_buffer<<<blocks, Square::THREADS, 0, product->stream>>>(p, wide_of(p));
    return cudaGetLastError();
  });
}
