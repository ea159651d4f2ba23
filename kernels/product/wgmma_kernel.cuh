/* wgmma_kernel: the kernel of 20_wgmma.cu.  One warpgroup of a block loads, the others multiply;
 * the barriers of a ring of stages synchronize them. */
#ifndef DM_KERNELS_WGMMA_KERNEL_CUH
#define DM_KERNELS_WGMMA_KERNEL_CUH

#include "kernels/helpers/number.cuh"
#include "kernels/product/wgmma_instruction.cuh"
#include "kernels/product/wgmma_load.cuh"
#include "kernels/product/wgmma_store.cuh"

template <int COUNT> static __device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> static __device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

/* Grids of a stream may overlap: the next one starts its preparation once all blocks of this one
 * allow it, and then waits for the end of this one. */
static __device__ __forceinline__ void let_grids_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
static __device__ __forceinline__ void await_grids_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* ---- multiplying: a warpgroup ---- */

/* The warp has read the stage: notifies the blocks that write to it, those in the same row or
 * column of the cluster. */
template <class Shape> static __device__ __forceinline__ void release(uint64_t *empty) {
  const int lane = threadIdx.x % 32, rank = rank_in_cluster();
  if (Shape::CLUSTER == 1) {
    if (lane == 0) arrive(empty);
  } else {
    const bool same_row = lane % Shape::DOWN == rank % Shape::DOWN;
    const bool same_col = lane / Shape::DOWN == rank / Shape::DOWN;
    if (lane < Shape::CLUSTER && (same_row || same_col)) arrive_at(empty, lane);
  }
}

template <class Element, bool N_MAJOR, class Shape, class Sum>
static __device__ __forceinline__ void multiply_stage(Sum (&d)[Shape::SUMS], const char *a,
                                                      const char *b, bool keep) {
  constexpr int DEEP = 32 / (int)sizeof(Element); /* elements of k per instruction */
  constexpr int BLOCK = BOX_ROW / (int)sizeof(Element) * BOX_ROW; /* bytes, rows along n */
  const uint64_t a_tile = tile_descriptor(a, 8 * BOX_ROW, 16);
  const uint64_t b_tile = tile_descriptor(b, 8 * BOX_ROW, N_MAJOR ? BLOCK : 16);
  begin_products();
#pragma unroll
  for (int i = 0; i < BOX_ROW / 32; i++)
    Wgmma<Element, Shape::BN>::template add_product<N_MAJOR>(
        d, advance(a_tile, i * 32), advance(b_tile, N_MAJOR ? i * DEEP * BOX_ROW : i * 32),
        i > 0 || keep);
  commit_products();
}

/* ---- all tiles ---- */

/* Releases the stage before the current one. */
template <class Shape>
static __device__ __forceinline__ void release_before(const Worker<Shape> &worker) {
  const int stage = worker.ring.stage;
  release<Shape>(&worker.memory.empty[stage > 0 ? stage - 1 : Shape::STAGES - 1]);
}

/* Issues the products of a stage while those of the previous stage still run. */
template <class Element, bool N_MAJOR, class Shape, class Sum, int SUMS>
static __device__ __forceinline__ void multiply_step(Worker<Shape> &worker, Sum (&d)[SUMS],
                                                     bool keep) {
  const int stage = worker.ring.stage;
  wait(&worker.memory.full[stage], worker.ring.parity);
  multiply_stage<Element, N_MAJOR, Shape>(
      d, worker.memory.a[stage] + worker.warpgroup * C_BOX_ROWS * BOX_ROW, worker.memory.b[stage],
      keep);
  wait_for_products<1>();
  if (keep) release_before(worker);
  worker.ring.next();
}

/* NOW = the sums of a tile.  OVERLAP: meanwhile stores BEFORE, the sums of the tile at ROW and
 * COL. */
