/* mma: C (+)= A B on tensor cores, with the instruction mma.sync.
 *
 * The idea: PTX specifies which thread holds which element, so the opaque fragments of wmma are not
 * needed.  Tiles have the same layout in shared as in global memory, and are copied asynchronously
 * in pieces of 16 bytes.  The pieces are permuted in each row (swizzled), which, unlike padding,
 * costs no memory, and lets ldmatrix read eight rows at once without bank conflicts.  A warp
 * computes 64 x 64 elements of C: the 128 sums per thread and two sets of fragments fill the
 * registers, and every byte read from shared memory is used 64 times.  Fragments are loaded one
 * step ahead, copies are issued several tiles ahead.  (PTX ISA, "mma" and "ldmatrix"; the swizzle
 * is CUTLASS's)
 *
 * Adds to wmma: the swizzle, larger tiles, a ring of stages, fragments ahead, and i8; f64 is in
 * 19_mma_f64.cu.  In TF32 each thread rounds the operands it has loaded; rows not aligned to 16
 * bytes are copied first.
 *
 * What limits it: operands pass through registers, and on Hopper mma.sync reaches at most two
 * thirds of the tensor cores' rate.  In 16-bit types copies are the limit: a multiprocessor
 * receives about 26 bytes per cycle from the L2 cache, as much as a tile of 128 x 256 needs (171
 * operations for each byte). */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/dtype.h"
#include "kernels/ladder/async_copy.cuh"

/* f64, with separate tile shapes.  (19_mma_f64.cu) */
cudaError_t dm_mma_f64(const dm_gemm *product);

namespace {

/* ---- the instructions, and the differences between the types ----
 *
 * One mma.sync multiplies 16 rows of A by 8 columns of B, over 32 bytes of k.  With g = lane / 4
 * and t = lane % 4, a thread holds in registers of 4 bytes: words t and t + 4 of rows g and g + 8
 * of A; the same words of column g of B, with adjacent values of k in a word; columns 2t and 2t + 1
 * of rows g and g + 8 of the sums. */

/* Loads four matrices of 8 rows of 16 bytes: lane l passes the address of row l % 8 of matrix l /
 * 8, and receives word l % 4 of row l / 4 of each matrix. */
__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}

/* The same for 8 x 8 pairs of bytes, transposed: pair l / 4 of rows 2 (l % 4) and the next. */
__device__ __forceinline__ void load_transposed(uint32_t (&first)[2], uint32_t (&second)[2],
                                                unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(first[0]), "=r"(first[1]), "=r"(second[0]), "=r"(second[1])
               : "r"(from)
               : "memory");
}

