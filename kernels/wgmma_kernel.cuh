/* wgmma_kernel: what wgmma.cu launches.  One warpgroup of a block loads, the others multiply; they
 * meet at the barriers of a ring of stages. */
#ifndef DM_KERNELS_WGMMA_KERNEL_CUH
#define DM_KERNELS_WGMMA_KERNEL_CUH

#include "kernels/bulk_copy.cuh"
#include "kernels/number.cuh"
#include "kernels/wgmma_instruction.cuh"
#include "kernels/wgmma_tile.cuh"

template <int COUNT> static __device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> static __device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

/* Grids of the same stream may overlap: the next one begins to prepare itself when all blocks have
 * said so, and it waits for the end of this one. */
static __device__ __forceinline__ void let_grids_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
static __device__ __forceinline__ void await_grids_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* FUNCTION with the corner of every tile of this block.  The ranks of a cluster run down. */
template <class Shape, class Function>
static __device__ __forceinline__ void for_each_tile(const WgmmaWork &work, Function function) {
  const int tiles = work.order.count(), clusters = gridDim.x / Shape::CLUSTER;
  const int down = rank_in_cluster() % Shape::DOWN, across = rank_in_cluster() / Shape::DOWN;
  for (int tile = blockIdx.x / Shape::CLUSTER; tile < tiles; tile += clusters) {
    int row, col;
    work.order.find(tile, &row, &col);
    function((row * Shape::DOWN + down) * Shape::BM, (col * Shape::ACROSS + across) * Shape::BN);
  }
}

/* ---- loading: one thread ---- */

/* COUNT blocks of the cluster, STEP ranks apart, one of them this block, get the box. */
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

/* This block's part of the rows of A goes to the blocks beside it. */
template <class Shape>
static __device__ __forceinline__ void load_a(const WgmmaWork &work, char *tile, int row, int k,
                                              uint64_t *barrier) {
  const int part = rank_in_cluster() / Shape::DOWN * (Shape::BM / Shape::ACROSS);
  load_shared_box<Shape::ACROSS, Shape::DOWN>(tile + part * BOX_ROW, &work.a, k, row + part,
                                              barrier);
}

/* Its part of the columns of B, to the blocks above and below. */
template <class Element, bool N_MAJOR, class Shape>
static __device__ __forceinline__ void load_b(const WgmmaWork &work, char *tile, int col, int k,
                                              uint64_t *barrier) {
  constexpr int PART = Shape::BN / Shape::DOWN;
  constexpr int COLS = N_MAJOR ? BOX_ROW / (int)sizeof(Element) : PART; /* of a box */
  static_assert(PART % COLS == 0, "whole boxes");
  const int part = rank_in_cluster() % Shape::DOWN * PART;
#pragma unroll
  for (int j = part; j < part + PART; j += COLS)
    load_shared_box<Shape::DOWN, 1>(tile + j * BOX_ROW, &work.b, N_MAJOR ? col + j : k,
                                    N_MAJOR ? k : col + j, barrier);
}

/* C is fetched into the L2 cache, a box with each of the last steps, before sums are added there:
 * all blocks add at about the same time, more than memory could deliver. */
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
  for_each_tile<Shape>(work, [&](int row, int col) {
    for (int step = 0; step < work.steps; step++, ring.next()) {
      uint64_t *full = &memory.full[ring.stage];
      wait(&memory.empty[ring.stage], ring.parity ^ 1);
      arrive_expecting(full, Shape::A_BYTES + Shape::B_BYTES);
      load_a<Shape>(work, memory.a[ring.stage], row, step * BK, full);
      load_b<Element, N_MAJOR, Shape>(work, memory.b[ring.stage], col, step * BK, full);
      if (Shape::PREFETCH && work.accumulate && work.c_boxes)
        prefetch_c<Shape>(work, row, col, step);
    }
  });
}

/* ---- multiplying: a warpgroup ---- */

/* The warp has read the stage: the blocks that write into it, those beside, above and below, must
 * know. */
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
  constexpr int DEEP = 32 / (int)sizeof(Element);                 /* of an instruction */
  constexpr int BLOCK = BOX_ROW / (int)sizeof(Element) * BOX_ROW; /* of rows along n */
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

