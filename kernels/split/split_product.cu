/* C (+)= A B of f32 by three products of f16: the kernel of ladder/21_wgmma.cu, over k three times.
 *
 * The idea: the ring of stages can load its tiles from any matrices.  The first pass multiplies
 * high by low parts, the second low by high parts; their sums, whose truncation by tensor cores
 * does not matter, are scaled by 2^-11.  The third pass multiplies high parts; every CHUNK steps
 * CUDA cores add its sums in f32 to a second set of registers.  During the first two passes that
 * set still holds the previous tile, which is stored from it, with the scales of rows and columns
 * removed.
 *
 * Of X^T X with many rows, k is divided among lanes, each with a C of its own, so that their tiles
 * fill the GPU; only those of the lower triangle are computed, and the parts of X serve as A, too:
 * then the rows of A's tiles run along m.
 *
 * Measured on an H200, including the other kernels of the product: 4.17 of cuBLAS' SGEMM at
 * N = 8192, 4.28 at 16384 (3.9 in another run).  CHUNK 2 is a tenth slower; 8 is as fast but less
 * accurate. */
#define DM_WGMMA_DEVICE_PART
#include "kernels/ladder/21_wgmma.cu"
#include "kernels/split_kernels.h"

namespace {

constexpr int CHUNK = 4; /* steps along k summed by tensor cores: 256 products */
constexpr int STEP = BOX_ROW / (int)sizeof(__half);

/* The lanes' C's, rows of A and parts of k lie one below the other. */
struct Lanes {
  int count, rows, depth;
  int tiles; /* of one C, for clusters */
  bool lower;
};

struct SplitWork {
  WgmmaWork high; /* A and B: high parts; steps of one pass in a lane */
  CUtensorMap a_low, b_low;
  const int32_t *rows, *cols; /* exponents, Lanes.rows of each lane */
  Lanes lanes;
};

/* Tiles, across, in row ROW of clusters that have elements below the diagonal or on it. */
template <class Shape>
__host__ __device__ __forceinline__ int lower_width(const TileOrder &order, int row) {
  const int wide = Shape::BN * Shape::ACROSS, end = (row + 1) * Shape::BM * Shape::DOWN;
  const int width = (end + wide - 1) / wide;
  return width < order.across ? width : order.across;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* Corner of a tile, in all lanes' C's. */
struct Corner {
  int lane, row, col;
};

/* The sequence of a block's tiles, as Tile's. */
template <class Shape> struct LaneTile {
  int index;
  Corner at;

  __device__ __forceinline__ explicit LaneTile(const SplitWork &work)
      : index(blockIdx.x / Shape::CLUSTER) {
    find(work);
  }
  __device__ __forceinline__ bool exists(const SplitWork &work) const {
    return index < work.lanes.tiles * work.lanes.count;
  }
  __device__ __forceinline__ void next(const SplitWork &work) {
    index += gridDim.x / Shape::CLUSTER;
    find(work);
  }
  __device__ __forceinline__ void find(const SplitWork &work) {
    const TileOrder &order = work.high.order;
    const int rank = rank_in_cluster();
    int row = 0, col = index % work.lanes.tiles;
    if (work.lanes.lower)
      for (int width; col >= (width = lower_width<Shape>(order, row)); row++) col -= width;
    else
      order.find(col, &row, &col);
    at.lane = index / work.lanes.tiles;
    at.row = at.lane * work.lanes.rows + (row * Shape::DOWN + rank % Shape::DOWN) * Shape::BM;
    at.col = (col * Shape::ACROSS + rank / Shape::DOWN) * Shape::BN;
  }
};

/* ---- loading: one thread ---- */

/* Loads rows of A that run along m. */
template <class Shape>
__device__ __forceinline__ void load_turned_a(const CUtensorMap *a, char *tile, int row, int k,
                                              uint64_t *barrier) {
  static_assert(Shape::ACROSS == 1, "no other block needs them");
#pragma unroll
  for (int i = 0; i < Shape::BM; i += STEP) load_box(tile + i * BOX_ROW, a, row + i, k, barrier);
}

template <class Shape, bool TURNED>
__device__ __forceinline__ void load_thrice(const SplitWork &work, WgmmaMemory<Shape> &memory) {
  Ring<Shape::STAGES> ring;
  const WgmmaWork &high = work.high;
  for (LaneTile<Shape> tile(work); tile.exists(work); tile.next(work))
    for (int turn = 0; turn < 3; turn++) {
      const CUtensorMap *a = turn == 1 ? &work.a_low : &high.a;
      const CUtensorMap *b = turn == 0 ? &work.b_low : &high.b;
      const Corner at = tile.at;
      for (int step = 0; step < high.steps; step++, ring.next()) {
        const int k = at.lane * work.lanes.depth + step * STEP;
        uint64_t *full = &memory.full[ring.stage];
        wait(&memory.empty[ring.stage], ring.parity ^ 1);
        arrive_expecting(full, Shape::A_BYTES + Shape::B_BYTES);
        if (TURNED)
          load_turned_a<Shape>(a, memory.a[ring.stage], at.row - at.lane * work.lanes.rows, k,
                               full);
        else
          load_a<Shape>(a, memory.a[ring.stage], at.row, k, full);
        load_b<__half, true, Shape>(b, memory.b[ring.stage], at.col, k, full);
        if (turn == 2 && high.accumulate && high.c_boxes)
          prefetch_c<Shape>(high, at.row, at.col, step);
      }
    }
}

/* ---- multiplying: a warpgroup ---- */

/* Removes the scales from piece PIECE of the tile. */
template <class Shape>
__device__ __forceinline__ void unscale_piece(const SplitWork &work, const Worker<Shape> &worker,
                                              float (&sums)[Shape::SUMS], int piece, Corner at) {
  constexpr int COLS = Shape::BATCH * C_BOX_COLS;
  const int thread = threadIdx.x % 128;
  const int first = at.row + worker.warpgroup * C_BOX_ROWS + thread / 32 * 16 + thread % 32 / 4;
  const int left = at.col + piece * COLS + thread % 4 * 2;
  const int32_t *cols = work.cols + at.lane * work.lanes.rows;
  int32_t s[2];
#pragma unroll
  for (int j = 0; j < 2; j++) s[j] = first + 8 * j < work.high.m ? work.rows[first + 8 * j] : 0;
#pragma unroll
  for (int i = 0; i < COLS / 8; i++)
#pragma unroll
    for (int l = 0; l < 2; l++) {
      const int32_t t = left + 8 * i + l < work.high.n ? cols[left + 8 * i + l] : 0;
#pragma unroll
      for (int j = 0; j < 2; j++) {
        float &sum = sums[piece * (COLS / 2) + 4 * i + 2 * j + l];
        sum = dm_split_unscaled(sum, s[j], t);
      }
    }
  __syncwarp(); /* products need converged warps */
}

template <class Shape>
__device__ __forceinline__ void leave_piece(const SplitWork &work, const Worker<Shape> &worker,
                                            float (&sums)[Shape::SUMS], int piece, Corner at) {
  if (at.row < work.high.m) unscale_piece(work, worker, sums, piece, at);
  store_piece(worker, sums, piece, at.row, at.col);
}

template <class Shape>
__device__ __forceinline__ void leave_tile(const SplitWork &work, const Worker<Shape> &worker,
                                           float (&sums)[Shape::SUMS], Corner at) {
#pragma unroll
  for (int piece = 0; piece < Shape::PIECES; piece++) leave_piece(work, worker, sums, piece, at);
}

/* Waits for all issued products, and releases the last stage. */
template <class Shape>
__device__ __forceinline__ void await_products(const Worker<Shape> &worker,
                                               float (&d)[Shape::SUMS]) {
  wait_for_products<0>();
  pin(d);
  release_before(worker);
}

/* SUMS = the products of high and low parts; meanwhile stores the old SUMS, those of the tile
 * BEFORE. */
template <class Shape, bool TURNED>
__device__ __forceinline__ void multiply_mixed(const SplitWork &work, Worker<Shape> &worker,
                                               float (&d)[Shape::SUMS], float (&sums)[Shape::SUMS],
                                               Corner before) {
  const int steps = 2 * work.high.steps;
  int step = 0;
  if (steps >= Shape::PIECES) {
#pragma unroll
    for (int piece = 0; piece < Shape::PIECES; piece++) {
      multiply_step<__half, true, TURNED>(worker, d, piece > 0);
      leave_piece(work, worker, sums, piece, before);
    }
    step = Shape::PIECES;
  } else {
    leave_tile(work, worker, sums, before);
  }
  for (; step < steps; step++) multiply_step<__half, true, TURNED>(worker, d, step > 0);
  await_products(worker, d);
#pragma unroll
  for (int i = 0; i < Shape::SUMS; i++) sums[i] = d[i] * (1.0f / (1 << DM_SPLIT_LOW));
}

/* SUMS += the products of high parts. */
template <class Shape, bool TURNED>
__device__ __forceinline__ void multiply_high(const SplitWork &work, Worker<Shape> &worker,
                                              float (&d)[Shape::SUMS], float (&sums)[Shape::SUMS]) {
  const int steps = work.high.steps;
  for (int step = 0; step < steps; step += CHUNK) {
    multiply_step<__half, true, TURNED>(worker, d, false);
#pragma unroll
    for (int more = 1; more < CHUNK; more++)
      if (step + more < steps) multiply_step<__half, true, TURNED>(worker, d, true);
    await_products(worker, d);
#pragma unroll
    for (int i = 0; i < Shape::SUMS; i++) sums[i] += d[i];
  }
}

template <class Shape, bool TURNED>
__device__ __forceinline__ void multiply_parts(const SplitWork &work, WgmmaMemory<Shape> &memory) {
  Worker<Shape> worker = {work.high, memory, (int)threadIdx.x / 128 - 1, {}};
  float d[Shape::SUMS], sums[Shape::SUMS];
  Corner before = {0, work.high.m, 0}; /* there is nothing to store yet */
  for (LaneTile<Shape> tile(work); tile.exists(work); tile.next(work)) {
    multiply_mixed<Shape, TURNED>(work, worker, d, sums, before);
    multiply_high<Shape, TURNED>(work, worker, d, sums);
    before = tile.at;
  }
  leave_tile(work, worker, sums, before);
  if (threadIdx.x % 128 == 0) wait_for_bulk_reads<0>();
}

#endif

template <class Shape, bool TURNED>
__global__ void __launch_bounds__(Shape::THREADS, 1)
    split_product(const __grid_constant__ SplitWork work) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char bytes[];
  WgmmaMemory<Shape> &memory = *reinterpret_cast<WgmmaMemory<Shape> *>(bytes);
  let_grids_begin();
  prepare<Shape>(work.high, memory);
  await_grids_before();
  if (threadIdx.x < 128) {
    if (Shape::LARGE) give_registers<Shape::LOADERS>();
    if (threadIdx.x == 0) load_thrice<Shape, TURNED>(work, memory);
    __syncwarp();
  } else {
    if (Shape::LARGE) take_registers<Shape::MULTIPLIERS>();
    multiply_parts<Shape, TURNED>(work, memory);
  }
  if (Shape::CLUSTER > 1) synchronize_cluster(); /* others may still write or arrive here */
#endif
}

/* ---- launching ---- */

cudaError_t map_parts(CUtensorMap *high, CUtensorMap *low, const dm_split_parts &parts,
                      int box_rows) {
  const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const cudaError_t error = dm_tensor_map(high, type, sizeof(__half), parts.high, parts.rows,
                                          parts.cols, parts.stride, box_rows);
  if (error != cudaSuccess) return error;
  return dm_tensor_map(low, type, sizeof(__half), parts.low, parts.rows, parts.cols, parts.stride,
                       box_rows);
}

cudaError_t map_c(WgmmaWork *work, dm_view c) {
  work->c_base = c.base, work->c_stride = c.row_stride;
  work->c_boxes = rows_are_aligned(c, sizeof(float));
  if (!work->c_boxes) return cudaSuccess;
  return dm_tensor_map(&work->c, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, sizeof(float), c.base, c.rows,
                       c.cols, c.row_stride, C_BOX_ROWS);
}

template <class Shape> TileOrder order_of(const dm_split_product *p, int64_t rows) {
  return {(int)divide_up(rows, Shape::BM * Shape::DOWN),
          (int)divide_up(p->c.cols, Shape::BN * Shape::ACROSS), GROUP};
}

template <class Shape, bool TURNED>
cudaError_t launch_mapped(const dm_split_product *p, SplitWork work, const dm_split_parts &a,
                          int box_of_a) {
  work.high.m = (int)p->c.rows, work.high.n = (int)p->c.cols;
  work.high.accumulate = p->accumulate;
  work.rows = a.exponents, work.cols = p->b.exponents;
  cudaError_t error = map_parts(&work.high.a, &work.a_low, a, box_of_a);
  if (error == cudaSuccess) error = map_parts(&work.high.b, &work.b_low, p->b, STEP / Shape::DOWN);
  if (error == cudaSuccess) error = map_c(&work.high, p->c);
  if (error != cudaSuccess) return error;
  return launch_clusters<Shape>(split_product<Shape, TURNED>, work,
                                (int64_t)work.lanes.tiles * work.lanes.count,
                                (int)sizeof(WgmmaMemory<Shape>), p->processors, p->stream);
}

template <class Shape> cudaError_t launch(const dm_split_product *p) {
  SplitWork work = {};
  work.high.steps = (int)divide_up(p->a.cols, STEP);
  work.high.order = order_of<Shape>(p, p->c.rows);
  work.lanes = {1, 0, 0, work.high.order.count(), false};
  return launch_mapped<Shape, false>(p, work, p->a, Shape::BM / Shape::ACROSS);
}

typedef WgmmaShape<2, 192, 5, 2, 1, 1, 1, true> Large;
typedef WgmmaShape<2, 128, 6, 1, 1, 1, 1, true> Medium; /* of X^T X: less above the diagonal */
typedef WgmmaShape<1, 128, 8, 1, 1, 1, 1, true> Small;
constexpr int LARGE_TIME = 74, SMALL_TIME = 35; /* as in 21_wgmma.cu */
/* Of lanes, which fill the GPU: small tiles wait for the L2 cache. */
constexpr int MEDIUM_LANE = 91, SMALL_LANE = 68;

bool is_valid(const dm_split_product *p) {
  return p->c.dtype == DM_F32 && p->c.col_stride == 1 && p->a.rows == p->c.rows &&
         p->b.cols == p->c.cols && p->a.cols == p->b.rows && p->a.cols >= 1 &&
         p->c.rows <= INT32_MAX / 2 && p->c.cols <= INT32_MAX / 2 && p->a.cols <= INT32_MAX / 2;
}

/* ---- X^T X in lanes ---- */

template <class Shape> int lower_tiles(const TileOrder &order) {
  int tiles = 0;
  for (int row = 0; row < order.down; row++) tiles += lower_width<Shape>(order, row);
  return tiles;
}

template <class Shape> cudaError_t launch_lanes(const dm_split_product *p) {
  SplitWork work = {};
  const dm_split_lanes &of = p->lanes;
  work.high.steps = (int)(of.depth / STEP);
  work.high.order = order_of<Shape>(p, p->c.cols);
  work.lanes = {of.count, (int)of.rows, (int)of.depth, lower_tiles<Shape>(work.high.order), true};
  return launch_mapped<Shape, true>(p, work, p->b, STEP);
}

/* Time for COUNT lanes of a C of N columns. */
template <class Shape> double time_of_lanes(int64_t n, int count, int processors, int one) {
  const TileOrder order = {(int)divide_up(n, Shape::BM * Shape::DOWN),
                           (int)divide_up(n, Shape::BN * Shape::ACROSS), GROUP};
  const int64_t at_once = processors / Shape::CLUSTER < 1 ? 1 : processors / Shape::CLUSTER;
  return (double)divide_up((int64_t)lower_tiles<Shape>(order) * count, at_once) * one;
}

struct LaneTimes {
  double large, medium, small;
};

LaneTimes times_of_lanes(int64_t n, int count, int processors) {
  return {time_of_lanes<Large>(n, count, processors, LARGE_TIME),
          time_of_lanes<Medium>(n, count, processors, MEDIUM_LANE),
          time_of_lanes<Small>(n, count, processors, SMALL_LANE)};
}

bool are_valid_lanes(const dm_split_product *p) {
  const dm_split_lanes &of = p->lanes;
  return p->c.dtype == DM_F32 && p->c.col_stride == 1 && of.rows % DM_SPLIT_LANE_ROWS == 0 &&
         of.rows >= p->c.cols && p->c.rows == of.count * of.rows && p->c.rows <= INT32_MAX / 2 &&
         p->b.cols == p->c.cols && of.depth % STEP == 0 && of.depth >= STEP && p->b.rows >= 1 &&
         p->b.rows <= of.count * of.depth && of.count * of.depth <= INT32_MAX / 2;
}

cudaError_t multiply_in_lanes(const dm_split_product *p) {
  if (!are_valid_lanes(p)) return cudaErrorInvalidValue;
  const LaneTimes time = times_of_lanes(p->c.cols, p->lanes.count, p->processors);
  if (time.medium <= time.large && time.medium <= time.small) return launch_lanes<Medium>(p);
  return time.large <= time.small ? launch_lanes<Large>(p) : launch_lanes<Small>(p);
}

} // namespace

int dm_kernels_split_lanes(int64_t n, int most, int processors) {
  const auto time_of_each = [=](int count) {
    const LaneTimes time = times_of_lanes(n, count, processors);
    return fmin(time.large, fmin(time.medium, time.small)) / count;
  };
  const double enough = 1.02; /* of the least time: fewer lanes need less memory */
  double least = time_of_each(1);
  for (int count = 2; count <= most; count++) least = fmin(least, time_of_each(count));
  int count = 1;
  while (count < most && time_of_each(count) > enough * least) count++;
  return count;
}

cudaError_t dm_kernels_split_product(const dm_split_product *p) {
  if (p->lanes.count > 0) return multiply_in_lanes(p);
  if (!is_valid(p)) return cudaErrorInvalidValue;
  /* As in 21_wgmma.cu; the sums of an element are the same with both. */
  const bool large = time_of<Large>(p->c, p->processors, LARGE_TIME) <=
                     time_of<Small>(p->c, p->processors, SMALL_TIME);
  return large ? launch<Large>(p) : launch<Small>(p);
}
