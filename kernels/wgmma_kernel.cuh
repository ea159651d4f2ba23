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

/* The tiles of a block, one after the other.  The ranks of a cluster run down. */
template <class Shape> struct Tile {
  int index, row, col; /* of its corner */

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

/* Its part of the columns of B, to the blocks above and below; where rows run along n, its part of
 * those rows. */
template <class Element, bool N_MAJOR, class Shape>
static __device__ __forceinline__ void load_b(const WgmmaWork &work, char *tile, int col, int k,
                                              uint64_t *barrier) {
  constexpr int COLS = BOX_ROW / (int)sizeof(Element); /* of a box of rows along n */
  const int rank = rank_in_cluster() % Shape::DOWN;
  if (!N_MAJOR) {
    const int part = rank * (Shape::BN / Shape::DOWN);
    load_shared_box<Shape::DOWN, 1>(tile + part * BOX_ROW, &work.b, k, col + part, barrier);
    return;
  }
  const int part = rank * (COLS / Shape::DOWN);
#pragma unroll
  for (int j = 0; j < Shape::BN; j += COLS)
    load_shared_box<Shape::DOWN, 1>(tile + (j + part) * BOX_ROW, &work.b, col + j, k + part,
                                    barrier);
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
  for (Tile<Shape> tile(work); tile.exists(work); tile.next(work))
    for (int step = 0; step < work.steps; step++, ring.next()) {
      uint64_t *full = &memory.full[ring.stage];
      wait(&memory.empty[ring.stage], ring.parity ^ 1);
      arrive_expecting(full, Shape::A_BYTES + Shape::B_BYTES);
      load_a<Shape>(work, memory.a[ring.stage], tile.row, step * BK, full);
      load_b<Element, N_MAJOR, Shape>(work, memory.b[ring.stage], tile.col, step * BK, full);
      if (work.accumulate && work.c_boxes) prefetch_c<Shape>(work, tile.row, tile.col, step);
    }
}

/* ---- multiplying: a warpgroup ---- */

/* A warpgroup and its place in the ring. */
template <class Shape> struct Worker {
  const WgmmaWork &work;
  WgmmaMemory<Shape> &memory;
  int warpgroup;
  Ring<Shape::STAGES> ring;
};

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

/* Piece PIECE of the tile at ROW and COL; one thread asks the engine. */
template <class Shape, class Sum>
static __device__ __forceinline__ void
store_piece(const Worker<Shape> &worker, const Sum (&d)[Shape::SUMS], int piece, int row, int col) {
  constexpr int BATCH = Shape::BATCH, SETS = Shape::BUFFERS / BATCH;
  const WgmmaWork &work = worker.work;
  const bool asks = threadIdx.x % 128 == 0;
  row += worker.warpgroup * C_BOX_ROWS, col += piece * BATCH * C_BOX_COLS;
  if (row >= work.m || col >= work.n) return;
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

/* ---- tile after tile ---- */

/* The stage before the present one. */
template <class Shape>
static __device__ __forceinline__ void release_before(const Worker<Shape> &worker) {
  const int stage = worker.ring.stage;
  release<Shape>(&worker.memory.empty[stage > 0 ? stage - 1 : Shape::STAGES - 1]);
}

/* The products of a stage are posted before those of the stage before are done. */
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

/* NOW = the sums of a tile.  OVERLAP: BEFORE, those of the tile at ROW and COL, are stored in the
 * meantime. */
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
