/* warp_tile: C (+)= A B with a tile of C for each warp: the last rung on CUDA cores.
 *
 * The idea: a level of tiling between block and thread.  The 32 threads of a warp form a small grid
 * over a compact tile of C (64 x 64 in f32): a warp reads so few different addresses at once that
 * its loads from shared memory have no bank conflicts, and a thread computes 8 x 16 elements, for
 * which it loads 6 vectors per 128 multiply-adds.  Fragments are double-buffered too: those of k +
 * 1 are loaded while those of k are multiplied.  The copies of later tiles are spread over the
 * steps of the current one.  (CUTLASS, "Efficient GEMM in CUDA": block, warp and thread tiles)
 *
 * Adds to double_buffer_async: the warp's tile, the larger thread tile (128 sums, 48 elements of
 * fragments), and an order of blocks that keeps the operands of concurrent blocks in the L2 cache.
 *
 * What limits it: the multiply-adds themselves; in f32 it reaches three quarters of the peak, as
 * cuBLAS does.  CUDA cores have half the f64 rate of tensor cores.  One block fills a
 * multiprocessor, so C must be large; otherwise smaller tiles are used. */
#include "kernels/ladder/vectors.cuh"

namespace {

/* ---- asynchronous copies to a ring of stages, as in double_buffer_async ---- */

/* Copy BYTES (4 or 8, aligned) to TO; the second sets TO to 0 instead, unless INSIDE. */
template <int BYTES> __device__ __forceinline__ void copy_async(void *to, const void *from) {
  const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES)
               : "memory");
}
template <int BYTES>
__device__ __forceinline__ void copy_async_or_zero(void *to, const void *from, bool inside) {
  const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
  const int valid = inside ? BYTES : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES),
               "r"(valid)
               : "memory");
}
/* Copies 16 bytes past the L1 cache; reads only the first VALID, the others become 0. */
__device__ __forceinline__ void copy_vector_async(void *to, const void *from, int valid) {
  const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(valid)
               : "memory");
}

/* Copies are committed and awaited in groups, oldest first: waits until all but the last PENDING
 * groups of this thread are complete. */
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int PENDING> __device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* A stage of the ring: a BK x BM tile of A, transposed and padded, and a BK x BN tile of B. */
template <class T, int BM, int BN, int BK> struct Stage {
  alignas(16) T a[BK][BM + Vector<T>::LENGTH];
  alignas(16) T b[BK][BN];
};

