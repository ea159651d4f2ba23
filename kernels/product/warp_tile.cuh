/* warp_tile: the kernel of 17_warp_tile.cu for any tiling.  Contains only device code, because
 * NVRTC also compiles it on the user's machine (src/backend/cuda_jit.c). */
#ifndef DM_KERNELS_WARP_TILE_CUH
#define DM_KERNELS_WARP_TILE_CUH

#include "kernels/product/async_tile.cuh"
#include "kernels/product/fragment.cuh"
#include "kernels/product/grouped.cuh"

/* The block's tile, the depth and the number of stages, the warp's tile, the rows of threads in a
 * warp, the resident blocks per multiprocessor, the height of a group (grouped.cuh), the number of
 * parts of a stage's copies, and the order of the outer products.  src/backend/tiling.c checks
 * which values fit together.
 *
 * The copies of a later stage are spread over the steps of the current one.  Fewer parts cost less:
 * between loads from shared memory and copies, ptxas inserts three idle loads.  But parts and order
 * also affect register allocation, and so how often the three registers of an instruction are in
 * the same bank: the best values are found by measuring. */
template <int BM_, int BN_, int BK_, int STAGES_, int WM, int WN, int DOWN_, int BLOCKS_,
          int GROUP_, int PARTS_, int BY_ROWS_>
struct Tiling {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_;
  static constexpr int BLOCKS = BLOCKS_, GROUP = GROUP_, PARTS = PARTS_;
  static constexpr bool BY_ROWS = BY_ROWS_;
  static constexpr int DOWN = DOWN_, ACROSS = 32 / DOWN; /* threads of a warp, down and across */
  static constexpr int TM = WM / DOWN, TN = WN / ACROSS; /* a thread's tile */
  static constexpr int WARPS_ACROSS = BN / WN;
  static constexpr int THREADS = BM / WM * WARPS_ACROSS * 32;
  static constexpr int WARP_ROWS = WM, WARP_COLS = WN;
  static_assert(BK % 2 == 0, "two fragments take turns, and the first is the first of every tile");
};

/* The body of a kernel with __launch_bounds__(Shape::THREADS, Shape::BLOCKS). */
template <class Shape, class T>
static __device__ __forceinline__ void multiply_warp_tiles(const Product<T> &p, const Wide &wide) {
  constexpr int BK = Shape::BK, STAGES = Shape::STAGES, TM = Shape::TM, TN = Shape::TN;
  constexpr int PARTS = Shape::PARTS;
  typedef Stage<T, Shape::BM, Shape::BN, BK> Tiles;
  constexpr unsigned SIZE = sizeof(Tiles);
  extern __shared__ char memory[];
  /* Stages have 32-bit offsets: NVRTC would keep 64-bit pointers in scarce registers. */
  const auto stage = [&](unsigned at) -> Tiles & {
    return *reinterpret_cast<Tiles *>(memory + at);
  };

  const Corner corner = grouped_corner<Shape::GROUP>(p.c, Shape::BM, Shape::BN);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned warp_row = warp / Shape::WARPS_ACROSS * Shape::WARP_ROWS;
  const unsigned warp_col = warp % Shape::WARPS_ACROSS * Shape::WARP_COLS;
  const int y = lane / Shape::ACROSS, x = lane % Shape::ACROSS;
  const auto row = [=](int i) {
    return corner.row + warp_row + fragment_index<T, Shape::DOWN>(y, i);
  };
  const auto col = [=](int j) {
    return corner.col + warp_col + fragment_index<T, Shape::ACROSS>(x, j);
  };

  Copier<T, Shape::BM, Shape::BN, BK, Shape::THREADS> copier(p, corner, wide.b);
  for (int s = 0; s < STAGES - 1; s++) {
    copier.template copy<1, false>(stage(s * SIZE), 0);
    copier.advance();
    commit_copies();
  }
  T sums[TM][TN];
  begin_vectors(sums, p, wide.c, row, col);

  T a[2][TM], b[2][TN]; /* fragments of k and k + 1 */
  /* Addresses of this thread's first vectors for k = 0 in the first stage. */
  const unsigned base = (unsigned)__cvta_generic_to_shared(memory);
  const unsigned a_at = base + (warp_row + y * Vector<T>::LENGTH) * sizeof(T);
  const unsigned b_at = base + sizeof(Tiles::a) + (warp_col + x * Vector<T>::LENGTH) * sizeof(T);
  const auto load_fragments = [&](int which, unsigned stage_at, int k) {
    load_shared_fragment<Shape::DOWN>(a[which], a_at + stage_at + k * sizeof(Tiles::a[0]));
    load_shared_fragment<Shape::ACROSS>(b[which], b_at + stage_at + k * sizeof(Tiles::b[0]));
  };
  wait_for_copies<STAGES - 2>();
  __syncthreads();
  load_fragments(0, 0, 0);

  unsigned now = 0, free_stage = (STAGES - 1) * SIZE;
  const auto multiply_stage =
      [&](bool fast) { /* and copies a tile to the free stage */
#pragma unroll
                       for (int i = 0; i < BK; i++) {
                         if (i % (BK / PARTS) == 0) {
                           const int part = i / (BK / PARTS);
                           if (fast)
                             copier.template copy<PARTS, true>(stage(free_stage), part);
                           else
                             copier.template copy<PARTS, false>(stage(free_stage), part);
                         }
                         if (i == BK - 1) { /* on to the next stage: it has arrived, and this one is
                                               read out */
                           copier.advance();
                           commit_copies();
                           wait_for_copies<STAGES - 2>();
                           __syncthreads();
                           free_stage = now;
                           now = now + SIZE == STAGES * SIZE ? 0 : now + SIZE;
                         }
                         load_fragments((i + 1) % 2, now, (i + 1) % BK);
                         add_outer_product<Shape::BY_ROWS>(sums, a[i % 2], b[i % 2]);
                       }
      };
  int64_t k = 0;
  const int64_t fast_end = wide.b ? p.a.cols - STAGES * BK : -1; /* beyond: partial tiles */
  for (; k <= fast_end; k += BK) multiply_stage(true);
  for (; k < p.a.cols; k += BK) multiply_stage(false);
  wait_for_copies<0>(); /* beyond the last k, copies only store zeros */
  store_vectors(sums, p, wide.c, row, col);
}

#endif
