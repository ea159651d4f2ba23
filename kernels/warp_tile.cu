/* warp_tile: C (+)= A B with a tile of C for each warp: the last rung on CUDA cores.
 *
 * The idea: between the block's tile and the thread's comes the warp's.  Its 32 threads form a
 * small grid over a compact piece of C (64 x 64 in float): a warp reads so few different addresses
 * at a time that shared memory serves each load at once, and a thread computes 8 x 16 elements, for
 * which it loads 6 vectors in 128 multiply-adds.  Fragments too are double-buffered: those of k + 1
 * are read while those of k are multiplied.  The copies of the coming tiles are spread over the
 * steps of the present one.
 *
 * It adds to double_buffer_async the warp's tile, the larger thread tile (128 sums, 48 elements of
 * fragments), and an order of blocks that keeps the operands of those that run together in the L2
 * cache.  Its limits: one block fills a multiprocessor, so that C must be large (smaller tiles
 * serve where it is not), and f64 has half the arithmetic of the tensor cores here. */
#include <type_traits>

#include "kernels/async_tile.cuh"
#include "kernels/fragment.cuh"
#include "kernels/grouped.cuh"

namespace {

/* The block's tile, the warp's, the rows of threads in a warp, and the blocks that shall fit on a
 * multiprocessor. */
template <int BM_, int BN_, int WM, int WN, int DOWN_, int BLOCKS_> struct Tiling {
  static constexpr int BM = BM_, BN = BN_, BK = 8, STAGES = 4, BLOCKS = BLOCKS_;
  static constexpr int DOWN = DOWN_, ACROSS = 32 / DOWN; /* threads of a warp */
  static constexpr int TM = WM / DOWN, TN = WN / ACROSS; /* a thread's tile */
  static constexpr int WARPS_ACROSS = BN / WN;
  static constexpr int THREADS = BM / WM * WARPS_ACROSS * 32;
  static constexpr int WARP_ROWS = WM, WARP_COLS = WN;
  static_assert(BK % 2 == 0, "two fragments take turns, and the first is the first of every tile");
};

template <class T> struct Large;
template <> struct Large<float> : Tiling<256, 128, 64, 64, 8, 1> {};
template <> struct Large<double> : Tiling<128, 128, 32, 64, 4, 1> {};
template <class T> struct Small : Tiling<64, 64, 32, 32, 8, sizeof(T) == 4 ? 4 : 3> {};

constexpr int GROUP = 8; /* rows of tiles that run together */

/* The copies of a tile are made in so many parts, spread over the steps of the present one.  Fewer
 * parts cost less: where copies follow loads from shared memory, ptxas puts three idle loads
 * between. */
constexpr int PARTS = 2;

template <class T, class Shape>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS)
    warp_tile(Product<T> p, Wide wide) {
  constexpr int BK = Shape::BK, STAGES = Shape::STAGES, TM = Shape::TM, TN = Shape::TN;
  typedef Stage<T, Shape::BM, Shape::BN, BK> Tiles;
  extern __shared__ char memory[];
  Tiles *stages = reinterpret_cast<Tiles *>(memory);

  const Corner corner = grouped_corner<GROUP>(p.c, Shape::BM, Shape::BN);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / Shape::WARPS_ACROSS * Shape::WARP_ROWS;
  const int warp_col = warp % Shape::WARPS_ACROSS * Shape::WARP_COLS;
  const int y = lane / Shape::ACROSS, x = lane % Shape::ACROSS;
  const auto row = [=](int i) {
    return corner.row + warp_row + fragment_index<T, Shape::DOWN>(y, i);
  };
  const auto col = [=](int j) {
    return corner.col + warp_col + fragment_index<T, Shape::ACROSS>(x, j);
  };

  Copier<T, Shape::BM, Shape::BN, BK, Shape::THREADS> copier(p, corner, wide.b);
  for (int s = 0; s < STAGES - 1; s++) {
    copier.template copy<1, false>(stages[s], 0);
    copier.advance();
    commit_copies();
  }
  T sums[TM][TN];
  begin_vectors(sums, p, wide.c, row, col);

  T a[2][TM], b[2][TN]; /* fragments of k and k + 1 */
  const auto load_fragments = [&](int which, const Tiles &tiles, int k) {
    load_fragment<Shape::DOWN>(a[which], &tiles.a[k][warp_row], y);
    load_fragment<Shape::ACROSS>(b[which], &tiles.b[k][warp_col], x);
  };
  wait_for_copies<STAGES - 2>();
  __syncthreads();
  load_fragments(0, stages[0], 0);

  int now = 0, free_stage = STAGES - 1;
  const auto multiply_stage =
      [&](auto fast) { /* and copy a tile into the free stage */
#pragma unroll
                       for (int i = 0; i < BK; i++) {
                         if (i % (BK / PARTS) == 0)
                           copier.template copy<PARTS, decltype(fast)::value>(stages[free_stage],
                                                                              i / (BK / PARTS));
                         if (i == BK - 1) { /* on to the next stage: it has arrived, and the
                                               present one is read out */
                           copier.advance();
                           commit_copies();
                           wait_for_copies<STAGES - 2>();
                           __syncthreads();
                           free_stage = now;
                           now = now + 1 == STAGES ? 0 : now + 1;
                         }
                         load_fragments((i + 1) % 2, stages[now], (i + 1) % BK);
                         add_outer_product(sums, a[i % 2], b[i % 2]);
                       }
      };
  int64_t k = 0;
  const int64_t fast_end = wide.b ? p.a.cols - STAGES * BK : -1; /* then the last tile is copied */
  for (; k <= fast_end; k += BK) multiply_stage(std::true_type());
  for (; k < p.a.cols; k += BK) multiply_stage(std::false_type());
  wait_for_copies<0>(); /* beyond the last k nothing was read, but zeros are stored */
  store_vectors(sums, p, wide.c, row, col);
}

template <class Shape, class T> cudaError_t launch(const Product<T> &p, const dm_product *product) {
  const auto kernel = warp_tile<T, Shape>;
  const int bytes = Shape::STAGES * (int)sizeof(Stage<T, Shape::BM, Shape::BN, Shape::BK>);
  const cudaError_t refused =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (refused != cudaSuccess) return refused;
  const unsigned blocks = blocks_for_tiles(product->c, Shape::BM, Shape::BN);
  kernel<<<blocks, Shape::THREADS, bytes, product->stream>>>(p, Wide(p));
  return cudaGetLastError();
}

/* Large tiles where they keep two thirds of the multiprocessors busy. */
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
