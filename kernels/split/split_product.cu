/* C (+)= A B of f32 by three products of f16: the kernel of ladder/21_wgmma.cu, over k three times.
 *
 * The idea: the ring of stages can load its tiles from any matrices.  The first pass multiplies
 * high by low parts, the second low by high parts; their sums, whose truncation by tensor cores
 * does not matter, are scaled by 2^-11.  The third pass multiplies high parts; every CHUNK steps
 * CUDA cores add its sums in f32 to a second set of registers.  During the first two passes that
 * set still holds the previous tile, which is stored from it, with the scales of rows and columns
 * removed.
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

struct SplitWork {
  WgmmaWork high; /* A and B: high parts; steps of one pass */
  CUtensorMap a_low, b_low;
  const int32_t *rows, *cols; /* exponents */
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* ---- loading: one thread ---- */

template <class Shape>
__device__ __forceinline__ void load_thrice(const SplitWork &work, WgmmaMemory<Shape> &memory) {
  Ring<Shape::STAGES> ring;
  const WgmmaWork &high = work.high;
  for (Tile<Shape> tile(high); tile.exists(high); tile.next(high))
    for (int turn = 0; turn < 3; turn++) {
      const CUtensorMap *a = turn == 1 ? &work.a_low : &high.a;
      const CUtensorMap *b = turn == 0 ? &work.b_low : &high.b;
      for (int step = 0; step < high.steps; step++, ring.next()) {
        uint64_t *full = &memory.full[ring.stage];
        wait(&memory.empty[ring.stage], ring.parity ^ 1);
        arrive_expecting(full, Shape::A_BYTES + Shape::B_BYTES);
        load_a<Shape>(a, memory.a[ring.stage], tile.row, step * STEP, full);
        load_b<__half, true, Shape>(b, memory.b[ring.stage], tile.col, step * STEP, full);
        if (turn == 2 && high.accumulate && high.c_boxes)
          prefetch_c<Shape>(high, tile.row, tile.col, step);
      }
    }
}

/* ---- multiplying: a warpgroup ---- */