#define DM_MMA(shape, types, kind, sums, a, b)                                                     \
  asm("mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, "          \
      "{%8, %9}, {%0, %1, %2, %3};"                                                                \
      : kind(sums[0]), kind(sums[1]), kind(sums[2]), kind(sums[3])                                 \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

/* Loads B, whose tile is row-major in shared memory as in global memory, to registers.
 *
 * SWIZZLE(k): piece p (of 16 bytes) of row k is stored at p ^ SWIZZLE(k), to avoid bank conflicts.
 * OFFSET: this lane's offset in the tile, for columns from piece PIECE on.  LOAD fills the
 * registers of N times 8 columns, and FINISH converts them to operands of mma.sync.  RUN: number of
 * a thread's sums that are adjacent in a row of C; run R starts at COLUMN, and SUM returns its
 * elements. */
template <class T> struct Tensor;

/* 16 bits: ldmatrix transposes. */
struct TensorHalf {
  static constexpr int RUN = 2;

  static __device__ __forceinline__ int swizzle(int k) {
    return k % 8;
  }
  static __device__ __forceinline__ unsigned offset(int lane, int row_bytes, int piece) {
    const int k = lane % 16;
    return k * row_bytes + ((piece + lane / 16) ^ swizzle(k)) * 16;
  }
  template <int N>
  static __device__ __forceinline__ void load(uint32_t (&b)[N][2], unsigned at, int) {
#pragma unroll
    for (int j = 0; j < N; j += 2) load_transposed(b[j], b[j + 1], at ^ (j * 16));
  }
  static __device__ __forceinline__ void finish_a(uint32_t (&)[4]) {
  }
  static __device__ __forceinline__ void finish_b(uint32_t (&)[2], uint32_t (&)[2]) {
  }
  static __device__ __forceinline__ int column(int run, int t) {
    return run * 8 + t * 2;
  }
  template <int N>
  static __device__ __forceinline__ float sum(const float (&sums)[N][4], int half, int run, int e) {
    return sums[run][half * 2 + e];
  }
};

template <> struct Tensor<__half> : TensorHalf {
  static __device__ __forceinline__ void multiply(float (&sums)[4], const uint32_t (&a)[4],
                                                  const uint32_t (&b)[2]) {
    DM_MMA("m16n8k16", "f32.f16.f16.f32", "+f", sums, a, b);
  }
};

template <> struct Tensor<__nv_bfloat16> : TensorHalf {
  static __device__ __forceinline__ void multiply(float (&sums)[4], const uint32_t (&a)[4],
                                                  const uint32_t (&b)[2]) {
    DM_MMA("m16n8k16", "f32.bf16.bf16.f32", "+f", sums, a, b);
  }
};

/* TF32: ldmatrix cannot transpose words of 4 bytes, but a thread can read 16 bytes of row t, which
 * are column g of four products if these compute columns 4g, 4g + 1, ... of C. */
template <> struct Tensor<float> {
  static constexpr int RUN = 4;

  static __device__ __forceinline__ int swizzle(int k) {
    return k % 4 * 2;
  }
  static __device__ __forceinline__ unsigned offset(int lane, int row_bytes, int piece) {
    const int k = lane % 4;
    return k * row_bytes + ((piece + lane / 4) ^ swizzle(k)) * 16;
  }
  template <int N>
  static __device__ __forceinline__ void load(uint32_t (&b)[N][2], unsigned at, int row_bytes) {
#pragma unroll
    for (int j = 0; j < N; j += 4)
#pragma unroll
      for (int half = 0; half < 2; half++)
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(b[j][half]), "=r"(b[j + 1][half]), "=r"(b[j + 2][half]),
                       "=r"(b[j + 3][half])
                     : "r"(at + j * 32 + half * 4 * row_bytes)
                     : "memory");
  }
  /* Rounds to nearest: ties to even in one instruction; Ampere only has ties away from zero, in
   * three. */
  static __device__ __forceinline__ void round(uint32_t &word) {
#if __CUDA_ARCH__ >= 900
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(word) : "f"(__uint_as_float(word)));
#else
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(__uint_as_float(word)));
#endif
  }
  static __device__ __forceinline__ void finish_a(uint32_t (&a)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) round(a[i]);
  }
  static __device__ __forceinline__ void finish_b(uint32_t (&first)[2], uint32_t (&second)[2]) {
    round(first[0]), round(first[1]), round(second[0]), round(second[1]);
  }
  static __device__ __forceinline__ int column(int run, int t) {
    return run / 2 * 32 + t * 8 + run % 2 * 4;
  }
  template <int N>
  static __device__ __forceinline__ float sum(const float (&sums)[N][4], int half, int run, int e) {
    return sums[run / 2 * 4 + e][half * 2 + run % 2];
  }
  static __device__ __forceinline__ void multiply(float (&sums)[4], const uint32_t (&a)[4],
                                                  const uint32_t (&b)[2]) {
    DM_MMA("m16n8k8", "f32.tf32.tf32.f32", "+f", sums, a, b);
  }
};

/* 8 bits: ldmatrix transposes pairs of columns.  The order of row addresses gives a thread rows 4t
 * and 4t + 1 of columns 2g and 2g + 1 in one register, and the next two rows in another: their
 * bytes form one word of the even column and one of the odd. */
template <> struct Tensor<int8_t> {
  static constexpr int RUN = 4;

  static __device__ __forceinline__ int swizzle(int k) {
    return k % 2 | (k / 4 % 4) * 2;
  }
  static __device__ __forceinline__ unsigned offset(int lane, int row_bytes, int piece) {
    const int matrix = lane / 8, row = lane % 8;
    const int k = matrix / 2 * 16 + matrix % 2 * 2 + row / 2 * 4 + row % 2;
    return k * row_bytes + (piece ^ swizzle(k)) * 16;
  }
  template <int N>
  static __device__ __forceinline__ void load(uint32_t (&b)[N][2], unsigned at, int) {
#pragma unroll
    for (int j = 0; j < N; j += 2) load_transposed(b[j], b[j + 1], at ^ (j * 8));
  }
  static __device__ __forceinline__ void finish_a(uint32_t (&)[4]) {
  }
  static __device__ __forceinline__ void finish_b(uint32_t (&even)[2], uint32_t (&odd)[2]) {
    const uint32_t low[2] = {even[0], even[1]}; /* first 16 of k of both columns */
    even[0] = __byte_perm(low[0], low[1], 0x6420);
    even[1] = __byte_perm(odd[0], odd[1], 0x6420);
    odd[1] = __byte_perm(odd[0], odd[1], 0x7531);
    odd[0] = __byte_perm(low[0], low[1], 0x7531);
  }
  static __device__ __forceinline__ int column(int run, int t) {
    return run * 16 + t * 4;
  }
  template <int N>
  static __device__ __forceinline__ int32_t sum(const int32_t (&sums)[N][4], int half, int run,
                                                int e) {
    return sums[run * 2 + e % 2][half * 2 + e / 2];
  }
  static __device__ __forceinline__ void multiply(int32_t (&sums)[4], const uint32_t (&a)[4],
                                                  const uint32_t (&b)[2]) {
    DM_MMA("m16n8k32", "s32.s8.s8.s32", "+r", sums, a, b);
  }
};

