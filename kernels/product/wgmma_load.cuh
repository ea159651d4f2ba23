/* wgmma_load: the loading thread: the sequence of a block's tiles, and the loads of their operands
 * to the ring of stages. */
#ifndef DM_KERNELS_WGMMA_LOAD_CUH
#define DM_KERNELS_WGMMA_LOAD_CUH

#include "kernels/product/bulk_copy.cuh"
#include "kernels/product/wgmma_tile.cuh"

/* The sequence of a block's tiles.  Ranks of a cluster go down first. */
template <class Shape> struct Tile {
  int index, row, col; /* row, col: its corner */

  __device__ __forceinline__ explicit Tile(const WgmmaWork &work)
      : index(blockIdx.x / Shape::CLUSTER) {
    find(work);
  }
  __device__ __forceinline__ bool exists(const WgmmaWork &work) const {
    return index < work.order.count();
  }
  __device__ __forceinline__ void next(const WgmmaWork &work) {
    index += gridDim.x / Shape::CLUSTER;
    find(work);
  }
  __device__ __forceinline__ void find(const WgmmaWork &work) {
    const int rank = rank_in_cluster();
    work.order.find(index, &row, &col);
    row = (row * Shape::DOWN + rank % Shape::DOWN) * Shape::BM;
    col = (col * Shape::ACROSS + rank / Shape::DOWN) * Shape::BN;
  }
};

/* Loads the box for COUNT blocks of the cluster, STEP ranks apart, including this one. */
template <int COUNT, int STEP>
static __device__ __forceinline__ void load_shared_box(void *to, const CUtensorMap *map, int col,
                                                       int row, uint64_t *barrier) {
  if (COUNT == 1) {
    load_box(to, map, col, row, barrier);
    return;
  }
  int blocks = 0;
  for (int i = 0; i < COUNT; i++) blocks |= 1 << i * STEP;
  const int rank = rank_in_cluster(), first = STEP == 1 ? rank / COUNT * COUNT : rank % STEP;
  load_box_for(blocks << first, to, map, col, row, barrier);
}

/* Loads this block's part of the rows of A, for all blocks in its row of the cluster. */
template <class Shape>
static __device__ __forceinline__ void load_a(const CUtensorMap *a, char *tile, int row, int k,
                                              uint64_t *barrier) {
  const int part = rank_in_cluster() / Shape::DOWN * (Shape::BM / Shape::ACROSS);
  load_shared_box<Shape::ACROSS, Shape::DOWN>(tile + part * BOX_ROW, a, k, row + part, barrier);
}

/* Loads its part of the columns of B (of the rows, if these run along n), for all blocks in its
 * column of the cluster. */
template <class Element, bool N_MAJOR, class Shape>
static __device__ __forceinline__ void load_b(const CUtensorMap *b, char *tile, int col, int k,
                                              uint64_t *barrier) {
  constexpr int COLS = BOX_ROW / (int)sizeof(Element); /* of a box with rows along n */
  const int rank = rank_in_cluster() % Shape::DOWN;
  if (!N_MAJOR) {
    const int part = rank * (Shape::BN / Shape::DOWN);
    load_shared_box<Shape::DOWN, 1>(tile + part * BOX_ROW, b, k, col + part, barrier);
    return;
  }
  const int part = rank * (COLS / Shape::DOWN);
#pragma unroll
  for (int j = 0; j < Shape::BN; j += COLS)
    load_shared_box<Shape::DOWN, 1>(tile + (j + part) * BOX_ROW, b, col + j, k + part, barrier);
}

/* Prefetches C to the L2 cache before sums are added there, a box in each of the last steps: all
 * blocks add at about the same time, faster than memory could deliver C. */
template <class Shape>
static __device__ __forceinline__ void prefetch_c(const WgmmaWork &work, int row, int col,
                                                  int step) {
  constexpr int DOWN = Shape::WARPGROUPS, BOXES = Shape::BN / C_BOX_COLS * DOWN;
  const int last = BOXES - (work.steps - 1 - step);
  for (int box = step == 0 ? 0 : last - 1; box < last; box++)
    if (box >= 0)
      prefetch_box(&work.c, col + box / DOWN * C_BOX_COLS, row + box % DOWN * C_BOX_ROWS);
}

template <class Element, bool N_MAJOR, class Shape>
static __device__ __forceinline__ void load_tiles(const WgmmaWork &work,
                                                  WgmmaMemory<Shape> &memory) {
  constexpr int BK = BOX_ROW / (int)sizeof(Element);
  Ring<Shape::STAGES> ring;
  for (Tile<Shape> tile(work); tile.exists(work); tile.next(work))
    for (int step = 0; step < work.steps; step++, ring.next()) {
      uint64_t *full = &memory.full[ring.stage];
      wait(&memory.empty[ring.stage], ring.parity ^ 1);
      arrive_expecting(full, Shape::A_BYTES + Shape::B_BYTES);
      load_a<Shape>(&work.a, memory.a[ring.stage], tile.row, step * BK, full);
      load_b<Element, N_MAJOR, Shape>(&work.b, memory.b[ring.stage], tile.col, step * BK, full);
      if (work.accumulate && work.c_boxes) prefetch_c<Shape>(work, tile.row, tile.col, step);
    }
}

#endif