/* Removes the scales from piece PIECE of the tile at ROW and COL. */
template <class Shape>
__device__ __forceinline__ void unscale_piece(const SplitWork &work, const Worker<Shape> &worker,
                                              float (&sums)[Shape::SUMS], int piece, int row,
                                              int col) {
  constexpr int COLS = Shape::BATCH * C_BOX_COLS;
  const int thread = threadIdx.x % 128;
  const int first = row + worker.warpgroup * C_BOX_ROWS + thread / 32 * 16 + thread % 32 / 4;
  const int left = col + piece * COLS + thread % 4 * 2;
  int32_t s[2];
#pragma unroll
  for (int j = 0; j < 2; j++) s[j] = first + 8 * j < work.high.m ? work.rows[first + 8 * j] : 0;
#pragma unroll
  for (int i = 0; i < COLS / 8; i++)
#pragma unroll
    for (int l = 0; l < 2; l++) {
      const int32_t t = left + 8 * i + l < work.high.n ? work.cols[left + 8 * i + l] : 0;
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
                                            float (&sums)[Shape::SUMS], int piece, int row,
                                            int col) {
  if (row < work.high.m) unscale_piece(work, worker, sums, piece, row, col);
  store_piece(worker, sums, piece, row, col);
}

template <class Shape>
__device__ __forceinline__ void leave_tile(const SplitWork &work, const Worker<Shape> &worker,
                                           float (&sums)[Shape::SUMS], int row, int col) {
#pragma unroll
  for (int piece = 0; piece < Shape::PIECES; piece++)
    leave_piece(work, worker, sums, piece, row, col);
}

/* Waits for all issued products, and releases the last stage. */
template <class Shape>
__device__ __forceinline__ void await_products(const Worker<Shape> &worker,
                                               float (&d)[Shape::SUMS]) {
  wait_for_products<0>();
  pin(d);
  release_before(worker);
}

/* SUMS = the products of high and low parts; meanwhile stores the old SUMS, those of the tile at
 * ROW and COL. */
template <class Shape>
__device__ __forceinline__ void multiply_mixed(const SplitWork &work, Worker<Shape> &worker,
                                               float (&d)[Shape::SUMS], float (&sums)[Shape::SUMS],
                                               int row, int col) {
  const int steps = 2 * work.high.steps;
  int step = 0;
  if (steps >= Shape::PIECES) {
#pragma unroll
    for (int piece = 0; piece < Shape::PIECES; piece++) {
      multiply_step<__half, true>(worker, d, piece > 0);
      leave_piece(work, worker, sums, piece, row, col);
    }
    step = Shape::PIECES;
  } else {
    leave_tile(work, worker, sums, row, col);
  }
  for (; step < steps; step++) multiply_step<__half, true>(worker, d, step > 0);
  await_products(worker, d);
#pragma unroll
  for (int i = 0; i < Shape::SUMS; i++) sums[i] = d[i] * (1.0f / (1 << DM_SPLIT_LOW));
}

/* SUMS += the products of high parts. */
template <class Shape>
__device__ __forceinline__ void multiply_high(const SplitWork &work, Worker<Shape> &worker,
                                              float (&d)[Shape::SUMS], float (&sums)[Shape::SUMS]) {
  const int steps = work.high.steps;
  for (int step = 0; step < steps; step += CHUNK) {
    multiply_step<__half, true>(worker, d, false);
#pragma unroll
    for (int more = 1; more < CHUNK; more++)
      if (step + more < steps) multiply_step<__half, true>(worker, d, true);
    await_products(worker, d);
#pragma unroll
    for (int i = 0; i < Shape::SUMS; i++) sums[i] += d[i];
  }
}

template <class Shape>
__device__ __forceinline__ void multiply_parts(const SplitWork &work, WgmmaMemory<Shape> &memory) {
  Worker<Shape> worker = {work.high, memory, (int)threadIdx.x / 128 - 1, {}};
  float d[Shape::SUMS], sums[Shape::SUMS];
  int row = work.high.m, col = 0; /* there is nothing to store yet */
  for (Tile<Shape> tile(work.high); tile.exists(work.high); tile.next(work.high)) {
    multiply_mixed(work, worker, d, sums, row, col);
    multiply_high(work, worker, d, sums);
    row = tile.row, col = tile.col;
  }
  leave_tile(work, worker, sums, row, col);
  if (threadIdx.x % 128 == 0) wait_for_bulk_reads<0>();
}

#endif

template <class Shape>
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
    if (threadIdx.x == 0) load_thrice<Shape>(work, memory);
    __syncwarp();
  } else {
    if (Shape::LARGE) take_registers<Shape::MULTIPLIERS>();
    multiply_parts<Shape>(work, memory);
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

template <class Shape> cudaError_t launch(const dm_split_product *p) {
  SplitWork work = {};
  work.high.m = (int)p->c.rows, work.high.n = (int)p->c.cols;
  work.high.steps = (int)divide_up(p->a.cols, STEP);
  work.high.accumulate = p->accumulate;
  work.high.order = {(int)divide_up(p->c.rows, Shape::BM * Shape::DOWN),
                     (int)divide_up(p->c.cols, Shape::BN * Shape::ACROSS), GROUP};
  work.rows = p->a.exponents, work.cols = p->b.exponents;
  cudaError_t error = map_parts(&work.high.a, &work.a_low, p->a, Shape::BM / Shape::ACROSS);
  if (error == cudaSuccess) error = map_parts(&work.high.b, &work.b_low, p->b, STEP / Shape::DOWN);
  if (error == cudaSuccess) error = map_c(&work.high, p->c);
  if (error != cudaSuccess) return error;
  return launch_clusters<Shape>(split_product<Shape>, work, work.high.order.count(),
                                (int)sizeof(WgmmaMemory<Shape>), p->processors, p->stream);
}

typedef WgmmaShape<2, 192, 5, 2, 1, 1, 1, true> Large;
typedef WgmmaShape<1, 128, 8, 1, 1, 1, 1, true> Small;

bool is_valid(const dm_split_product *p) {
  return p->c.dtype == DM_F32 && p->c.col_stride == 1 && p->a.rows == p->c.rows &&
         p->b.cols == p->c.cols && p->a.cols == p->b.rows && p->a.cols >= 1 &&
         p->c.rows <= INT32_MAX / 2 && p->c.cols <= INT32_MAX / 2 && p->a.cols <= INT32_MAX / 2;
}

} // namespace

cudaError_t dm_kernels_split_product(const dm_split_product *p) {
  if (!is_valid(p)) return cudaErrorInvalidValue;
  /* As in 21_wgmma.cu; the sums of an element are the same with both. */
  const bool large =
      time_of<Large>(p->c, p->processors, 74) <= time_of<Small>(p->c, p->processors, 35);
  return large ? launch<Large>(p) : launch<Small>(p);
}