/* The copies of one thread: A_COUNT elements of A and B_COUNT vectors of B per stage. */
template <class T, int BM, int BN, int BK, int THREADS> class Copier {
public:
  static constexpr int LENGTH = Vector<T>::LENGTH, ACROSS = BN / LENGTH;
  static constexpr int A_COUNT = BM * BK / THREADS, A_STEP = THREADS / BK;         /* rows of A */
  static constexpr int B_COUNT = BK * ACROSS / THREADS, B_STEP = THREADS / ACROSS; /* rows of B */
  static_assert(A_COUNT * THREADS == BM * BK && A_STEP * BK == THREADS, "A is shared evenly");
  static_assert(B_COUNT * THREADS == BK * ACROSS && B_STEP * ACROSS == THREADS, "so is B");

  __device__ __forceinline__ Copier(const Product<T> &p, Corner corner, bool wide_b)
      : a_from(&p.a.at(corner.row, a_k())), k_left(p.a.cols), b_stride(p.b.stride), wide(wide_b) {
#pragma unroll
    for (int i = 0; i < A_COUNT; i++) {
      /* Rows beyond the last repeat it: their results are not stored. */
      const int64_t row = min((int64_t)a_row(i), p.a.rows - 1 - corner.row);
      a_offset[i] = row * p.a.stride;
    }
    const int64_t rest = p.b.cols - corner.col - b_col();
    b_bytes = (int)sizeof(T) * (int)(rest < 0 ? 0 : rest < LENGTH ? rest : LENGTH);
    b_from = &p.b.at(b_k(), b_bytes > 0 ? corner.col + b_col() : 0);
  }

  /* Issues part PART of PARTS of the tile's copies to STAGE.  FAST: the tile is complete along k,
   * and B is copied in vectors; otherwise elements beyond the last k become 0. */
  template <int PARTS, bool FAST>
  __device__ __forceinline__ void copy(Stage<T, BM, BN, BK> &stage, int part) const {
#pragma unroll
    for (int i = 0; i < A_COUNT; i++) {
      if (i < A_COUNT * part / PARTS || i >= A_COUNT * (part + 1) / PARTS) continue;
      T *to = &stage.a[a_k()][a_row(i)];
      if (FAST)
        copy_async<sizeof(T)>(to, a_from + a_offset[i]);
      else
        copy_async_or_zero<sizeof(T)>(to, a_from + a_offset[i], a_k() < k_left);
    }
#pragma unroll
    for (int i = 0; i < B_COUNT; i++) {
      if (i < B_COUNT * part / PARTS || i >= B_COUNT * (part + 1) / PARTS) continue;
      T *to = &stage.b[b_k() + i * B_STEP][b_col()];
      const T *from = b_from + i * B_STEP * b_stride;
      const int valid = FAST || b_k() + i * B_STEP < k_left ? b_bytes : 0;
      if (FAST || wide) {
        copy_vector_async(to, from, valid);
      } else {
#pragma unroll
        for (int e = 0; e < LENGTH; e++)
          copy_async_or_zero<sizeof(T)>(to + e, from + e, valid > e * (int)sizeof(T));
      }
    }
  }

  /* Moves to the next tile along k. */
  __device__ __forceinline__ void advance() {
    a_from += BK;
    b_from += BK * b_stride;
    k_left -= BK;
  }

private:
  const T *a_from, *b_from; /* this thread's first elements in the tile */
  int64_t a_offset[A_COUNT];
  int64_t k_left; /* from the current tile on */
  int64_t b_stride;
  int b_bytes; /* bytes of each vector of B inside the matrix */
  bool wide;

  /* Threads run along k in A, so that a warp reads whole sectors, and along rows of B. */
  static __device__ __forceinline__ int a_k() {
    return threadIdx.x % BK;
  }
  static __device__ __forceinline__ int a_row(int i) {
    return threadIdx.x / BK + i * A_STEP;
  }
  static __device__ __forceinline__ int b_k() {
    return threadIdx.x / ACROSS;
  }
  static __device__ __forceinline__ int b_col() {
    return threadIdx.x % ACROSS * LENGTH;
  }
};

/* ---- fragments ---- */

/* The position of element I of a fragment in a row of a tile, for thread WHICH of OF.  Vectors of
 * different threads are interleaved: threads that load at once access adjacent vectors. */
template <class T, int OF> __device__ __forceinline__ int fragment_index(int which, int i) {
  constexpr int LENGTH = Vector<T>::LENGTH;
  return (i / LENGTH * OF + which) * LENGTH + i % LENGTH;
}

/* Loads 16 bytes by address in shared memory, which has 32 bits instead of a pointer's 64.
 * Volatile, so that it stays after the preceding barrier. */
__device__ __forceinline__ void load_shared(float *to, unsigned at) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(at));
}
__device__ __forceinline__ void load_shared(double *to, unsigned at) {
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(to[0]), "=d"(to[1]) : "r"(at));
}

/* Loads a fragment; AT: the address of the thread's first vector, which is that of
 * the row plus one vector per preceding thread. */
template <int OF, class T, int COUNT>
__device__ __forceinline__ void load_shared_fragment(T (&fragment)[COUNT], unsigned at) {
#pragma unroll
  for (int i = 0; i < COUNT; i += Vector<T>::LENGTH)
    load_shared(&fragment[i], at + (unsigned)(i * OF * sizeof(T)));
}

/* sums += a b^T, column by column (or BY_ROWS), back and forth: consecutive instructions share an
 * element of A or B, which leaves few whose three registers are in the same bank (counted in the
 * machine code: 2 of 100, and 10 of 100 row by row). */
template <bool BY_ROWS = false, class T, int M, int N>
__device__ __forceinline__ void add_outer_product(T (&sums)[M][N], const T (&a)[M],
                                                  const T (&b)[N]) {
  constexpr int OUTER = BY_ROWS ? M : N, INNER = BY_ROWS ? N : M;
#pragma unroll
  for (int o = 0; o < OUTER; o++)
#pragma unroll
    for (int n = 0; n < INNER; n++) {
      const int turned = o % 2 ? INNER - 1 - n : n;
      const int i = BY_ROWS ? o : turned, j = BY_ROWS ? turned : o;
      sums[i][j] = mad(a[i], b[j], sums[i][j]);
    }
}

