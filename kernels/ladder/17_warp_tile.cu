/* warp_tile: C (+)= A B with a tile of C for each warp: the last rung on CUDA cores.
 *
 * The idea: a level of tiling between block and thread.  The 32 threads of a warp form a small grid
 * over a compact tile of C (64 x 64 in float): a warp reads so few different addresses at once that
 * its loads from shared memory have no bank conflicts, and a thread computes 8 x 16 elements, for
 * which it loads 6 vectors per 128 multiply-adds.  Fragments are double-buffered too: those of k +
 * 1 are loaded while those of k are multiplied.  The copies of later tiles are spread over the
 * steps of the current one.
 *
 * Adds to double_buffer_async: the warp's tile, the larger thread tile (128 sums, 48 elements of
 * fragments), and an order of blocks that keeps the operands of concurrent blocks in the L2 cache.
 * Limits: one block fills a multiprocessor, so C must be large (else smaller tiles are used), and
 * CUDA cores have half the f64 rate of tensor cores.
 *
 * Measured on an H200, N = 8192: f32 1.000, f64 0.393 of cuBLAS' speed. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/product/warp_tile.cuh"

namespace {

template <class T> struct Large;
template <> struct Large<float> : Tiling<128, 256, 8, 4, 64, 64, 8, 1, 8, 2, 1> {};
template <> struct Large<double> : Tiling<128, 128, 8, 4, 32, 64, 4, 1, 8, 2, 0> {};
template <class T> struct Small;
template <> struct Small<float> : Tiling<64, 64, 8, 4, 32, 32, 8, 4, 8, 2, 0> {};
template <> struct Small<double> : Tiling<64, 64, 8, 4, 32, 32, 8, 3, 8, 2, 0> {};

template <class T, class Shape>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS)
    warp_tile(Product<T> p, Wide wide) {
  multiply_warp_tiles<Shape>(p, wide);
}

template <class Shape, class T> cudaError_t launch(const Product<T> &p, const dm_product *product) {
  const auto kernel = warp_tile<T, Shape>;
  const int bytes = Shape::STAGES * (int)sizeof(Stage<T, Shape::BM, Shape::BN, Shape::BK>);
  const cudaError_t refused =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (refused != cudaSuccess) return refused;
  const unsigned blocks = blocks_for_tiles(product->c, Shape::BM, Shape::BN);
  kernel<<<blocks, Shape::THREADS, bytes, product->stream>>>(p, wide_of(p));
  return cudaGetLastError();
}

/* Large tiles if they keep two thirds of the multiprocessors busy. */
template <class T> cudaError_t launch_fitting(const Product<T> &p, const dm_product *product) {
  int device = 0, processors = 1;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return error;
  const int64_t tiles = divide_up(p.c.rows, Large<T>::BM) * divide_up(p.c.cols, Large<T>::BN);
  return 3 * tiles >= 2 * processors ? launch<Large<T>>(p, product) : launch<Small<T>>(p, product);
}

} // namespace

cudaError_t dm_kernels_warp_tile(const dm_product *product) {
  return with_real(product, [&](auto p) { return launch_fitting(p, product); });
}