/* One tile: the products of a stage are posted before those of the stage before are done. */
template <class Element, bool N_MAJOR, class Shape, class Sum>
static __device__ __forceinline__ void
multiply_tile(Sum (&d)[Shape::SUMS], int steps, WgmmaMemory<Shape> &memory,
              Ring<Shape::STAGES> &ring, int warpgroup, bool &skew) {
  int before = 0;
  for (int step = 0; step < steps; step++, ring.next()) {
    wait(&memory.full[ring.stage], ring.parity);
    multiply_stage<Element, N_MAJOR, Shape>(
        d, memory.a[ring.stage] + warpgroup * C_BOX_ROWS * BOX_ROW, memory.b[ring.stage], step > 0);
    wait_for_products<Shape::DEPTH>();
    if (Shape::DEPTH == 0) release<Shape>(&memory.empty[ring.stage]);
    if (Shape::DEPTH == 1 && step > 0) release<Shape>(&memory.empty[before]);
    before = ring.stage;
    if (Shape::SKEW > 0 && skew && step + 1 == Shape::SKEW) {
      asm volatile("bar.arrive 7, 256;" ::: "memory");
      skew = false;
    }
  }
  if (Shape::SKEW > 0 && skew) {
    asm volatile("bar.arrive 7, 256;" ::: "memory");
    skew = false;
  }
  wait_for_products<0>();
  pin(d);
  if (Shape::DEPTH == 1) release<Shape>(&memory.empty[before]);
}

/* ---- storing: a warpgroup ---- */

/* 32 columns of the sums as a box.  The 16 lanes that store at a time have rows of four kinds, of
 * which the odd ones begin with the right half: so they meet all banks. */
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

/* The box goes to C where the copy engine cannot bring it: it writes 16 bytes at a time.  A sum is
 * added where the engine would add it, so that its bits are the same. */
template <class Sum>
static __device__ __forceinline__ void store_elements(const WgmmaWork &work, const char *box,
                                                      int row, int col) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  if (col + lane >= work.n) return;
  Sum *c = static_cast<Sum *>(work.c_base) + col + lane;
#pragma unroll 4
  for (int i = warp; i < C_BOX_ROWS; i += 4) {
    const Sum sum =
        *reinterpret_cast<const Sum *>(box + i * BOX_ROW + (lane / 4 ^ i % 8) * 16 + lane % 4 * 4);
    Sum *at = c + (row + i) * work.c_stride;
    if (row + i >= work.m) break;
    if (work.accumulate)
      atomicAdd(at, sum);
    else
      *at = sum;
  }
}

template <class Shape, class Sum>
static __device__ __forceinline__ void
store_tile(const WgmmaWork &work, const Sum (&d)[Shape::SUMS],
           char (*buffers)[C_BOX_ROWS * BOX_ROW], int row, int col, int warpgroup) {
  const bool asks = threadIdx.x % 128 == 0;
#pragma unroll
  for (int box = 0; box < Shape::BN / C_BOX_COLS; box++) {
    if (row >= work.m || col + box * C_BOX_COLS >= work.n) break;
    char *buffer = buffers[box % Shape::BUFFERS];
    if (asks) wait_for_bulk_reads<Shape::BUFFERS - 1>();
    synchronize_threads<128>(1 + warpgroup);
    write_box(buffer, d + box * (C_BOX_COLS / 2));
    publish_to_bulk_copies();
    synchronize_threads<128>(1 + warpgroup);
    const bool whole = work.n % 4 == 0 || col + (box + 1) * C_BOX_COLS <= work.n;
    if (!work.c_boxes || !whole) {
      store_elements<Sum>(work, buffer, row, col + box * C_BOX_COLS);
    } else if (asks) {
      if (work.accumulate)
        add_box(&work.c, buffer, col + box * C_BOX_COLS, row);
      else
        store_box(&work.c, buffer, col + box * C_BOX_COLS, row);
      commit_bulk_stores();
    }
  }
}

template <class Element, bool N_MAJOR, class Shape>
static __device__ __forceinline__ void multiply_tiles(const WgmmaWork &work,
                                                      WgmmaMemory<Shape> &memory) {
  typedef typename Types<Element>::Sum Sum;
  const int warpgroup = threadIdx.x / 128 - 1;
  Ring<Shape::STAGES> ring;
  bool skew = Shape::SKEW > 0 && warpgroup == 0;
  if (Shape::SKEW > 0 && warpgroup == 1) asm volatile("bar.sync 7, 256;" ::: "memory");
  for_each_tile<Shape>(work, [&](int row, int col) {
    Sum d[Shape::SUMS];
    multiply_tile<Element, N_MAJOR, Shape>(d, work.steps, memory, ring, warpgroup, skew);
    store_tile<Shape>(work, d, memory.c[warpgroup], row + warpgroup * C_BOX_ROWS, col, warpgroup);
  });
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
  prepare<Shape>(work, memory);
  await_grids_before();
  let_grids_begin();
  if (threadIdx.x < 128) {
    if (Shape::LARGE) give_registers<40>();
    if (threadIdx.x == 0) load_tiles<Element, N_MAJOR, Shape>(work, memory);
    __syncwarp();
  } else {
    if (Shape::LARGE) take_registers<232>();
    multiply_tiles<Element, N_MAJOR, Shape>(work, memory);
  }
  if (Shape::CLUSTER > 1) synchronize_cluster(); /* others may still write or arrive here */
#endif
}

#endif
