/* wgmma_store: the epilogue of a warpgroup: stores sums through shared memory, in 64 x 32 boxes. */
#ifndef DM_KERNELS_WGMMA_STORE_CUH
#define DM_KERNELS_WGMMA_STORE_CUH

#include "kernels/product/bulk_copy.cuh"
#include "kernels/product/wgmma_tile.cuh"

/* A warpgroup and its position in the ring. */
template <class Shape> struct Worker {
  const WgmmaWork &work;
  WgmmaMemory<Shape> &memory;
  int warpgroup;
  Ring<Shape::STAGES> ring;
};

/* Writes 32 columns of the sums as a box.  The 16 lanes that store at once cover four rows; those
 * of odd rows start with the right half, so that they access different banks. */
template <class Sum> static __device__ __forceinline__ void write_box(char *box, const Sum *d) {
  const int thread = threadIdx.x % 128, lane = thread % 32;
  const int row = thread / 32 * 16 + lane / 4;
  const bool odd = lane / 4 % 2;
#pragma unroll
  for (int j = 0; j < 2; j++) /* rows r and r + 8 */
#pragma unroll
    for (int i = 0; i < 2; i++) { /* columns from 8 i and from 8 i + 16 */
      const Sum *left = d + 4 * i + 2 * j, *right = left + 8;
      const int piece = (2 * i + lane % 4 / 2) ^ (row % 8) ^ (odd ? 4 : 0);
      char *at = box + (row + 8 * j) * BOX_ROW + piece * 16 + lane % 2 * 8;
      Sum first[2], second[2];
#pragma unroll
      for (int l = 0; l < 2; l++) {
        first[l] = odd ? right[l] : left[l];
        second[l] = odd ? left[l] : right[l];
      }
      char *other = box + (row + 8 * j) * BOX_ROW + (piece ^ 4) * 16 + lane % 2 * 8;
      *reinterpret_cast<int2 *>(at) = *reinterpret_cast<const int2 *>(first);
      *reinterpret_cast<int2 *>(other) = *reinterpret_cast<const int2 *>(second);
    }
}

static __device__ __forceinline__ float add(float x, float y) {
  return x + y;
}
static __device__ __forceinline__ int32_t add(int32_t x, int32_t y) { /* wraps */
  return (int32_t)((uint32_t)x + (uint32_t)y);
}

/* Stores the box to C where TMA, which writes 16 bytes at once, cannot.  C += A B does not use
 * atomic additions, because unlike those of TMA they flush subnormal numbers to 0. */
template <class Sum>
static __device__ __forceinline__ void store_elements(const WgmmaWork &work, const char *box,
                                                      int row, int col) {
  constexpr int COUNT = 8; /* rows per half; the warp has every fourth row */
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  if (col + lane >= work.n) return;
  const int64_t down = 4 * work.c_stride;
  int rows = work.m - row - warp;
  const char *from = box + warp * BOX_ROW + lane % 4 * 4;
  Sum *c = static_cast<Sum *>(work.c_base) + (row + warp) * work.c_stride + col + lane;
#pragma unroll
  for (int half = 0; half < 2; half++, rows -= 4 * COUNT, from += 4 * COUNT * BOX_ROW) {
    Sum sums[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      sums[i] = *reinterpret_cast<const Sum *>(from + 4 * i * BOX_ROW +
                                               (lane / 4 ^ warp ^ i * 4 % 8) * 16);
    if (work.accumulate) {
      const Sum *old = c;
#pragma unroll
      for (int i = 0; i < COUNT; i++, old += down)
        if (4 * i < rows) sums[i] = add(*old, sums[i]);
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++, c += down)
      if (4 * i < rows) *c = sums[i];
  }
}

/* Stores piece PIECE of the tile at ROW and COL; one thread issues TMA stores. */
template <class Shape, class Sum>
static __device__ __forceinline__ void
store_piece(const Worker<Shape> &worker, const Sum (&d)[Shape::SUMS], int piece, int row, int col) {
  constexpr int BATCH = Shape::BATCH, SETS = Shape::BUFFERS / BATCH;
  const WgmmaWork &work = worker.work;
  const bool asks = threadIdx.x % 128 == 0;
  row += worker.warpgroup * C_BOX_ROWS, col += piece * BATCH * C_BOX_COLS;
  if (row >= work.m || col >= work.n) { /* an empty group, so that groups count pieces */
    if (asks) commit_bulk_stores();
    return;
  }
  auto *buffers = &worker.memory.c[worker.warpgroup][piece % SETS * BATCH];
  if (asks) wait_for_bulk_reads<SETS - 1>();
  synchronize_threads<128>(1 + worker.warpgroup);
#pragma unroll
  for (int box = 0; box < BATCH; box++)
    write_box(buffers[box], d + (piece * BATCH + box) * (C_BOX_COLS / 2));
  publish_to_bulk_copies();
  synchronize_threads<128>(1 + worker.warpgroup);
#pragma unroll
  for (int box = 0; box < BATCH; box++, col += C_BOX_COLS) {
    if (col >= work.n) break;
    if (!work.c_boxes || (work.n % 4 != 0 && col + C_BOX_COLS > work.n)) {
      store_elements<Sum>(work, buffers[box], row, col);
    } else if (asks) {
      if (work.accumulate)
        add_box(&work.c, buffers[box], col, row);
      else
        store_box(&work.c, buffers[box], col, row);
    }
  }
  if (asks) commit_bulk_stores();
}

template <class Shape, class Sum>
static __device__ __forceinline__ void store_tile(const Worker<Shape> &worker,
                                                  const Sum (&d)[Shape::SUMS], int row, int col) {
#pragma unroll
  for (int piece = 0; piece < Shape::PIECES; piece++) store_piece(worker, d, piece, row, col);
}

#endif