/* ---- the kernel, for any tiling ---- */

/* The corner of this block's tile.  Blocks run in the order of their numbers, which go down GROUP
 * rows of tiles, then to the next column: concurrent blocks need few different rows of A and
 * columns of B, which stay in the L2 cache. */
template <int GROUP, class T>
__device__ __forceinline__ Corner grouped_corner(const Matrix<T> &c, int rows, int cols) {
  const int64_t block = blockIdx.x;
  const int64_t down = (c.rows + rows - 1) / rows, across = (c.cols + cols - 1) / cols;
  const int64_t group = block / (GROUP * across), rest = block % (GROUP * across);
  const int64_t height = min((int64_t)GROUP, down - group * GROUP); /* the last may be lower */
  return {(group * GROUP + rest % height) * rows, rest / height * cols};
}

/* The block's tile, the depth and the number of stages, the warp's tile, the rows of threads in a
 * warp, the resident blocks per multiprocessor, the height of a group (grouped_corner), the number
 * of parts of a stage's copies, and the order of the outer products.
 *
 * The copies of a later stage are spread over the steps of the current one.  Fewer parts cost less:
 * between loads from shared memory and copies, ptxas inserts three idle loads.  But parts and order
 * also affect register allocation, and so how often the three registers of an instruction are in
 * the same bank: the best values are found by measuring. */
template <int BM_, int BN_, int BK_, int STAGES_, int WM, int WN, int DOWN_, int BLOCKS_,
          int GROUP_, int PARTS_, int BY_ROWS_>
struct Tiling {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_;
  static constexpr int BLOCKS = BLOCKS_, GROUP = GROUP_, PARTS = PARTS_;
  static constexpr bool BY_ROWS = BY_ROWS_;
  static constexpr int DOWN = DOWN_, ACROSS = 32 / DOWN; /* threads of a warp, down and across */
  static constexpr int TM = WM / DOWN, TN = WN / ACROSS; /* a thread's tile */
  static constexpr int WARPS_ACROSS = BN / WN;
  static constexpr int THREADS = BM / WM * WARPS_ACROSS * 32;
  static constexpr int WARP_ROWS = WM, WARP_COLS = WN;
  static_assert(BK % 2 == 0, "two fragments take turns, and the first is the first of every tile");
};

