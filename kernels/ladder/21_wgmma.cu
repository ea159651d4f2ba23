/* wgmma: C (+)= A B with Hopper's warpgroup instructions, fed by TMA.
 *
 * The idea: a warpgroup (four warps) multiplies a tile of 64 x 192 with one instruction that reads
 * both operands from shared memory and runs asynchronously.  Loading must not cost these warps
 * time, so one thread of a separate warpgroup issues loads of tiles of A and B by the tensor memory
 * accelerator (TMA), a ring of stages ahead; barriers count the bytes that have arrived and the
 * warps that have read them.  Two warpgroups multiply 128 x 192 elements of C, with two sets of
 * sums in registers that the loading warpgroup released.  Two neighbouring blocks form a cluster:
 * each loads half of their common columns of B for both.  Blocks are persistent and process tiles
 * in an order that suits the L2 cache; TMA also stores a tile of C through shared memory while the
 * next one is multiplied.  For C += A B the L2 cache, into which C was prefetched, performs the
 * additions.  (PTX ISA, "wgmma"; the warp-specialised, persistent kernels of CUTLASS 3)
 *
 * Adds to wgmma_simple: nobody waits for loads or stores, because others do them; clusters; all
 * types; tiles that fit C.
 *
 * What limits it: power.  Moving less data makes large products faster, waiting less does not.  TMA
 * needs 16-byte aligned rows: other operands are copied to scratch memory first, an unaligned C is
 * stored by elements.  For TF32 and i8 the instruction accepts B only by columns, so a B by rows is
 * transposed first.  Extents must be below 2^31.  TMA rounds f32 to TF32 on loading, to nearest
 * even, as cuBLAS does (numbers above the largest TF32 become infinite, subnormal ones 0).
 *
 * Read 20_wgmma_simple first.  Here, from top to bottom: a function for each instruction; tiles and
 * their order; the kernel; its loading thread; its multiplying warpgroups; how these store a tile;
 * the choice of a shape and the launch.  Products of residues and of split operands use all but the
 * launch, too. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/ladder/hopper.cuh"

namespace {

/* ---- instructions, a function for each: read on at "tiles" ----
 *
 * Products of a warpgroup: the names of their operands are long, so macros write them. */

/* Wgmma<Element, N>::add_product<N_MAJOR, M_MAJOR>(d, a, b, keep): D = A B + (keep ? D : 0).
 * N_MAJOR: rows of B run along n, M_MAJOR: those of A along m.  In thread t, d[4 i + 2 j + l] is
 * row 16 (t / 32) + t % 32 / 4 + 8 j, column 8 i + 2 (t % 4) + l. */
template <class Element, int N> struct Wgmma;

/* Names of register operands. */
#define DM_TEN(t)                                                                                  \
  "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define DM_FIFTY(a, b, c, d, e) DM_TEN(a) DM_TEN(b) DM_TEN(c) DM_TEN(d) DM_TEN(e)
#define DM_NAMES_32 DM_TEN() DM_TEN(1) DM_TEN(2) "%30,%31"
#define DM_NAMES_64 DM_FIFTY(, 1, 2, 3, 4) DM_TEN(5) "%60,%61,%62,%63"
#define DM_NAMES_96                                                                                \
  DM_FIFTY(, 1, 2, 3, 4) DM_TEN(5) DM_TEN(6) DM_TEN(7) DM_TEN(8) "%90,%91,%92,%93,%94,%95"
#define DM_NAMES_128                                                                               \
  DM_FIFTY(, 1, 2, 3, 4)                                                                           \
  DM_FIFTY(5, 6, 7, 8, 9) DM_TEN(10) DM_TEN(11) "%120,%121,%122,%123,%124,%125,%126,%127"
/* Constraints of D. */
#define DM_HOLD_4(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define DM_HOLD_16(c, i)                                                                           \
  DM_HOLD_4(c, i), DM_HOLD_4(c, i + 4), DM_HOLD_4(c, i + 8), DM_HOLD_4(c, i + 12)