template <class Element, bool N_MAJOR, class Shape, class Sum, int SUMS>
static __device__ __forceinline__ void multiply_tile(Worker<Shape> &worker, Sum (&now)[SUMS],
                                                     const Sum (&before)[SUMS], int row, int col) {
  const int steps = worker.work.steps;
  int step = 0;
  if (Shape::OVERLAP && steps >= Shape::PIECES) {
#pragma unroll
    for (int piece = 0; piece < Shape::PIECES; piece++) {
      multiply_step<Element, N_MAJOR>(worker, now, piece > 0);
      store_piece(worker, before, piece, row, col);
    }
    step = Shape::PIECES;
  } else if (Shape::OVERLAP) {
    store_tile(worker, before, row, col);
  }
  for (; step < steps; step++) multiply_step<Element, N_MAJOR>(worker, now, step > 0);
  wait_for_products<0>();
  pin(now);
  release_before(worker);
}

template <class Element, bool N_MAJOR, class Shape>
static __device__ __forceinline__ void multiply_tiles(const WgmmaWork &work,
                                                      WgmmaMemory<Shape> &memory) {
  typedef typename Types<Element>::Sum Sum;
  Worker<Shape> worker = {work, memory, (int)threadIdx.x / 128 - 1, {}};
  Sum even[Shape::SUMS];
  Tile<Shape> tile(work);
  if (!Shape::OVERLAP) {
    for (; tile.exists(work); tile.next(work)) {
      multiply_tile<Element, N_MAJOR>(worker, even, even, 0, 0);
      store_tile(worker, even, tile.row, tile.col);
    }
  } else {
    Sum odd[Shape::SUMS];
    int row = work.m, col = 0; /* there is nothing to store yet */
    while (true) {
      multiply_tile<Element, N_MAJOR>(worker, even, odd, row, col);
      row = tile.row, col = tile.col;
      tile.next(work);
      if (!tile.exists(work)) {
        store_tile(worker, even, row, col);
        break;
      }
      multiply_tile<Element, N_MAJOR>(worker, odd, even, row, col);
      row = tile.row, col = tile.col;
      tile.next(work);
      if (!tile.exists(work)) {
        store_tile(worker, odd, row, col);
        break;
      }
    }
  }
  if (threadIdx.x % 128 == 0) wait_for_bulk_reads<0>();
}

/* ---- both ---- */

template <class Shape>
static __device__ __forceinline__ void prepare(const WgmmaWork &work, WgmmaMemory<Shape> &memory) {
  if (threadIdx.x == 0) {
    prefetch_map(&work.a), prefetch_map(&work.b), prefetch_map(&work.c);
    for (int stage = 0; stage < Shape::STAGES; stage++) {
      init_barrier(&memory.full[stage], 1);
      init_barrier(&memory.empty[stage], Shape::WARPGROUPS * 4 * (Shape::DOWN + Shape::ACROSS - 1));
    }
    publish_barriers();
  }
  __syncthreads();
  if (Shape::CLUSTER > 1) synchronize_cluster();
}

template <class Element, bool N_MAJOR, class Shape>
__global__ void __launch_bounds__(Shape::THREADS, 1) wgmma(const __grid_constant__ WgmmaWork work) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char bytes[];
  WgmmaMemory<Shape> &memory = *reinterpret_cast<WgmmaMemory<Shape> *>(bytes);
  let_grids_begin();
  prepare<Shape>(work, memory);
  await_grids_before();
  if (threadIdx.x < 128) {
    if (Shape::LARGE) give_registers<Shape::LOADERS>();
    if (threadIdx.x == 0) load_tiles<Element, N_MAJOR, Shape>(work, memory);
    __syncwarp();
  } else {
    if (Shape::LARGE) take_registers<Shape::MULTIPLIERS>();
    multiply_tiles<Element, N_MAJOR, Shape>(work, memory);
  }
  if (Shape::CLUSTER > 1) synchronize_cluster(); /* others may still write or arrive here */
#endif
}

#endif
