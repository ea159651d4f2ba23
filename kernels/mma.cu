/* mma: C (+)= A B by the tensor cores' own instruction, mma.sync.
 *
 * The idea: the instruction says which thread holds which element, so that nothing has to go
 * through the opaque fragments of wmma.  Tiles lie in shared memory as they do in global memory,
 * copied asynchronously, 16 bytes at a time; those pieces are permuted in each row (swizzled),
 * which costs no memory, as padding does, and lets ldmatrix read eight rows at once without a bank
 * conflict.  A warp computes 64 x 64 elements of C: its 128 sums a thread are what registers hold,
 * and every byte that it reads from shared memory is used 64 times.  Fragments are loaded one step
 * ahead, copies several tiles ahead.
 *
 * It adds to wmma the swizzle, the larger tiles, the ring of stages, the fragments ahead, and i8;
 * f64 is in mma_f64.cu.  Its limits: the operands pass through registers, and on Hopper mma.sync
 * reaches no more than 60 to 65 % of what the tensor cores can do (wgmma does).  Rows that are not
 * aligned to 16 bytes are copied first.
 *
 * MEASURED */
#include "kernels/mma.cuh"

#include "kernels/aligned.cuh"
#include "kernels/async_copy.cuh"
#include "kernels/grouped.cuh"
#include "kernels/tensor_core.cuh"