/* The body of a kernel with __launch_bounds__(Shape::THREADS, Shape::BLOCKS). */
template <class Shape, class T>
__device__ __forceinline__ void multiply_warp_tiles(const Product<T> &p, const Wide &wide) {
  constexpr int BK = Shape::BK, STAGES = Shape::STAGES, TM = Shape::TM, TN = Shape::TN;
  constexpr int PARTS = Shape::PARTS;
  typedef Stage<T, Shape::BM, Shape::BN, BK> Tiles;
  constexpr unsigned SIZE = sizeof(Tiles);
  extern __shared__ char memory[];
  /* Stages have 32-bit offsets: 64-bit pointers would take scarce registers. */
  const auto stage = [&](unsigned at) -> Tiles & {
    return *reinterpret_cast<Tiles *>(memory + at);
  };

  const Corner corner = grouped_corner<Shape::GROUP>(p.c, Shape::BM, Shape::BN);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned warp_row = warp / Shape::WARPS_ACROSS * Shape::WARP_ROWS;
  const unsigned warp_col = warp % Shape::WARPS_ACROSS * Shape::WARP_COLS;
  const int y = lane / Shape::ACROSS, x = lane % Shape::ACROSS;
  const auto row = [=](int i) {
    return corner.row + warp_row + fragment_index<T, Shape::DOWN>(y, i);
  };
  const auto col = [=](int j) {
    return corner.col + warp_col + fragment_index<T, Shape::ACROSS>(x, j);
  };

  Copier<T, Shape::BM, Shape::BN, BK, Shape::THREADS> copier(p, corner, wide.b);
  for (int s = 0; s < STAGES - 1; s++) {
    copier.template copy<1, false>(stage(s * SIZE), 0);
    copier.advance();
    commit_copies();
  }
  T sums[TM][TN];
  begin_vectors(sums, p, wide.c, row, col);

  T a[2][TM], b[2][TN]; /* fragments of k and k + 1 */
  /* Addresses of this thread's first vectors for k = 0 in the first stage. */
  const unsigned base = (unsigned)__cvta_generic_to_shared(memory);
  const unsigned a_at = base + (warp_row + y * Vector<T>::LENGTH) * sizeof(T);
  const unsigned b_at = base + sizeof(Tiles::a) + (warp_col + x * Vector<T>::LENGTH) * sizeof(T);
  const auto load_fragments = [&](int which, unsigned stage_at, int k) {
    load_shared_fragment<Shape::DOWN>(a[which], a_at + stage_at + k * sizeof(Tiles::a[0]));
    load_shared_fragment<Shape::ACROSS>(b[which], b_at + stage_at + k * sizeof(Tiles::b[0]));
  };
  wait_for_copies<STAGES - 2>();
  __syncthreads();
  load_fragments(0, 0, 0);

  unsigned now = 0, free_stage = (STAGES - 1) * SIZE;
  const auto multiply_stage =
      [&](bool fast) { /* and copies a tile to the free stage */
#pragma unroll
                       for (int i = 0; i < BK; i++) {
                         if (i % (BK / PARTS) == 0) {
                           const int part = i / (BK / PARTS);
                           if (fast)
                             copier.template copy<PARTS, true>(stage(free_stage), part);
                           else
                             copier.template copy<PARTS, false>(stage(free_stage), part);
                         }
                         if (i == BK - 1) { /* on to the next stage: it has arrived, and this one is
                                               read out */
                           copier.advance();
                           commit_copies();
                           wait_for_copies<STAGES - 2>();
                           __syncthreads();
                           free_stage = now;
                           now = now + SIZE == STAGES * SIZE ? 0 : now + SIZE;
                         }
                         load_fragments((i + 1) % 2, now, (i + 1) % BK);
                         add_outer_product<Shape::BY_ROWS>(sums, a[i % 2], b[i % 2]);
                       }
      };
  int64_t k = 0;
  const int64_t fast_end = wide.b ? p.a.cols - STAGES * BK : -1; /* beyond: partial tiles */
  for (; k <= fast_end; k += BK) multiply_stage(true);
  for (; k < p.a.cols; k += BK) multiply_stage(false);
  wait_for_copies<0>(); /* beyond the last k, copies only store zeros */
  store_vectors(sums, p, wide.c, row, col);
}

template <class T> struct Large;
template <> struct Large<float> : Tiling<128, 256, 8, 4, 64, 64, 8, 1, 8, 2, 1> {};
template <> struct Large<double> : Tiling<128, 128, 8, 4, 32, 64, 4, 1, 8, 2, 0> {};
template <class T> struct Small;
template <> struct Small<float> : Tiling<64, 64, 8, 4, 32, 32, 8, 4, 8, 2, 0> {};
template <> struct Small<double> : Tiling<64, 64, 8, 4, 32, 32, 8, 3, 8, 2, 0> {};

template <class T, class Shape>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS)
    warp_tile(Product<T> p, Wide wide) {
  multiply_warp_tiles<Shape>(p, wide);
}

template <class Shape, class T> cudaError_t launch(const Product<T> &p, const dm_gemm *product) {
  const auto kernel = warp_tile<T, Shape>;
  const int bytes = Shape::STAGES * (int)sizeof(Stage<T, Shape::BM, Shape::BN, Shape::BK>);
  const cudaError_t refused =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (refused != cudaSuccess) return refused;
  const unsigned blocks = blocks_for_tiles(product->c, Shape::BM, Shape::BN);
  kernel<<<blocks, Shape::THREADS, bytes, product->stream>>>(p, wide_of(p));
  return cudaGetLastError();
}

/* Large tiles if they keep two thirds of the multiprocessors busy. */
template <class T> cudaError_t launch_fitting(const Product<T> &p, const dm_gemm *product) {
  const int64_t tiles = divide_up(p.c.rows, Large<T>::BM) * divide_up(p.c.cols, Large<T>::BN);
  return 3 * tiles >= 2 * product->processors ? launch<Large<T>>(p, product)
                                              : launch<Small<T>>(p, product);
}

} // namespace

extern "C" cudaError_t dm_kernels_warp_tile(const dm_gemm *product) {
  return with_real(product, [&](auto p) { return launch_fitting(p, product); });
}