#undef DM_MMA

/* ---- copies to a ring of stages ---- */

/* Waits for all copies, committed or not. */
__device__ __forceinline__ void wait_for_all_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/* The block's tile of C, the bytes of a row of A in a stage, the number of stages, the warp's tile,
 * and the resident blocks per multiprocessor. */
template <int BM_, int BN_, int DEPTH_, int STAGES_, int WM_, int WN_, int BLOCKS_ = 1>
struct MmaTiling {
  static constexpr int BM = BM_, BN = BN_, DEPTH = DEPTH_, STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr int WM = WM_, WN = WN_, WARPS_ACROSS = BN / WN;
  static constexpr int THREADS = BM / WM * WARPS_ACROSS * 32;
  static constexpr int A_BYTES = BM * DEPTH, STAGE_BYTES = (BM + BN) * DEPTH;
  static constexpr int STEPS = DEPTH / 32; /* steps of mma.sync */
  static constexpr int GROUP = 8;          /* rows of tiles that run together */
  static_assert(DEPTH == 64 || DEPTH == 128, "what the swizzle of A is made for");
  static_assert(STEPS % 2 == 0, "two fragments take turns");
};

/* The position of piece PIECE (of 16 bytes) in row ROW of A: the same piece of eight rows is in
 * different banks. */
template <int DEPTH> __device__ __forceinline__ int a_piece(int row, int piece) {
  return DEPTH == 128 ? piece ^ row % 8 : piece ^ row / 2 % 4;
}

/* The copies of one thread per stage. */
template <class T, class Shape> class StageCopier {
public:
  __device__ __forceinline__ StageCopier(const Product<T> &p, Corner corner)
      : a_step(A_STEP * p.a.stride), b_step(B_STEP * p.b.stride) {
    const int a_row = threadIdx.x / A_ACROSS, a_col = threadIdx.x % A_ACROSS;
    const int b_row = threadIdx.x / B_ACROSS, b_col = threadIdx.x % B_ACROSS;
    a_from = &p.a.at(corner.row + a_row, a_col * LENGTH);
    b_from = &p.b.at(b_row, corner.col + b_col * LENGTH);
    a_to = a_row * Shape::DEPTH + a_piece<Shape::DEPTH>(a_row, a_col) * 16;
    b_to = Shape::A_BYTES + b_row * ROW_BYTES + (b_col ^ Tensor<T>::swizzle(b_row)) * 16;
    a_rows = (int)min(p.a.rows - corner.row - a_row, (int64_t)Shape::BM);
    b_bytes = bytes_of((int)min(p.b.cols - corner.col - b_col * LENGTH, (int64_t)LENGTH));
  }

  /* Issues the copies of the next tile along k to the stage at TO.  K: its columns of A and rows of
   * B inside the matrices; the others become 0. */
  __device__ __forceinline__ void copy(unsigned to, int k) {
    const int a_bytes = bytes_of(k - (int)threadIdx.x % A_ACROSS * LENGTH);
#pragma unroll
    for (int i = 0; i < A_COUNT; i++)
      copy_vector_async(to + a_to + i * A_STEP * Shape::DEPTH, a_from + i * a_step,
                        i * A_STEP < a_rows ? a_bytes : 0);
    const int b_rows = k - (int)threadIdx.x / B_ACROSS;
#pragma unroll
    for (int i = 0; i < B_COUNT; i++)
      copy_vector_async(to + b_to + i * B_STEP * ROW_BYTES, b_from + i * b_step,
                        i * B_STEP < b_rows ? b_bytes : 0);
    a_from += BK;
    b_from += B_COUNT * b_step;
  }

private:
  static constexpr int SIZE = (int)sizeof(T), LENGTH = 16 / SIZE, BK = Shape::DEPTH / SIZE;
  static constexpr int ROW_BYTES = Shape::BN * SIZE;
  static constexpr int A_ACROSS = Shape::DEPTH / 16, A_STEP = Shape::THREADS / A_ACROSS;
  static constexpr int B_ACROSS = ROW_BYTES / 16, B_STEP = Shape::THREADS / B_ACROSS;
  static constexpr int A_COUNT = Shape::BM / A_STEP, B_COUNT = BK / B_STEP;
  static_assert(A_STEP % 8 == 0 && (B_STEP % 16 == 0 || (SIZE > 1 && B_STEP % 8 == 0) ||
                                    (SIZE > 2 && B_STEP % 4 == 0)),
                "a thread's rows are swizzled alike");
  static_assert(A_COUNT * A_STEP == Shape::BM && B_COUNT * B_STEP == BK, "tiles are shared evenly");
  static_assert(ROW_BYTES % 128 == 0, "the swizzle of B needs whole turns of the banks");

  const T *a_from, *b_from;
  int64_t a_step, b_step; /* in elements, from one copy to the next */
  unsigned a_to, b_to;
  int a_rows, b_bytes; /* inside the matrices */

  /* Bytes of the existing elements of a piece. */
  static __device__ __forceinline__ int bytes_of(int elements) {
    return max(0, min(elements, LENGTH)) * SIZE;
  }
};