namespace {

/* The block's tile of C, the bytes of k in a row of A that make a stage, the number of stages, and
 * the warp's tile. */
template <int BM_, int BN_, int DEPTH_, int STAGES_, int WM_, int WN_, int BLOCKS_ = 1>
struct Tiling {
  static constexpr int BM = BM_, BN = BN_, DEPTH = DEPTH_, STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr int WM = WM_, WN = WN_, WARPS_ACROSS = BN / WN;
  static constexpr int THREADS = BM / WM * WARPS_ACROSS * 32;
  static constexpr int A_BYTES = BM * DEPTH, STAGE_BYTES = (BM + BN) * DEPTH;
  static constexpr int STEPS = DEPTH / 32; /* of mma.sync */
  static constexpr int GROUP = 8;          /* rows of tiles that run together */
  static_assert(DEPTH == 64 || DEPTH == 128, "what the swizzle of A is made for");
  static_assert(STEPS % 2 == 0, "two fragments take turns");
};

/* CYCLES: what 32 bytes of k took on an H200, in 16 bits, with BLOCKS on every multiprocessor;
 * ALONE: with one. */
struct Large : Tiling<160, 256, 128, 3, 80, 64> {
  static constexpr int CYCLES = 525, ALONE = CYCLES;
};
struct Medium : Tiling<128, 256, 128, 3, 64, 64> {
  static constexpr int CYCLES = 475, ALONE = CYCLES;
};
struct Small : Tiling<64, 128, 64, 4, 32, 64, 2> {
  static constexpr int CYCLES = 365, ALONE = 220;
};

/* Piece PIECE (of 16 bytes) of row ROW of A lies at that of the row: eight rows lie in different
 * banks. */
template <int DEPTH> __device__ __forceinline__ int a_piece(int row, int piece) {
  return DEPTH == 128 ? piece ^ row % 8 : piece ^ row / 2 % 4;
}

/* What one thread copies of every stage. */
template <class T, class Shape> class Copier {
public:
  __device__ __forceinline__ Copier(const Product<T> &p, Corner corner)
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

  /* Part PART of PARTS of the copies into the stage at TO of a tile of which K columns of A and
   * rows of B are there.  What is not becomes 0. */
  template <int PARTS> __device__ __forceinline__ void copy(unsigned to, int part, int k) const {
    const int a_bytes = bytes_of(k - (int)threadIdx.x % A_ACROSS * LENGTH);
#pragma unroll
    for (int i = A_COUNT * part / PARTS; i < A_COUNT * (part + 1) / PARTS; i++)
      copy_vector_async(to + a_to + i * A_STEP * Shape::DEPTH, a_from + i * a_step,
                        i * A_STEP < a_rows ? a_bytes : 0);
    const int b_rows = k - (int)threadIdx.x / B_ACROSS;
#pragma unroll
    for (int i = B_COUNT * part / PARTS; i < B_COUNT * (part + 1) / PARTS; i++)
      copy_vector_async(to + b_to + i * B_STEP * ROW_BYTES, b_from + i * b_step,
                        i * B_STEP < b_rows ? b_bytes : 0);
  }

  /* To the next tile along k. */
  __device__ __forceinline__ void advance() {
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
  int64_t a_step, b_step; /* elements from one copy to the next */
  unsigned a_to, b_to;
  int a_rows, b_bytes; /* inside the matrices */

  /* Of 16, those of the elements that are there. */
  static __device__ __forceinline__ int bytes_of(int elements) {
    return max(0, min(elements, LENGTH)) * SIZE;
  }
};

/* WIDTH elements side by side, of which the first COUNT are there. */
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

/* SUMS of a warp into C from (row, col) on, by way of PATCH, its own 16 rows of shared memory: so
 * whole rows are written at a time, however they are aligned.  WIDTH: elements that a thread moves
 * at once. */
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
      [&](int i, auto function) { /* of this thread in rows 16 i ... */
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
    if (i + 1 < M) load_old(i + 1); /* in place of the sums that lie in PATCH now */
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

/* Asks for the block's tile of C to be brought to the L2 cache. */
template <class Shape, class Sum>
__device__ __forceinline__ void prefetch(const Matrix<Sum> &c, Corner corner) {
  constexpr int LENGTH = 128 / (int)sizeof(Sum), ACROSS = Shape::BN / LENGTH;
  for (int i = threadIdx.x; i < Shape::BM * ACROSS; i += Shape::THREADS) {
    const int64_t row = corner.row + i / ACROSS, col = corner.col + i % ACROSS * LENGTH;
    if (row < c.rows && col < c.cols)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(&c.at(row, col)));
  }
}

template <class T, class Shape>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS) mma(Product<T> p, bool wide_c) {
  typedef typename Types<T>::Sum Sum;
  constexpr int STAGES = Shape::STAGES, STEPS = Shape::STEPS, SIZE = (int)sizeof(T);
  constexpr int BK = Shape::DEPTH / SIZE, M = Shape::WM / 16, N = Shape::WN / 8,
                ROW_BYTES = Shape::BN * SIZE;
  extern __shared__ __align__(128) char memory[];
  const unsigned stages = (unsigned)__cvta_generic_to_shared(memory);

  __shared__ Corner corner; /* which is needed again at the end: registers are short */
  if (threadIdx.x == 0) corner = grouped_corner<Shape::GROUP>(p.c, Shape::BM, Shape::BN);
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / Shape::WARPS_ACROSS * Shape::WM;
  const int warp_col = warp % Shape::WARPS_ACROSS * Shape::WN;

  const int tiles = (int)((p.a.cols + BK - 1) / BK),
            rest = (int)(p.a.cols - (tiles - 1) * (int64_t)BK);
  const auto k_of = [=](int left) { /* in a tile when so many are left */
                                    return left > 1 ? BK : left == 1 ? rest : 0;
  };
  Copier<T, Shape> copier(p, corner);
  for (int s = 0; s < STAGES - 1; s++) {
    copier.template copy<1>(stages + s * Shape::STAGE_BYTES, 0, k_of(tiles - s));
    copier.advance();
    commit_copies();
  }

  const int a_row = warp_row + lane % 16; /* which this lane names to ldmatrix */
  const unsigned a_at = a_row * Shape::DEPTH + a_piece<Shape::DEPTH>(a_row, lane / 16) * 16;
  const unsigned b_at = Shape::A_BYTES + Tensor<T>::offset(lane, ROW_BYTES, warp_col * SIZE / 16);
  uint32_t a[M][4], b[2][N][2]; /* of a step; of B also those of the next */
  const auto load_a = [&](int i, int stage, int step) {
    const unsigned at = stages + stage * Shape::STAGE_BYTES + a_at;
    load_matrices(a[i], (at ^ (step * 32)) + i * 16 * Shape::DEPTH);
  };
  const auto load_b = [&](int which, int stage, int step) {
    const unsigned at = stages + stage * Shape::STAGE_BYTES + b_at + step * (32 / SIZE) * ROW_BYTES;
    Tensor<T>::load(b[which], at, ROW_BYTES);
  };
  const auto finish_b = [&](int which, int first,
                            int last) { /* pairs */
#pragma unroll
                                        for (int j = first * 2; j < last * 2; j += 2)
                                          Tensor<T>::finish_b(b[which][j], b[which][j + 1]);
  };
  wait_for_copies<STAGES - 2>();
  __syncthreads();
#pragma unroll
  for (int i = 0; i < M; i++) load_a(i, 0, 0);
  load_b(0, 0, 0);
  Tensor<T>::finish_a(a[0]);
  finish_b(0, 0, N / 2);

  Sum sums[M][N][4] = {};
  int now = 0, free_stage = STAGES - 1;
  const auto copy_part = [&](int part, int left) {
    copier.template copy<STEPS>(stages + free_stage * Shape::STAGE_BYTES, part, k_of(left));
  };
  copy_part(0, tiles - STAGES + 1);
  for (int left = tiles; left > 0; left--) {
    if (left == 4 && p.accumulate) prefetch<Shape>(p.c, corner);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      if (s == STEPS - 1) { /* the next stage has arrived, and this one is read */
        copier.advance();
        commit_copies();
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        free_stage = now;
        now = now + 1 == STAGES ? 0 : now + 1;
      }
      load_b((s + 1) % 2, now, (s + 1) % STEPS);
      copy_part((s + 1) % STEPS, left - STAGES + 1 - (s == STEPS - 1));
#pragma unroll
      for (int i = 0; i < M; i++) {
#pragma unroll
        for (int j = 0; j < N; j++) { /* and back again: one operand stays the same */
          const int turned = i % 2 ? N - 1 - j : j;
          Tensor<T>::multiply(sums[i][turned], a[i], b[s % 2][turned]);
        }
        load_a(i, now, (s + 1) % STEPS);
        Tensor<T>::finish_a(a[(i + 1) % M]);
        if (i > 0) finish_b((s + 1) % 2, N / 2 * (i - 1) / (M - 1), N / 2 * i / (M - 1));
      }
    }
  }
  wait_for_all_copies(); /* beyond the last k nothing was read, but zeros are stored */
  __syncthreads();
  Sum *const patch = reinterpret_cast<Sum *>(memory) + warp * 16 * (Shape::WN + 8);
  if (wide_c)
    store<4>(p, sums, patch, corner.row + warp_row, corner.col + warp_col);
  else
    store<1>(p, sums, patch, corner.row + warp_row, corner.col + warp_col);
}

