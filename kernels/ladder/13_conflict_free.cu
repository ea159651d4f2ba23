/* conflict_free: C (+)= A B without bank conflicts in shared memory.
 *
 * The idea: shared memory has 32 banks of 4 bytes; a load by a warp takes one pass if its threads
 * read different banks or the same word.  So a thread computes every 16th column of C instead of 8
 * adjacent ones: for each of them the warp reads 16 adjacent words of B.  The tile of A is stored
 * transposed, so that the elements of one k are adjacent, as in B; padding of 16 bytes per row
 * spreads the transposing stores over the banks.
 *
 * Adds to vectorized: only the layout.  Limits: the 8 columns of a thread are read one by one, and
 * C is stored element by element, since the columns of a thread are not adjacent.
 *
 * Measured on an H200, N = 8192: f32 0.686, f64 0.244 of cuBLAS' speed. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/product/vector.cuh"

namespace {

template <class T>
__global__ void __launch_bounds__(Square::THREADS, SQUARE_BLOCKS<T>)
    conflict_free(Product<T> p, Wide wide) {
  constexpr int BM = Square::BM, BN = Square::BN, BK = Square::BK, TM = Square::TM, TN = Square::TN;
  alignas(16) __shared__ T a_tile[BK][BM + Vector<T>::LENGTH], b_tile[BK][BN];

  const int x = threadIdx.x % Square::ACROSS, y = threadIdx.x / Square::ACROSS;
  const Corner corner = block_corner(p.c, BM, BN);
  const auto row = [=](int i) { return corner.row + y * TM + i; };
  const auto col = [=](int j) { return corner.col + x + j * Square::ACROSS; };

  T sums[TM][TN];
  begin_sums(sums, p, row, col);
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    SquareA<T> a_part;
    SquareB<T> b_part;
    a_part.load(p.a, corner.row, k, wide.a);
    b_part.load(p.b, k, corner.col, wide.b);
    a_part.store_transposed(a_tile);
    b_part.store(b_tile);
    __syncthreads();
#pragma unroll 2
    for (int i = 0; i < BK; i++)
#pragma unroll
      for (int r = 0; r < TM; r++)
#pragma unroll
        for (int c = 0; c < TN; c++)
          sums[r][c] = mad(a_tile[i][y * TM + r], b_tile[i][x + c * Square::ACROSS], sums[r][c]);
    __syncthreads();
  }
  store_sums(sums, p, row, col);
}

} // namespace

cudaError_t dm_kernels_conflict_free(const dm_product *product) {
  const unsigned blocks = blocks_for_tiles(product->c, Square::BM, Square::BN);
  return with_real(product, [&](auto p) {
    conflict_free<<<blocks, Square::THREADS, 0, product->stream>>>(p, wide_of(p));
    return cudaGetLastError();
  });
}