/* ---- the epilogue: the sums of a warp to C ---- */

/* WIDTH adjacent elements, of which the first COUNT exist. */
template <class T, int WIDTH> struct alignas(WIDTH * sizeof(T)) Run { T at[WIDTH]; };
template <int WIDTH, class T>
__device__ __forceinline__ Run<T, WIDTH> load_run(const T *from, int count) {
  if (count >= WIDTH) return *reinterpret_cast<const Run<T, WIDTH> *>(from);
  Run<T, WIDTH> run = {};
#pragma unroll
  for (int e = 0; e < WIDTH - 1; e++)
    if (e < count) run.at[e] = from[e];
  return run;
}
template <int WIDTH, class T>
__device__ __forceinline__ void store_run(T *to, const Run<T, WIDTH> &run, int count) {
  if (count >= WIDTH) {
    *reinterpret_cast<Run<T, WIDTH> *>(to) = run;
    return;
  }
#pragma unroll
  for (int e = 0; e < WIDTH - 1; e++)
    if (e < count) to[e] = run.at[e];
}

/* Stores SUMS of a warp to C at (row, col) through PATCH, its private 16 rows of shared memory, so
 * that it writes whole rows, whatever their alignment.  WIDTH: elements that a thread moves at
 * once. */
template <int WIDTH, class T, class Sum, int M, int N>
__device__ __forceinline__ void store(const Product<T> &p, const Sum (&sums)[M][N][4], Sum *patch,
                                      int64_t row, int64_t col) {
  constexpr int RUN = Tensor<T>::RUN, COLS = N * 8, STRIDE = COLS + 8;
  constexpr int ACROSS = COLS / WIDTH < 32 ? COLS / WIDTH : 32, DOWN = 32 / ACROSS; /* threads */
  constexpr int PASSES = COLS / WIDTH / ACROSS, COUNT = 16 / DOWN * PASSES;
  typedef Run<Sum, WIDTH> Vector;
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int y = lane / ACROSS, x = lane % ACROSS * WIDTH;
  const int rows = (int)min(p.c.rows - row - y, (int64_t)M * 16);
  const int cols = (int)min(p.c.cols - col - x, (int64_t)COLS);
  Sum *const first = &p.c.at(row + y, col + x);
  Vector old[2][COUNT];

  const auto for_vectors =
      [&](int i, auto function) { /* the thread's vectors in rows 16 i to 16 i + 15 */
#pragma unroll
                                  for (int v = 0; v < COUNT; v++) {
                                    const int down = v / PASSES * DOWN,
                                              across = v % PASSES * ACROSS * WIDTH;
                                    if (i * 16 + down < rows && across < cols)
                                      function(v, patch + (y + down) * STRIDE + x + across,
                                               first + (i * 16 + down) * p.c.stride + across,
                                               cols - across);
                                  }
      };
  const auto load_old = [&](int i) {
    if (p.accumulate)
      for_vectors(i, [&](int v, const Sum *, const Sum *from, int count) {
        old[i % 2][v] = load_run<WIDTH>(from, count);
      });
  };

  load_old(0);
#pragma unroll
  for (int i = 0; i < M; i++) {
#pragma unroll
    for (int r = 0; r < N * 4 / RUN; r++) {
      const int half = r % 2, run = r / 2;
      Run<Sum, RUN> values;
#pragma unroll
      for (int e = 0; e < RUN; e++) values.at[e] = Tensor<T>::sum(sums[i], half, run, e);
      *reinterpret_cast<Run<Sum, RUN> *>(patch + (half * 8 + g) * STRIDE +
                                         Tensor<T>::column(run, t)) = values;
    }
    if (i + 1 < M) load_old(i + 1); /* reuses registers of the sums now in PATCH */
    __syncwarp();
    for_vectors(i, [&](int v, const Sum *from, Sum *to, int count) {
      Vector values = *reinterpret_cast<const Vector *>(from);
#pragma unroll
      for (int e = 0; e < WIDTH; e++)
        if (p.accumulate) values.at[e] = mad(values.at[e], Sum(1), old[i % 2][v].at[e]);
      store_run(to, values, count);
    });
    __syncwarp();
  }
}

