/* vectorized: C (+)= A B with loads and stores of 16 bytes.
 *
 * The idea: issuing an instruction that moves 16 bytes costs as much as one that moves 4.  Rows of
 * A, B and C are moved in vectors of 4 floats or 2 doubles, between global memory and registers and
 * between registers and shared memory.
 *
 * Adds to remapped_load: vectors, with a quarter of the instructions that move tiles (half in
 * double).  Limits: rows that do not begin at multiples of 16 bytes are moved element by element;
 * and the threads of a warp read b_tile 8 elements apart, which causes bank conflicts in shared
 * memory.
 *
 * Measured on an H200, N = 8192: f32 0.554, f64 0.173 of cuBLAS' speed. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/product/vector.cuh"

namespace {

template <class T>
__global__ void __launch_bounds__(Square::THREADS, SQUARE_BLOCKS<T>)
    vectorized(Product<T> p, Wide wide) {
  constexpr int BM = Square::BM, BN = Square::BN, BK = Square::BK, TM = Square::TM, TN = Square::TN;
  alignas(16) __shared__ T a_tile[BM][BK], b_tile[BK][BN];

  const int x = threadIdx.x % Square::ACROSS, y = threadIdx.x / Square::ACROSS;
  const Corner corner = block_corner(p.c, BM, BN);
  const auto row = [=](int i) { return corner.row + y * TM + i; };
  const auto col = [=](int j) { return corner.col + x * TN + j; };

  T sums[TM][TN];
  begin_vectors(sums, p, wide.c, row, col);
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    SquareA<T> a_part;
    SquareB<T> b_part;
    a_part.load(p.a, corner.row, k, wide.a);
    b_part.load(p.b, k, corner.col, wide.b);
    a_part.store(a_tile);
    b_part.store(b_tile);
    __syncthreads();
    multiply_tiles(sums, a_tile, b_tile, y * TM, x * TN);
    __syncthreads();
  }
  store_vectors(sums, p, wide.c, row, col);
}

} // namespace

cudaError_t dm_kernels_vectorized(const dm_product *product) {
  const unsigned blocks = blocks_for_tiles(product->c, Square::BM, Square::BN);
  return with_real(product, [&](auto p) {
    vectorized<<<blocks, Square::THREADS, 0, product->stream>>>(p, wide_of(p));
    return cudaGetLastError();
  });
}