#define DM_HOLD_32(c, i) DM_HOLD_16(c, i), DM_HOLD_16(c, i + 16)
#define DM_HOLD_64(c, i) DM_HOLD_32(c, i), DM_HOLD_32(c, i + 32)
#define DM_HOLD_96(c, i) DM_HOLD_64(c, i), DM_HOLD_32(c, i + 64)
#define DM_HOLD_128(c, i) DM_HOLD_64(c, i), DM_HOLD_64(c, i + 64)

#define DM_WGMMA(Element, Sum, n, count, a, b, keep, of_a, of_b, types, hold, scales)              \
  template <> struct Wgmma<Element, n> {                                                           \
    template <bool N_MAJOR, bool M_MAJOR>                                                          \
    static __device__ __forceinline__ void add_product(Sum (&d)[count], uint64_t tile_a,           \
                                                       uint64_t tile_b, int keep_sums) {           \
      asm volatile("{\n"                                                                           \
                   ".reg .pred keep;\n"                                                            \
                   "setp.ne.b32 keep, %" #keep ", 0;\n"                                            \
                   "wgmma.mma_async.sync.aligned.m64n" #n types " {" DM_NAMES_##count              \
                   "}, %" #a ", %" #b ", keep" scales(of_a, of_b) ";\n"                            \
                                                                  "}"                              \
                   : DM_HOLD_##count(hold, 0)                                                      \
                   : "l"(tile_a), "l"(tile_b), "r"(keep_sums), "n"(M_MAJOR ? 1 : 0),               \
                     "n"(N_MAJOR ? 1 : 0));                                                        \
    }                                                                                              \
  };

#define DM_WGMMA_SIZES(Element, Sum, types, hold, scales)                                          \
  DM_WGMMA(Element, Sum, 64, 32, 32, 33, 34, 35, 36, types, hold, scales)                          \
  DM_WGMMA(Element, Sum, 128, 64, 64, 65, 66, 67, 68, types, hold, scales)                         \
  DM_WGMMA(Element, Sum, 192, 96, 96, 97, 98, 99, 100, types, hold, scales)                        \
  DM_WGMMA(Element, Sum, 256, 128, 128, 129, 130, 131, 132, types, hold, scales)

/* Factors of A and B, and whether they are transposed. */
#define DM_SCALES_HALF(of_a, of_b) ", 1, 1, %" #of_a ", %" #of_b
#define DM_SCALES_TF32(of_a, of_b) ", 1, 1"
#define DM_SCALES_I8(of_a, of_b) ""

DM_WGMMA_SIZES(__nv_bfloat16, float, "k16.f32.bf16.bf16", "+f", DM_SCALES_HALF)
DM_WGMMA_SIZES(__half, float, "k16.f32.f16.f16", "+f", DM_SCALES_HALF)
DM_WGMMA_SIZES(float, float, "k8.f32.tf32.tf32", "+f", DM_SCALES_TF32)
DM_WGMMA_SIZES(int8_t, int32_t, "k32.s32.s8.s8", "+r", DM_SCALES_I8)

/* Clusters. */

__device__ __forceinline__ void synchronize_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}
__device__ __forceinline__ int rank_in_cluster() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/* Arrives at the corresponding barrier of block RANK of the cluster. */
__device__ __forceinline__ void arrive_at(uint64_t *barrier, int rank) {
  asm volatile("{\n"
               ".reg .b32 there;\n"
               "mapa.shared::cluster.u32 there, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
               "}" ::"r"(shared_address(barrier)),
               "r"(rank)
               : "memory");
}

/* load_box for each block of the cluster in the set of bits BLOCKS; each counts at its own barrier.
 */
__device__ __forceinline__ void load_box_for(int blocks, void *to, const CUtensorMap *map, int col,
                                             int row, uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
               "l"(map), "r"(col), "r"(row), "r"(shared_address(barrier)),
               "h"((unsigned short)blocks)
               : "memory");
}

