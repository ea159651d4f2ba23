/* mma_f64: C (+)= A B with mma.sync for f64: the f64 part of the rung mma.
 *
 * The idea: at the rate of this instruction, shared memory is no bottleneck (a warp's tile of
 * 64 x 32 reads 48 of 128 bytes per clock); the instruction must only never wait for operands.  A
 * warp loads the fragments of the next step while it multiplies those of the current one, across
 * stages too, and copies part of a later stage between steps.  Barriers that count arrivals guard
 * the stages; a warp tests them half a stage before it needs the result, so all warps never wait at
 * once, unlike with __syncthreads.  (PTX ISA, "mma" and "mbarrier")
 *
 * Adds to warp_tile: the instruction and its register layout.  16-byte pieces in shared memory are
 * swizzled instead of padded, and rows and columns of C are assigned to fragments such that there
 * are no bank conflicts.  Rows not aligned to 16 bytes are copied in pieces of 8 bytes.  Sums form
 * the same chains as on CUDA cores, bit for bit.
 *
 * What limits it: the peak of the tensor cores, 67 TFLOP/s, and the power limit; it is as fast as
 * cuBLAS, and rows not aligned to 16 bytes cost 4 %.  k is never split, so products with few tiles
 * leave multiprocessors idle: 64 x 64 x 8192 takes ten times as long as with cuBLAS, which splits
 * k. */
#include "kernels/ladder/async_copy.cuh"

/* The block's tile of C, the warp's tile, and the resident blocks per multiprocessor. */
template <int BM_, int BN_, int WM_, int WN_, int BLOCKS_> struct DoubleTiling {
  static constexpr int BM = BM_, BN = BN_, BK = 16, WM = WM_, WN = WN_, BLOCKS = BLOCKS_;
  static constexpr int ACROSS = BN / WN, THREADS = BM / WM * ACROSS * 32;
  static constexpr int GROUP = 8; /* rows of tiles that run together */
  static constexpr int ROW = BK * 8, A_BYTES = BM * ROW, BYTES = A_BYTES + BN * ROW;
  static constexpr int M = WM / 16, N = WN / 8; /* instructions per 8 of k and warp's tile */
  static constexpr int STEPS = BK / 8 * M;      /* steps of N instructions each */
  static_assert(N % 2 == 0, "columns come in panels of 16");
  static_assert(THREADS % 128 == 0, "a thread's copies lie in the same place of their rows");
};

namespace {

/* ---- the ring: stages in shared memory that all threads of a block fill by asynchronous copies
 * and all warps read in sequence, guarded by barriers that count arrivals (mbarrier, since Ampere).
 * Unlike with __syncthreads, no warp waits for one that lags slightly behind.
 *
 * Every stage has two barriers: FILLED, at which each thread's copies arrive, and READ, at which
 * each warp arrives.  A thread waits for the end of the phase with a given parity; in a new
 * barrier, the phase of parity 1 counts as over.  Addresses are in shared memory. */

/* Bytes of barriers per stage. */
constexpr int RING_BARRIERS = 16;

struct Ring {
  unsigned stages, barriers; /* start addresses */
  int count, bytes;          /* number of stages, bytes per stage */

  __device__ __forceinline__ unsigned stage(int slot) const {
    return stages + slot * bytes;
  }
  __device__ __forceinline__ unsigned filled(int slot) const {
    return barriers + slot * RING_BARRIERS;
  }
  __device__ __forceinline__ unsigned read(int slot) const {
    return filled(slot) + RING_BARRIERS / 2;
  }
};

/* A stage, and the parity of its phase. */
struct RingPlace {
  int slot, parity;

  __device__ __forceinline__ RingPlace next(int count) const {
    return slot + 1 == count ? RingPlace{0, parity ^ 1} : RingPlace{slot + 1, parity};
  }
};

/* Creates a ring of COUNT stages in MEMORY; synchronizes the block. */
__device__ __forceinline__ Ring make_ring(void *memory, int count, int bytes) {
  const unsigned begin = (unsigned)__cvta_generic_to_shared(memory);
  Ring ring = {begin, begin + count * bytes, count, bytes};
  if (threadIdx.x == 0)
    for (int slot = 0; slot < count; slot++) {
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(ring.filled(slot)), "r"(blockDim.x)
                   : "memory");
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(ring.read(slot)), "r"(blockDim.x / 32)
                   : "memory");
    }
  __syncthreads();
  asm volatile("" : "+r"(ring.stages)); /* keeps it in a register: recomputing it is slow */
  return ring;
}