/* Prefetches the block's tile of C to the L2 cache. */
template <class Shape, class Sum>
__device__ __forceinline__ void prefetch(const Matrix<Sum> &c, Corner corner) {
  constexpr int LENGTH = 128 / (int)sizeof(Sum), ACROSS = Shape::BN / LENGTH;
  for (int i = threadIdx.x; i < Shape::BM * ACROSS; i += Shape::THREADS) {
    const int64_t row = corner.row + i / ACROSS, col = corner.col + i % ACROSS * LENGTH;
    if (row < c.rows && col < c.cols)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(&c.at(row, col)));
  }
}

/* ---- the kernel ---- */

/* CYCLES: measured on an H200 for 32 bytes of k in 16 bits, with BLOCKS per multiprocessor; ALONE:
 * with one. */
struct Large : MmaTiling<128, 256, 128, 3, 64, 64> {
  static constexpr int CYCLES = 475, ALONE = CYCLES;
};
struct Small : MmaTiling<64, 128, 64, 4, 32, 64, 2> {
  static constexpr int CYCLES = 365, ALONE = 220;
};

template <class T, class Shape>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS) mma(Product<T> p, bool wide_c) {
  typedef typename Types<T>::Sum Sum;
  constexpr int STAGES = Shape::STAGES, STEPS = Shape::STEPS, SIZE = (int)sizeof(T);
  constexpr int BK = Shape::DEPTH / SIZE, M = Shape::WM / 16, N = Shape::WN / 8,
                ROW_BYTES = Shape::BN * SIZE;
  extern __shared__ __align__(128) char memory[];
  const unsigned stages = (unsigned)__cvta_generic_to_shared(memory);

  __shared__ Corner corner; /* kept for the end in shared memory, because registers are scarce */
  if (threadIdx.x == 0) corner = grouped_corner<Shape::GROUP>(p.c, Shape::BM, Shape::BN);
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / Shape::WARPS_ACROSS * Shape::WM;
  const int warp_col = warp % Shape::WARPS_ACROSS * Shape::WN;

  const int tiles = (int)((p.a.cols + BK - 1) / BK),
            rest = (int)(p.a.cols - (tiles - 1) * (int64_t)BK);
  const auto k_of = [=](int left) { /* of a tile, when LEFT tiles remain */
                                    return left > 1 ? BK : left == 1 ? rest : 0;
  };
  StageCopier<T, Shape> copier(p, corner);
  const auto copy_tile = [&](int stage, int left) {
    copier.copy(stages + stage * Shape::STAGE_BYTES, k_of(left));
  };
  for (int s = 0; s < STAGES - 1; s++) {
    copy_tile(s, tiles - s);
    commit_copies();
  }

  const int a_row = warp_row + lane % 16; /* whose address this lane passes to ldmatrix */
  const unsigned a_at = a_row * Shape::DEPTH + a_piece<Shape::DEPTH>(a_row, lane / 16) * 16;
  const unsigned b_at = Shape::A_BYTES + Tensor<T>::offset(lane, ROW_BYTES, warp_col * SIZE / 16);
  uint32_t a[2][M][4], b[2][N][2]; /* of this step and the next */
  const auto load_fragments = [&](int which, int stage, int step) {
    const unsigned at = stages + stage * Shape::STAGE_BYTES;
#pragma unroll
    for (int i = 0; i < M; i++)
      load_matrices(a[which][i], ((at + a_at) ^ (step * 32)) + i * 16 * Shape::DEPTH);
    Tensor<T>::load(b[which], at + b_at + step * (32 / SIZE) * ROW_BYTES, ROW_BYTES);
  };
  const auto finish_fragments = [&](int which) {
#pragma unroll
    for (int i = 0; i < M; i++) Tensor<T>::finish_a(a[which][i]);
#pragma unroll
    for (int j = 0; j < N; j += 2) Tensor<T>::finish_b(b[which][j], b[which][j + 1]);
  };
  wait_for_copies<STAGES - 2>();
  __syncthreads();
  load_fragments(0, 0, 0);
  finish_fragments(0);

  Sum sums[M][N][4] = {};
  int now = 0, free_stage = STAGES - 1;
  copy_tile(free_stage, tiles - STAGES + 1);
  for (int left = tiles; left > 0; left--) {
    if (left == 4 && p.accumulate) prefetch<Shape>(p.c, corner);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      if (s == STEPS - 1) { /* the next stage has arrived, and all warps have read this one */
        commit_copies();
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        free_stage = now;
        now = now + 1 == STAGES ? 0 : now + 1;
      }
      load_fragments((s + 1) % 2, now, (s + 1) % STEPS);
      if (s == STEPS - 1) copy_tile(free_stage, left - STAGES);
#pragma unroll
      for (int i = 0; i < M; i++) {
#pragma unroll
        for (int j = 0; j < N; j++) { /* back and forth: shares an operand */
          const int turned = i % 2 ? N - 1 - j : j;
          Tensor<T>::multiply(sums[i][turned], a[s % 2][i], b[s % 2][turned]);
        }
        if (i == 1) finish_fragments((s + 1) % 2); /* loaded by now */
      }
    }
  }
  wait_for_all_copies(); /* beyond the last k, copies only store zeros */
  __syncthreads();
  Sum *const patch = reinterpret_cast<Sum *>(memory) + warp * 16 * (Shape::WN + 8);
  if (wide_c)
    store<4>(p, sums, patch, corner.row + warp_row, corner.col + warp_col);
  else
    store<1>(p, sums, patch, corner.row + warp_row, corner.col + warp_col);
}

