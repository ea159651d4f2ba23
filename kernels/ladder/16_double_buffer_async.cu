/* double_buffer_async: C (+)= A B with a ring of four stages, filled by asynchronous copies.
 *
 * The idea: cp.async copies data from global to shared memory without registers, while the thread
 * computes.  Tiles can therefore be loaded three steps ahead: one stage is multiplied while three
 * are being filled.  Each step commits one group of copies and waits until only the two most recent
 * are pending.
 *
 * Adds to double_buffer: more stages, and fewer registers.  Limit: A can only be transposed element
 * by element, with four times the copies of vectors (twice in double).
 *
 * Measured on an H200, N = 8192: f32 0.727, f64 0.337 of cuBLAS' speed. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/product/async_tile.cuh"
#include "kernels/product/fragment.cuh"

namespace {

constexpr int STAGES = 4;

template <class T> using Tiles = Stage<T, Square::BM, Square::BN, Square::BK>;

template <class T>
__global__ void __launch_bounds__(Square::THREADS, SQUARE_BLOCKS<T>)
    double_buffer_async(Product<T> p, Wide wide) {
  extern __shared__ char memory[];
  Tiles<T> *stages = reinterpret_cast<Tiles<T> *>(memory);

  const SquarePlace<T> at(p);
  const auto row = [=](int i) { return at.row(i); };
  const auto col = [=](int j) { return at.col(j); };

  Copier<T, Square::BM, Square::BN, Square::BK, Square::THREADS> copier(p, at.corner, wide.b);
  for (int s = 0; s < STAGES - 1; s++) {
    copier.template copy<1, false>(stages[s], 0);
    copier.advance();
    commit_copies();
  }
  T sums[Square::TM][Square::TN];
  begin_vectors(sums, p, wide.c, row, col);

  int now = 0, free_stage = STAGES - 1;
  for (int64_t k = 0; k < p.a.cols; k += Square::BK) {
    wait_for_copies<STAGES - 2>();
    __syncthreads(); /* the copies of all threads are complete, and all have read the free stage */
    copier.template copy<1, false>(stages[free_stage], 0);
    copier.advance();
    commit_copies();
    multiply_square(sums, stages[now].a, stages[now].b, at.x, at.y);
    now = (now + 1) % STAGES;
    free_stage = (free_stage + 1) % STAGES;
  }
  wait_for_copies<0>(); /* beyond the last k, copies only store zeros */
  store_vectors(sums, p, wide.c, row, col);
}

} // namespace

cudaError_t dm_kernels_double_buffer_async(const dm_product *product) {
  const unsigned blocks = blocks_for_tiles(product->c, Square::BM, Square::BN);
  return with_real(product, [&](auto p) {
    const auto kernel = double_buffer_async<typename decltype(p)::Number>;
    const int bytes = STAGES * (int)sizeof(Tiles<typename decltype(p)::Number>);
    const cudaError_t refused =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (refused != cudaSuccess) return refused;
    kernel<<<blocks, Square::THREADS, bytes, product->stream>>>(p, wide_of(p));
    return cudaGetLastError();
  });
}