/* Whether the phase of PARITY is over. */
__device__ __forceinline__ bool phase_over(unsigned barrier, int parity) {
  int over;
#if __CUDA_ARCH__ >= 900
#define DM_TEST "mbarrier.try_wait" /* waits for a limited time */
#else
#define DM_TEST "mbarrier.test_wait"
#endif
  asm volatile("{\n"
               ".reg .pred over;\n" DM_TEST ".parity.shared.b64 over, [%1], %2;\n"
               "selp.b32 %0, 1, 0, over;\n"
               "}"
               : "=r"(over)
               : "r"(barrier), "r"(parity)
               : "memory");
#undef DM_TEST
  return over;
}

/* Waits for the end of the phase, unless it is known to be OVER. */
__device__ __forceinline__ void await_phase(unsigned barrier, int parity, bool over = false) {
  while (!over) over = phase_over(barrier, parity);
}

/* Arrives for this thread once all its copies so far are complete. */
__device__ __forceinline__ void arrive_after_copies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

/* Arrives once for the whole warp. */
__device__ __forceinline__ void arrive_as_warp(unsigned barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    asm volatile("{\n"
                 ".reg .b64 state;\n"
                 "mbarrier.arrive.shared.b64 state, [%0];\n"
                 "}" ::"r"(barrier)
                 : "memory");
}

/* ---- a stage, the instruction, copies, fragments ----
 *
 * A stage holds 16 of k: the rows of A, and B in panels of 16 columns; each row of either has 128
 * bytes in 8 pieces.  Piece p of row r is stored at p ^ r % 8.  The lane with g = lane / 4 and t =
 * lane % 4 supplies A(g, t) and B(t, g) to the instruction.  To let 16 lanes access 16 different
 * banks, fragment row g of A is row 2g of 16, and the odd rows form the second half; fragment
 * columns 2t and 2t + 1 of B are the columns of piece t / 2 + 4 (t % 2), or two pieces further in
 * the second fragment of a panel.  C is stored accordingly; the order of k is unchanged. */

struct alignas(16) Pair {
  double at[2];
};
__device__ __forceinline__ Pair &pair_at(double *p) {
  return *reinterpret_cast<Pair *>(p);
}
__device__ __forceinline__ const Pair &pair_at(const double *p) {
  return *reinterpret_cast<const Pair *>(p);
}

/* Whether the rows of each matrix are aligned to 16 bytes. */
struct Wide {
  bool a, b, c;
};

/* c += a b, 16 x 8 with 8 of k; on Ampere in pieces of 8 x 8 x 4 of the same fragments.  In both
 * cases each sum is a chain of fused multiply-adds over ascending k (tested on an H200 with both
 * instructions). */
__device__ __forceinline__ void multiply_fragments(double (&c)[4], const double (&a)[4],
                                                   const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
  for (int i = 0; i < 4; i++)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[i % 2 * 2]), "+d"(c[i % 2 * 2 + 1])
                 : "d"(a[i]), "d"(b[i / 2]));
#endif
}

/* How to copy: complete tiles in pieces of 16 bytes or in halves of pieces; otherwise with checks,
 * and elements outside of the matrices become 0. */
enum DoubleCare { DOUBLE_PIECES, DOUBLE_HALVES, DOUBLE_CHECKED };

/* The copies of one thread: the same piece in every A_STEP-th row of A, and in one row of every
 * B_STEP / 16-th panel of B. */