/* Prefetches the box to the L2 cache. */
__device__ __forceinline__ void prefetch_box(const CUtensorMap *map, int col, int row) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(map),
               "r"(col), "r"(row)
               : "memory");
}

/* Stores the box, or adds it to global memory in the L2 cache, but for what is outside. */
__device__ __forceinline__ void store_box(const CUtensorMap *map, const void *from, int col,
                                          int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
      "r"(shared_address(from)), "r"(col), "r"(row)
      : "memory");
}
__device__ __forceinline__ void add_box(const CUtensorMap *map, const void *from, int col,
                                        int row) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "
               "[%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(col), "r"(row)
               : "memory");
}

/* Makes this thread's stores to shared memory visible to TMA. */
__device__ __forceinline__ void publish_to_bulk_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Stores are committed in groups. */
__device__ __forceinline__ void commit_bulk_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* Waits until all but the last PENDING groups of this thread have read shared memory. */
template <int PENDING> __device__ __forceinline__ void wait_for_bulk_reads() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

/* Synchronizes THREADS threads of the block, a multiple of 32, at named barrier ID. */
template <int THREADS> __device__ __forceinline__ void synchronize_threads(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(THREADS) : "memory");
}

/* Arrives at a barrier of this block. */
__device__ __forceinline__ void arrive(uint64_t *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

template <int COUNT> __device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> __device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

/* Grids of a stream may overlap: the next one starts its preparation once all blocks of this one
 * allow it, and then waits for the end of this one. */
__device__ __forceinline__ void let_grids_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ __forceinline__ void await_grids_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* Prefetches the map. */
__device__ __forceinline__ void prefetch_map(const CUtensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* ---- tiles ---- */

constexpr int GROUP = 8;                                 /* rows of clusters, see TileOrder */
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

/* ---- the kernel ---- */

template <class Shape>
__device__ __forceinline__ void prepare(const WgmmaWork &work, WgmmaMemory<Shape> &memory) {
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
__device__ __forceinline__ void load_tiles(const WgmmaWork &work, WgmmaMemory<Shape> &memory);
template <class Element, bool N_MAJOR, class Shape>
__device__ __forceinline__ void multiply_tiles(const WgmmaWork &work, WgmmaMemory<Shape> &memory);

/* One thread of the first warpgroup loads, the other warpgroups multiply and store. */
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

/* ---- loading: one thread ---- */

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
__device__ __forceinline__ void load_shared_box(void *to, const CUtensorMap *map, int col, int row,
                                                uint64_t *barrier) {
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
__device__ __forceinline__ void load_a(const CUtensorMap *a, char *tile, int row, int k,
                                       uint64_t *barrier) {
  const int part = rank_in_cluster() / Shape::DOWN * (Shape::BM / Shape::ACROSS);
  load_shared_box<Shape::ACROSS, Shape::DOWN>(tile + part * BOX_ROW, a, k, row + part, barrier);
}

/* Loads its part of the columns of B (of the rows, if these run along n), for all blocks in its
 * column of the cluster. */
template <class Element, bool N_MAJOR, class Shape>
__device__ __forceinline__ void load_b(const CUtensorMap *b, char *tile, int col, int k,
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
__device__ __forceinline__ void prefetch_c(const WgmmaWork &work, int row, int col, int step) {
  constexpr int DOWN = Shape::WARPGROUPS, BOXES = Shape::BN / C_BOX_COLS * DOWN;
  const int last = BOXES - (work.steps - 1 - step);
  for (int box = step == 0 ? 0 : last - 1; box < last; box++)
    if (box >= 0)
      prefetch_box(&work.c, col + box / DOWN * C_BOX_COLS, row + box % DOWN * C_BOX_ROWS);
}

template <class Element, bool N_MAJOR, class Shape>
__device__ __forceinline__ void load_tiles(const WgmmaWork &work, WgmmaMemory<Shape> &memory) {
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

/* ---- multiplying: a warpgroup ---- */

/* A warpgroup and its position in the ring. */
template <class Shape> struct Worker {
  const WgmmaWork &work;
  WgmmaMemory<Shape> &memory;
  int warpgroup;
  Ring<Shape::STAGES> ring;
};

/* The warp has read the stage: notifies the blocks that write to it, those in the same row or
 * column of the cluster. */
template <class Shape> __device__ __forceinline__ void release(uint64_t *empty) {
  const int lane = threadIdx.x % 32, rank = rank_in_cluster();
  if (Shape::CLUSTER == 1) {
    if (lane == 0) arrive(empty);
  } else {
    const bool same_row = lane % Shape::DOWN == rank % Shape::DOWN;
    const bool same_col = lane / Shape::DOWN == rank / Shape::DOWN;
    if (lane < Shape::CLUSTER && (same_row || same_col)) arrive_at(empty, lane);
  }
}

/* M_MAJOR: rows of A, in blocks of 64 columns, run along m. */
template <class Element, bool N_MAJOR, class Shape, bool M_MAJOR = false, class Sum>
__device__ __forceinline__ void multiply_stage(Sum (&d)[Shape::SUMS], const char *a, const char *b,
                                               bool keep) {
  constexpr int DEEP = 32 / (int)sizeof(Element); /* elements of k per instruction */
  constexpr int BLOCK = BOX_ROW / (int)sizeof(Element) * BOX_ROW; /* bytes, rows along n */
  const uint64_t a_tile = tile_descriptor(a, 8 * BOX_ROW, 16);
  const uint64_t b_tile = tile_descriptor(b, 8 * BOX_ROW, N_MAJOR ? BLOCK : 16);
  begin_products();
#pragma unroll
  for (int i = 0; i < BOX_ROW / 32; i++)
    Wgmma<Element, Shape::BN>::template add_product<N_MAJOR, M_MAJOR>(
        d, advance(a_tile, M_MAJOR ? i * DEEP * BOX_ROW : i * 32),
        advance(b_tile, N_MAJOR ? i * DEEP * BOX_ROW : i * 32), i > 0 || keep);
  commit_products();
}

/* Releases the stage before the current one. */
template <class Shape> __device__ __forceinline__ void release_before(const Worker<Shape> &worker) {
  const int stage = worker.ring.stage;
  release<Shape>(&worker.memory.empty[stage > 0 ? stage - 1 : Shape::STAGES - 1]);
}

/* Issues the products of a stage while those of the previous stage still run. */
template <class Element, bool N_MAJOR, bool M_MAJOR = false, class Shape, class Sum, int SUMS>
__device__ __forceinline__ void multiply_step(Worker<Shape> &worker, Sum (&d)[SUMS], bool keep) {
  const int stage = worker.ring.stage;
  wait(&worker.memory.full[stage], worker.ring.parity);
  multiply_stage<Element, N_MAJOR, Shape, M_MAJOR>(
      d, worker.memory.a[stage] + worker.warpgroup * C_BOX_ROWS * BOX_ROW, worker.memory.b[stage],
      keep);
  wait_for_products<1>();
  if (keep) release_before(worker);
  worker.ring.next();
}

template <class Shape, class Sum>
__device__ __forceinline__ void
store_piece(const Worker<Shape> &worker, const Sum (&d)[Shape::SUMS], int piece, int row, int col);
template <class Shape, class Sum>
__device__ __forceinline__ void store_tile(const Worker<Shape> &worker, const Sum (&d)[Shape::SUMS],
                                           int row, int col);

/* NOW = the sums of a tile.  OVERLAP: meanwhile stores BEFORE, the sums of the tile at ROW and
 * COL. */
template <class Element, bool N_MAJOR, class Shape, class Sum, int SUMS>
__device__ __forceinline__ void multiply_tile(Worker<Shape> &worker, Sum (&now)[SUMS],
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
__device__ __forceinline__ void multiply_tiles(const WgmmaWork &work, WgmmaMemory<Shape> &memory) {
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

/* ---- storing a tile through shared memory, in boxes of 64 x 32 ---- */

/* Writes 32 columns of the sums as a box.  The 16 lanes that store at once cover four rows; those
 * of odd rows start with the right half, so that they access different banks. */
template <class Sum> __device__ __forceinline__ void write_box(char *box, const Sum *d) {
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

__device__ __forceinline__ float add(float x, float y) {
  return x + y;
}
__device__ __forceinline__ int32_t add(int32_t x, int32_t y) { /* wraps */
  return (int32_t)((uint32_t)x + (uint32_t)y);
}

/* Stores the box to C where TMA, which writes 16 bytes at once, cannot.  C += A B does not use
 * atomic additions, because unlike those of TMA they flush subnormal numbers to 0. */
template <class Sum>
__device__ __forceinline__ void store_elements(const WgmmaWork &work, const char *box, int row,
                                               int col) {
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
__device__ __forceinline__ void
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
__device__ __forceinline__ void store_tile(const Worker<Shape> &worker, const Sum (&d)[Shape::SUMS],
                                           int row, int col) {
#pragma unroll
  for (int piece = 0; piece < Shape::PIECES; piece++) store_piece(worker, d, piece, row, col);
}

/* ---- launching ---- */

/* Launches KERNEL(WORK) with BYTES of shared memory for TILES, of which a cluster computes one at
 * once.  Uses only as many clusters as the number of rounds needs: more would only draw power. */
template <class Shape, class Work>
cudaError_t launch_clusters(void (*kernel)(const Work), const Work &work, int64_t tiles, int bytes,
                            int processors, cudaStream_t stream) {
  const cudaError_t refused =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (refused != cudaSuccess) return refused;
  const int most = processors / Shape::CLUSTER;
  const int64_t rounds = divide_up(tiles, most < 1 ? 1 : most);
  const int clusters = (int)divide_up(tiles, rounds);
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {Shape::CLUSTER, 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  const cudaLaunchConfig_t config = {
      dim3(clusters * Shape::CLUSTER), dim3(Shape::THREADS), (size_t)bytes, stream, attributes, 2};
  return cudaLaunchKernelEx(&config, kernel, work);
}

/* Time for all tiles of C, if one takes ONE: a partial last round counts as full. */
template <class Shape, class M> int64_t time_of(const M &c, int processors, int one) {
  const int64_t tiles =
      divide_up(c.rows, Shape::BM * Shape::DOWN) * divide_up(c.cols, Shape::BN * Shape::ACROSS);
  const int at_once = processors / Shape::CLUSTER;
  return divide_up(tiles, at_once < 1 ? 1 : at_once) * one;
}

#ifndef DM_WGMMA_DEVICE_PART /* residues and split have their own launchers */

template <class Sum> cudaError_t map_c(WgmmaWork *work, const dm_gemm_matrix &c) {
  work->c_base = c.base, work->c_stride = c.row_stride;
  work->c_boxes = rows_are_aligned(c, sizeof(Sum));
  if (!work->c_boxes) return cudaSuccess;
  const CUtensorMapDataType type = std::is_same<Sum, float>::value ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                                                   : CU_TENSOR_MAP_DATA_TYPE_INT32;
  return dm_tensor_map(&work->c, type, sizeof(Sum), c.base, c.rows, c.cols, c.row_stride,
                       C_BOX_ROWS);
}

template <class Element, bool N_MAJOR, class Shape>
cudaError_t launch_mapped(const dm_gemm *p, CUtensorMapDataType type) {
  constexpr int SIZE = sizeof(Element);
  const dm_gemm_matrix &a = p->a, &b = p->b;
  WgmmaWork work;
  work.m = (int)p->c.rows, work.n = (int)p->c.cols;
  work.steps = (int)divide_up(a.cols * SIZE, BOX_ROW);
  work.accumulate = p->accumulate;
  work.order = {(int)divide_up(p->c.rows, Shape::BM * Shape::DOWN),
                (int)divide_up(p->c.cols, Shape::BN * Shape::ACROSS), GROUP};
  cudaError_t error = dm_tensor_map(&work.a, type, SIZE, a.base, a.rows, a.cols, a.row_stride,
                                    Shape::BM / Shape::ACROSS);
  if (error != cudaSuccess) return error;
  error = N_MAJOR ? dm_tensor_map(&work.b, type, SIZE, b.base, b.rows, b.cols, b.row_stride,
                                  BOX_ROW / SIZE / Shape::DOWN)
                  : dm_tensor_map(&work.b, type, SIZE, b.base, b.cols, b.rows, b.col_stride,
                                  Shape::BN / Shape::DOWN);
  if (error == cudaSuccess) error = map_c<typename Types<Element>::Sum>(&work, p->c);
  if (error != cudaSuccess) return error;
  return launch_clusters<Shape>(wgmma<Element, N_MAJOR, Shape>, work, work.order.count(),
                                (int)sizeof(WgmmaMemory<Shape>), p->processors, p->stream);
}

typedef CUtensorMapDataType Type;
template <class Element, class Shape> cudaError_t launch(const dm_gemm *product, Type type) {
  if constexpr (sizeof(Element) == 2)
    if (!runs_along_k(product->b)) return launch_mapped<Element, true, Shape>(product, type);
  return launch_mapped<Element, false, Shape>(product, type);
}

typedef WgmmaShape<2, 192, 5, 2, 1, 1, 1, true> Steady;  /* stores C during the next tile */
typedef WgmmaShape<2, 256, 4, 2, 1, 2, 1, false> Widest; /* least traffic */
typedef WgmmaShape<2, 128, 4, 1, 1, 4, 4, false> Medium;
typedef WgmmaShape<1, 128, 8, 1, 1, 4, 4, false> Small;
typedef WgmmaShape<1, 64, 8, 1, 1, 2, 2, false> Smallest;

/* Launches the shape with the least total time, from measured times of a step along k.  The sums of
 * an element are the same with all shapes. */
template <class Element> cudaError_t launch_fitting(const dm_gemm *p, Type type) {
  const struct {
    int64_t time;
    cudaError_t (*launch)(const dm_gemm *, Type);
  } choices[] = {{time_of<Steady>(p->c, p->processors, 74), launch<Element, Steady>},
                 {time_of<Widest>(p->c, p->processors, 100), launch<Element, Widest>},
                 {time_of<Medium>(p->c, p->processors, 52), launch<Element, Medium>},
                 {time_of<Small>(p->c, p->processors, 35), launch<Element, Small>},
                 {time_of<Smallest>(p->c, p->processors, 26), launch<Element, Smallest>}};
  int best = 0;
  for (int i = 1; i < 5; i++)
    if (choices[i].time < choices[best].time) best = i;
  return choices[best].launch(p, type);
}

} // namespace

extern "C" cudaError_t dm_kernels_wgmma(const dm_gemm *product) {
  dm_gemm p = *product;
  Type type;
  if (p.c.rows > INT32_MAX || p.c.cols > INT32_MAX || p.a.cols > INT32_MAX)
    return cudaErrorInvalidValue;
  const cudaError_t error = dm_prepare_for_tma(&p, &type);
  if (error != cudaSuccess) return error;
  switch (type) {
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    return launch_fitting<__half>(&p, type);
  case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    return launch_fitting<__nv_bfloat16>(&p, type);
  case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: /* rounds */
    return launch_fitting<float>(&p, type);
  default:
    return launch_fitting<int8_t>(&p, type);
  }
}

#else

} // namespace

#endif