template <class T, class Shape> cudaError_t launch(const dm_product *product) {
  const Product<T> p(product);
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

/* The time of a product in tiles of a shape: blocks run in waves that fill the GPU. */
template <class Shape> int64_t time_of(const dm_product *product) {
  const int64_t tiles =
      divide_up(product->c.rows, Shape::BM) * divide_up(product->c.cols, Shape::BN);
  if (tiles <= product->processors) return Shape::ALONE;
  return divide_up(tiles, Shape::BLOCKS * (int64_t)product->processors) * Shape::CYCLES;
}

template <class T> cudaError_t launch_fitting(const dm_product *product) {
  const int64_t large = time_of<Large>(product), medium = time_of<Medium>(product);
  cudaError_t error = cudaErrorInvalidValue; /* also where shared memory is too small */
  if (large < medium && large < time_of<Small>(product))
    error = launch<T, Large>(product);
  else if (medium < time_of<Small>(product))
    error = launch<T, Medium>(product);
  if (error != cudaErrorInvalidValue) return error;
  (void)cudaGetLastError();
  return launch<T, Small>(product);
}

} // namespace

cudaError_t dm_kernels_mma(const dm_product *product) {
  if (product->a.dtype == DM_F64) return dm_mma_f64(product);
  dm_product aligned = *product;
  const cudaError_t error = dm_align_operands(&aligned);
  if (error != cudaSuccess) return error;
  switch (product->a.dtype) {
  case DM_F16:
    return launch_fitting<__half>(&aligned);
  case DM_BF16:
    return launch_fitting<__nv_bfloat16>(&aligned);
  case DM_F32: /* the registry has it for TF32 only */
    return launch_fitting<float>(&aligned);
  case DM_I8:
    return launch_fitting<int8_t>(&aligned);
  default:
    return cudaErrorInvalidValue;
  }
}