template <class Shape> class DoubleCopier {
public:
  static constexpr int A_STEP = Shape::THREADS / 8, A_COUNT = Shape::BM / A_STEP;
  static constexpr int B_STEP = Shape::THREADS / 8, B_COUNT = Shape::BN / B_STEP; /* columns */
  static constexpr int COUNT = A_COUNT + B_COUNT;

  __device__ __forceinline__ DoubleCopier(const Product<double> &p, Wide wide_, Corner corner)
      : nothing(p.a.base), a_stride(p.a.stride), b_stride(p.b.stride), k_left(p.a.cols),
        wide(wide_) {
    const int piece = threadIdx.x % 8, row = threadIdx.x / 8, panel = row / 16 * 16;
    const int64_t b_col = corner.col + panel + piece * 2;
    a_left = (int)max((int64_t)0, min(p.a.rows - corner.row - row, (int64_t)Shape::BM));
    b_left = (int)max((int64_t)0, min(p.b.cols - b_col, (int64_t)Shape::BN));
    a_next = a_from = &p.a.at(a_left > 0 ? corner.row + row : 0, piece * 2);
    b_from = &p.b.at(row % 16, b_left > 0 ? b_col : 0);
    a_to = row * Shape::ROW + (piece ^ (row % 8)) * 16;
    b_to = Shape::A_BYTES + panel * Shape::ROW + row % 16 * Shape::ROW + (piece ^ (row % 8)) * 16;
  }

  /* Issues part PART of PARTS of the copies to STAGE; the parts must be issued in order. */
  template <int PARTS, DoubleCare CARE>
  __device__ __forceinline__ void copy(unsigned stage, int part) {
    const int piece = threadIdx.x % 8, b_row = threadIdx.x / 8 % 16;
#pragma unroll
    for (int i = COUNT * part / PARTS; i < COUNT * (part + 1) / PARTS; i++) {
      if (i < A_COUNT) {
        const int valid = i * A_STEP < a_left ? here() - piece * 2 : 0;
        move<CARE>(stage + a_to + i * A_STEP * Shape::ROW, a_next, valid, wide.a);
        a_next += A_STEP * a_stride;
      } else {
        const int col = (i - A_COUNT) * B_STEP;
        const int valid = b_row < here() ? b_left - col : 0;
        move<CARE>(stage + b_to + col * Shape::ROW, b_from + col, valid, wide.b);
      }
    }
  }

  /* Moves to the next 16 of k. */
  __device__ __forceinline__ void advance() {
    a_next = a_from += Shape::BK;
    b_from += Shape::BK * b_stride;
    k_left -= Shape::BK;
  }

  /* The cheapest way that is correct for complete stages. */
  __device__ __forceinline__ DoubleCare care(const Product<double> &p, Corner corner) const {
    if (corner.row + Shape::BM > p.a.rows || corner.col + Shape::BN > p.b.cols)
      return DOUBLE_CHECKED;
    return wide.a && wide.b ? DOUBLE_PIECES : DOUBLE_HALVES;
  }

private:
  const double *nothing; /* a valid address for copies that read nothing */
  const double *a_from, *a_next, *b_from;
  int64_t a_stride, b_stride, k_left;
  unsigned a_to, b_to;
  int a_left, b_left; /* rows of A, columns of B from this thread's first on */
  Wide wide;

  __device__ __forceinline__ int here() const {
    return (int)min(k_left, (int64_t)Shape::BK);
  }

  /* Copies the first VALID of two elements. */
  template <DoubleCare CARE>
  __device__ __forceinline__ void move(unsigned to, const double *from, int valid, bool whole) {
    if (CARE == DOUBLE_PIECES) {
      copy_vector_async(to, from, 16);
    } else if (CARE == DOUBLE_HALVES) {
      copy_async_or_zero<8>(to, from, true);
      copy_async_or_zero<8>(to + 8, from + 1, true);
    } else if (whole) {
      copy_vector_async(to, valid > 0 ? from : nothing, 8 * max(0, min(valid, 2)));
    } else {
      copy_async_or_zero<8>(to, valid > 0 ? from : nothing, valid > 0);
      copy_async_or_zero<8>(to + 8, valid > 1 ? from + 1 : nothing, valid > 1);
    }
  }
};