template <class T, class Shape> cudaError_t launch(const dm_gemm *product) {
  const Product<T> p = product_of<T>(product);
  const auto kernel = mma<T, Shape>;
  const int bytes = Shape::STAGES * Shape::STAGE_BYTES;
  const cudaError_t refused =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (refused != cudaSuccess) return refused;
  const bool wide_c = (uintptr_t)p.c.base % 16 == 0 && p.c.stride % 4 == 0;
  const unsigned blocks = blocks_for_tiles(product->c, Shape::BM, Shape::BN);
  kernel<<<blocks, Shape::THREADS, bytes, product->stream>>>(p, wide_c);
  return cudaGetLastError();
}

/* The time of a product with tiles of SHAPE: blocks run in waves that fill the GPU. */
template <class Shape> int64_t time_of(const dm_gemm *product) {
  const int64_t tiles =
      divide_up(product->c.rows, Shape::BM) * divide_up(product->c.cols, Shape::BN);
  if (tiles <= product->processors) return Shape::ALONE;
  return divide_up(tiles, Shape::BLOCKS * (int64_t)product->processors) * Shape::CYCLES;
}

template <class T> cudaError_t launch_fitting(const dm_gemm *product) {
  if (time_of<Large>(product) < time_of<Small>(product)) {
    const cudaError_t error = launch<T, Large>(product);
    if (error != cudaErrorInvalidValue) return error;
    (void)cudaGetLastError(); /* too little shared memory on this GPU */
  }
  return launch<T, Small>(product);
}

} // namespace

extern "C" cudaError_t dm_kernels_mma(const dm_gemm *product) {
  if (product->dtype == DM_F64) return dm_mma_f64(product);
  dm_gemm aligned = *product;
  const cudaError_t error = dm_align_operands(&aligned);
  if (error != cudaSuccess) return error;
  switch (product->dtype) {
  case DM_F16:
    return launch_fitting<__half>(&aligned);
  case DM_BF16:
    return launch_fitting<__nv_bfloat16>(&aligned);
  case DM_F32: /* TF32, says the registry */
    return launch_fitting<float>(&aligned);
  case DM_I8:
    return launch_fitting<int8_t>(&aligned);
  default:
    return cudaErrorInvalidValue;
  }
}
