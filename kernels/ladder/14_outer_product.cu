/* outer_product: C (+)= A B as a sum of outer products of fragments in registers.
 *
 * The idea: for one k, the 8 x 8 sums of a thread grow by the outer product of 8 elements of A and
 * 8 of B.  These fragments are read into registers first, in vectors of 16 bytes, then multiplied.
 * The 8 columns of a thread form vectors, with those of 15 other threads in between: the warp reads
 * without bank conflicts, as in conflict_free, and C is stored in vectors, as in vectorized.
 * (fragment.cuh)
 *
 * Adds: vectors from shared memory to registers, with 4 loads for 64 multiply-adds (8 in double).
 * Limit: loading and multiplying alternate, and the block multiplies nothing while it waits for
 * its tiles.
 *
 * Measured on an H200, N = 8192: f32 0.627, f64 0.260 of cuBLAS' speed. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/product/fragment.cuh"

namespace {

template <class T>
__global__ void __launch_bounds__(Square::THREADS, SQUARE_BLOCKS<T>)
    outer_product(Product<T> p, Wide wide) {
  alignas(16) __shared__ T a_tile[Square::BK][Square::BM + Vector<T>::LENGTH];
  alignas(16) __shared__ T b_tile[Square::BK][Square::BN];

  const SquarePlace<T> at(p);
  const auto row = [=](int i) { return at.row(i); };
  const auto col = [=](int j) { return at.col(j); };

  T sums[Square::TM][Square::TN];
  begin_vectors(sums, p, wide.c, row, col);
  for (int64_t k = 0; k < p.a.cols; k += Square::BK) {
    SquareA<T> a_part;
    SquareB<T> b_part;
    a_part.load(p.a, at.corner.row, k, wide.a);
    b_part.load(p.b, k, at.corner.col, wide.b);
    a_part.store_transposed(a_tile);
    b_part.store(b_tile);
    __syncthreads();
    multiply_square(sums, a_tile, b_tile, at.x, at.y);
    __syncthreads();
  }
  store_vectors(sums, p, wide.c, row, col);
}

} // namespace

cudaError_t dm_kernels_outer_product(const dm_product *product) {
  const unsigned blocks = blocks_for_tiles(product->c, Square::BM, Square::BN);
  return with_real(product, [&](auto p) {
    outer_product<<<blocks, Square::THREADS, 0, product->stream>>>(p, wide_of(p));
    return cudaGetLastError();
  });
}