/* The fragments of a step and of the next. */
template <class Shape> struct DoubleFragments {
  double a[2][4];
  double b[2][Shape::N][2]; /* for M steps each */

  __device__ __forceinline__ DoubleFragments() {
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int row = warp / Shape::ACROSS * Shape::WM + 2 * g;
    const int col = warp % Shape::ACROSS * Shape::WN, piece = g / 4 + g / 2 % 2 * 4;
    a_at = row * Shape::ROW + ((t / 2) ^ (row % 8)) * 16 + t % 2 * 8;
    b_at = Shape::A_BYTES + (col + t) * Shape::ROW + (piece ^ t) * 16 + g % 2 * 8;
  }

  /* Load the fragments of step STEP from STAGE: 16 rows of A, 8 columns of B; k and k + 4. */
  __device__ __forceinline__ void load_a(unsigned stage, int step) {
    const int i = step % Shape::M, half = step / Shape::M; /* half of k */
#pragma unroll
    for (int e = 0; e < 4; e++) { /* odd e: odd rows */
      const unsigned turned = a_at ^ (half * 64 + e / 2 * 32 + e % 2 * 16);
      a[step % 2][e] = load(stage + turned + (i * 16 + e % 2) * Shape::ROW);
    }
  }
  __device__ __forceinline__ void load_b(unsigned stage, int step, int n) {
    const int half = step / Shape::M;
#pragma unroll
    for (int e = 0; e < 2; e++) {
      const unsigned turned = b_at ^ (e * 64 + n % 2 * 32);
      b[half][n][e] = load(stage + turned + (n / 2 * 16 + half * 8 + e * 4) * Shape::ROW);
    }
  }

private:
  unsigned a_at, b_at; /* this lane's offsets in a stage */

  static __device__ __forceinline__ double load(unsigned from) {
    double value;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(from));
    return value;
  }
};

/* ---- the kernel ---- */

/* Large tiles need the least bandwidth, but registers suffice for only one block; two smaller
 * blocks hide each other's prologue and epilogue, which matter if k is short. */
struct Large : DoubleTiling<128, 128, 64, 32, 1> {};
struct Medium : DoubleTiling<128, 64, 64, 32, 2> {};
struct Small : DoubleTiling<32, 64, 16, 32, 3> {};
struct Quarter : DoubleTiling<64, 64, 32, 16, 1> {}; /* a quarter of a large tile */

constexpr int LAG = 2;              /* maximum distance between warps, in stages */
constexpr int LEAST = 3;            /* minimum of stages: one read, one awaited, one filled */
constexpr int MOST = 7;             /* maximum of stages */
constexpr double PIECE_ROUND = 0.3; /* time of a quarter tile relative to a whole one */
constexpr double BUSY = 0.85;       /* share of busy multiprocessors below which tiles are small */
constexpr int SHORT = 2048;         /* k below which tiles are medium */
constexpr int RESERVED = 1024;      /* bytes of shared memory that CUDA reserves per block */

/* Pieces per tile. */
template <class Shape, class Piece>
constexpr unsigned PIECES = (Shape::BM / Piece::BM) * (Shape::BN / Piece::BN);

