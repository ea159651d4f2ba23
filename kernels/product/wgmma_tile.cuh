/* wgmma_tile: the shapes of tiles, the layout of shared memory, and the order of the tiles. */
#ifndef DM_KERNELS_WGMMA_TILE_CUH
#define DM_KERNELS_WGMMA_TILE_CUH

#include "kernels/product/tensor_map.cuh"

constexpr int C_BOX_ROWS = 64, C_BOX_COLS = BOX_ROW / 4; /* elements of 4 bytes */

/* WARPGROUPS multiply, each a tile of 64 x BN; DOWN x ACROSS blocks form a cluster and share their
 * rows of A and columns of B; the ring has STAGES tiles of A and B.  C is stored in pieces of BATCH
 * boxes, through BUFFERS boxes per warpgroup; OVERLAP: while the next tile is multiplied, in a
 * second set of registers. */
template <int WARPGROUPS_, int BN_, int STAGES_, int DOWN_, int ACROSS_, int BUFFERS_, int BATCH_,
          bool OVERLAP_>
struct WgmmaShape {
  static constexpr int WARPGROUPS = WARPGROUPS_, BM = 64 * WARPGROUPS, BN = BN_;
  static constexpr int STAGES = STAGES_;
  static constexpr int DOWN = DOWN_, ACROSS = ACROSS_, CLUSTER = DOWN * ACROSS;
  static constexpr int BUFFERS = BUFFERS_, BATCH = BATCH_, PIECES = BN / C_BOX_COLS / BATCH;
  static constexpr bool OVERLAP = OVERLAP_;
  static constexpr int THREADS = 128 * (WARPGROUPS + 1); /* the first warpgroup loads */
  static constexpr int A_BYTES = BM * BOX_ROW, B_BYTES = BN * BOX_ROW;
  static constexpr int SUMS = BN / 2; /* sums per thread */
  /* Loading warps release registers for multiplying ones. */
  static constexpr bool LARGE = WARPGROUPS > 1 && (OVERLAP ? 2 : 1) * SUMS >= 128;
  static constexpr int LOADERS = OVERLAP ? 24 : 40, MULTIPLIERS = OVERLAP ? 240 : 232;
  static_assert(BN / DOWN <= 256 && BUFFERS % BATCH == 0, "boxes must fit");
  static_assert(PIECES * BATCH * C_BOX_COLS == BN, "pieces make up a tile");
  static_assert(PIECES % (BUFFERS / BATCH) == 0, "a piece has its own boxes in every tile");
  static_assert(BM % (8 * ACROSS) == 0 && BN % (8 * DOWN) == 0, "parts are groups of eight rows");
};

template <class Shape> struct WgmmaMemory {
  char a[Shape::STAGES][Shape::A_BYTES];
  char b[Shape::STAGES][Shape::B_BYTES];
  char c[Shape::WARPGROUPS][Shape::BUFFERS][C_BOX_ROWS * BOX_ROW];
  uint64_t full[Shape::STAGES], empty[Shape::STAGES];
};

/* The current stage, and the parity of its round. */
template <int STAGES> struct Ring {
  int stage = 0, parity = 0;

  __device__ __forceinline__ void next() {
    if (++stage < STAGES) return;
    stage = 0;
    parity ^= 1;
  }
};

/* The order of the clusters' tiles of C: down GROUP rows of them, then to the next column.  Tiles
 * computed at the same time need few different rows of A and columns of B, which stay in the L2
 * cache. */
struct TileOrder {
  int down, across, group;

  __host__ __device__ __forceinline__ int count() const {
    return down * across;
  }

  __device__ __forceinline__ void find(int tile, int *row, int *col) const {
    const int first = tile / (group * across) * group, rest = tile % (group * across);
    const int height = max(1, min(group, down - first)); /* the last group may be lower */
    *row = first + rest % height;
    *col = rest / height;
  }
};

/* Parameters of a launch.  Rows of A run along k, those of B along k or n. */
struct WgmmaWork {
  CUtensorMap a, b, c;
  TileOrder order;
  int m, n, steps; /* steps of 128 bytes along k */
  void *c_base;
  int64_t c_stride;
  bool accumulate, c_boxes; /* c_boxes: C is stored by TMA */
};

#endif