/* A thread's part of the work on a tile. */
template <class Shape> class Tile {
public:
  __device__ __forceinline__ Tile(const Product<double> &p_, Wide wide_, const Ring &ring_,
                                  Corner corner_)
      : p(p_), wide(wide_), ring(ring_), corner(corner_), copier(p_, wide_, corner_),
        stages((int)((p_.a.cols + Shape::BK - 1) / Shape::BK)) {
  }

  __device__ __forceinline__ void multiply() {
    for (; copied < max(LEAST - 1, ring.count - LAG) && copied < stages; finish_copies())
      copier.template copy<1, DOUBLE_CHECKED>(ring.stage(writing.slot), 0);
    for_vectors([&](double *at, int count, double &first, double &second) {
      first = second = 0;
      if (p.accumulate) load_two(at, count, first, second);
    });
    await_phase(ring.filled(0), 0);
    fragments.load_a(ring.stage(0), 0);
#pragma unroll
    for (int n = 0; n < Shape::N; n++) fragments.load_b(ring.stage(0), 0, n);

    const DoubleCare care = copier.care(p, corner);
    if (care == DOUBLE_PIECES) multiply_inside<DOUBLE_PIECES>();
    if (care == DOUBLE_HALVES) multiply_inside<DOUBLE_HALVES>();
    while (multiplied < stages) multiply_stage<DOUBLE_CHECKED>();
    for_vectors([&](double *at, int count, double first, double second) {
      store_two(at, count, first, second);
    });
  }

private:
  static constexpr int STEPS = Shape::STEPS, M = Shape::M, N = Shape::N;
  const Product<double> &p;
  const Wide wide;
  const Ring &ring;
  const Corner corner;
  DoubleCopier<Shape> copier;
  DoubleFragments<Shape> fragments;
  double sums[M][N][4];
  RingPlace reading = {0, 0}, writing = {0, 1};
  const int stages; /* stages along k */
  int copied = 0, multiplied = 0;

  __device__ __forceinline__ void finish_copies() {
    arrive_after_copies(ring.filled(writing.slot));
    copier.advance();
    writing = writing.next(ring.count);
    copied++;
  }

  /* While complete stages are left to copy. */
  template <DoubleCare CARE> __device__ __forceinline__ void multiply_inside() {
    for (const int whole = (int)(p.a.cols / Shape::BK); copied < whole;) multiply_stage<CARE>();
  }

  template <DoubleCare CARE> __device__ __forceinline__ void multiply_stage() {
    const bool copies = CARE != DOUBLE_CHECKED || copied < stages;
    const bool more = CARE != DOUBLE_CHECKED || multiplied + 1 < stages;
    const RingPlace coming = reading.next(ring.count);
    const unsigned stage = ring.stage(reading.slot), next_stage = ring.stage(coming.slot);
    const unsigned free_stage = ring.stage(writing.slot);
    bool arrived = false;
    if (copies) await_phase(ring.read(writing.slot), writing.parity);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      if (copies) copier.template copy<STEPS, CARE>(free_stage, s);
      if (s == STEPS / 2 - 1 && more) arrived = phase_over(ring.filled(coming.slot), coming.parity);
      if (s == STEPS - 1 && more) await_phase(ring.filled(coming.slot), coming.parity, arrived);
      load_next(s, s < STEPS - 1 ? stage : next_stage);
#pragma unroll
      for (int n = 0; n < N; n++)
        multiply_fragments(sums[s % M][n], fragments.a[s % 2], fragments.b[s / M][n]);
    }
    arrive_as_warp(ring.read(reading.slot));
    if (copies) finish_copies();
    reading = coming;
    multiplied++;
  }

  /* Loads the fragments of the step after S from FROM.  Those of B last for M steps. */
  __device__ __forceinline__ void load_next(int s, unsigned from) {
    fragments.load_a(from, (s + 1) % STEPS);
    if ((s + 1) % M == 0)
#pragma unroll
      for (int n = 0; n < N; n++) fragments.load_b(from, (s + 1) % STEPS, n);
  }

  /* Calls FUNCTION for each pair of sums adjacent in C, with its address, the number of sums inside
   * C (1 or 2), and the sums. */
  template <class Function> __device__ __forceinline__ void for_vectors(Function function) {
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int64_t row = corner.row + warp / Shape::ACROSS * Shape::WM + 2 * g;
    const int64_t col = corner.col + warp % Shape::ACROSS * Shape::WN + t % 2 * 8 + t / 2 * 2;
#pragma unroll
    for (int i = 0; i < 2 * M; i++) {
      const int64_t r = row + i / 2 * 16 + i % 2;
      if (r >= p.c.rows) continue;
#pragma unroll
      for (int n = 0; n < N; n++) {
        const int64_t c = col + n / 2 * 16 + n % 2 * 4;
        if (c < p.c.cols)
          function(&p.c.at(r, c), p.c.cols - c > 1 ? 2 : 1, sums[i / 2][n][i % 2 * 2],
                   sums[i / 2][n][i % 2 * 2 + 1]);
      }
    }
  }

  __device__ __forceinline__ void load_two(const double *at, int count, double &first,
                                           double &second) const {
    if (wide.c && count == 2) {
      const Pair v = pair_at(at);
      first = v.at[0], second = v.at[1];
    } else {
      first = at[0];
      if (count == 2) second = at[1];
    }
  }
  __device__ __forceinline__ void store_two(double *at, int count, double first,
                                            double second) const {
    if (wide.c && count == 2) {
      pair_at(at) = {{first, second}};
    } else {
      at[0] = first;
      if (count == 2) at[1] = second;
    }
  }
};

/* WHOLE blocks compute a tile each.  The remaining tiles, too few for all multiprocessors, are cut
 * into pieces, one per block. */
template <class Shape, class Piece>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS)
    mma_f64(const Product<double> p, const Wide wide, const int stages, const unsigned whole) {
  static_assert(Piece::THREADS == Shape::THREADS && Piece::BYTES <= Shape::BYTES, "either fits");
  extern __shared__ __align__(128) char memory[];
  if (PIECES<Shape, Piece> == 1 || blockIdx.x < whole) {
    const Corner corner = grouped_corner<Shape::GROUP>(p.c, Shape::BM, Shape::BN);
    const Ring ring = make_ring(memory, stages, Shape::BYTES);
    Tile<Shape>(p, wide, ring, corner).multiply();
  } else {
    constexpr unsigned ACROSS = Shape::BN / Piece::BN, COUNT = PIECES<Shape, Piece>;
    const unsigned piece = (blockIdx.x - whole) % COUNT;
    Corner corner = grouped_corner<Shape::GROUP>(p.c, Shape::BM, Shape::BN,
                                                 whole + (blockIdx.x - whole) / COUNT);
    corner.row += piece / ACROSS * Piece::BM, corner.col += piece % ACROSS * Piece::BN;
    if (corner.row >= p.c.rows || corner.col >= p.c.cols) return;
    const Ring ring = make_ring(memory, stages, Piece::BYTES);
    Tile<Piece>(p, wide, ring, corner).multiply();
  }
}

/* Properties of the device that determine the tiling. */
struct Device {
  int processors, memory, memory_of_block; /* memory: shared memory in bytes */
};

cudaError_t query(Device *device) {
  int id = 0;
  cudaError_t error = cudaGetDevice(&id);
  const struct {
    int *to;
    cudaDeviceAttr what;
  } wanted[] = {{&device->processors, cudaDevAttrMultiProcessorCount},
                {&device->memory, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
                {&device->memory_of_block, cudaDevAttrMaxSharedMemoryPerBlockOptin}};
  for (int i = 0; i < 3 && error == cudaSuccess; i++)
    error = cudaDeviceGetAttribute(wanted[i].to, wanted[i].what, id);
  return error;
}

template <class T> bool rows_are_wide(const Matrix<T> &m) {
  return (uintptr_t)m.base % 16 == 0 && m.stride % 2 == 0;
}

/* The partition of a product into tiles. */
template <class Shape, class Piece> struct Cut {
  int64_t tiles, rest; /* rest: tiles that are cut into pieces */
  double rounds;       /* total time, in times of a tile */

  Cut(const dm_gemm *product, const Device &device) {
    const int64_t at_once = device.processors * Shape::BLOCKS;
    tiles = divide_up(product->c.rows, Shape::BM) * divide_up(product->c.cols, Shape::BN);
    rest = tiles % at_once;
    rounds = (double)divide_up(tiles, at_once);
    const int64_t piece_rounds = divide_up(rest * PIECES<Shape, Piece>, device.processors);
    if (PIECES<Shape, Piece> == 1 || piece_rounds > 2)
      rest = 0;
    else
      rounds = (double)(tiles / at_once) + PIECE_ROUND * (double)piece_rounds;
  }
};

template <class Shape, class Piece = Shape>
cudaError_t launch(const dm_gemm *product, const Device &device) {
  const auto kernel = mma_f64<Shape, Piece>;
  int room = min(device.memory / Shape::BLOCKS - RESERVED, device.memory_of_block);
  if (room < LEAST * (Shape::BYTES + RING_BARRIERS)) room = device.memory_of_block;
  const int stages = min(MOST, room / (Shape::BYTES + RING_BARRIERS));
  if (stages < LEAST) return cudaErrorNotSupported;
  const int bytes = stages * (Shape::BYTES + RING_BARRIERS);
  const cudaError_t refused =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (refused != cudaSuccess) return refused;
  const Cut<Shape, Piece> cut(product, device);
  const int64_t blocks = cut.tiles + cut.rest * (PIECES<Shape, Piece> - 1);
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration; /* C of more than 35 TB */
  const Product<double> p = product_of<double>(product);
  const Wide wide = {rows_are_wide(p.a), rows_are_wide(p.b), rows_are_wide(p.c)};
  kernel<<<(unsigned)blocks, Shape::THREADS, bytes, product->stream>>>(
      p, wide, stages, (unsigned)(cut.tiles - cut.rest));
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_mma_f64(const dm_gemm *product) {
  Device device = {};
  const cudaError_t error = query(&device);
  if (error != cudaSuccess) return error;
  const Cut<Large, Quarter> cut(product, device);
  const double tiles = (double)product->c.rows / Large::BM * (double)product->c.cols / Large::BN;
  if (tiles < BUSY * cut.rounds * device.processors) return launch<Small>(product, device);
  return product->a.cols < SHORT ? launch<Medium>(product, device)
                                 : launch<Large, Quarter>(product, device);
}
