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

struct Large : Tiling<192, 256, 64, 5, 96, 64> {};
struct Small : Tiling<64, 128, 64, 4, 32, 64> {};

/* Piece PIECE (of 16 bytes) of row ROW of A lies at that of the row: eight rows lie in different
 * banks. */
template <int DEPTH> __device__ __forceinline__ int a_piece(int row, int piece) {
  return DEPTH == 128 ? piece ^ row % 8 : piece ^ row / 2 % 4;
}

/* What one thread copies of every stage. */
template <class T, class Shape> class Copier {
public:
  __device__ __forceinline__ Copier(const Product<T> &p, Corner corner)
      : a_step(A_STEP * p.a.stride), b_step(B_STEP * p.b.stride), k_left(p.a.cols) {
    const int a_row = threadIdx.x / A_ACROSS, a_col = threadIdx.x % A_ACROSS;
    const int b_row = threadIdx.x / B_ACROSS, b_col = threadIdx.x % B_ACROSS;
    a_from = &p.a.at(corner.row + a_row, a_col * LENGTH);
    b_from = &p.b.at(b_row, corner.col + b_col * LENGTH);
    a_to = a_row * Shape::DEPTH + a_piece<Shape::DEPTH>(a_row, a_col) * 16;
    b_to = Shape::A_BYTES + b_row * ROW_BYTES + (b_col ^ Tensor<T>::swizzle(b_row)) * 16;
    a_rows = (int)min(p.a.rows - corner.row - a_row, (int64_t)Shape::BM);
    b_bytes = bytes_of((int)min(p.b.cols - corner.col - b_col * LENGTH, (int64_t)LENGTH));
  }

  /* Part PART of PARTS of the copies into the stage at TO.  What lies outside becomes 0. */
  template <int PARTS> __device__ __forceinline__ void copy(unsigned to, int part) const {
    const int k_here = (int)min(max(k_left, (int64_t)0), (int64_t)BK);
    const int a_bytes = bytes_of(k_here - (int)threadIdx.x % A_ACROSS * LENGTH);
#pragma unroll
    for (int i = A_COUNT * part / PARTS; i < A_COUNT * (part + 1) / PARTS; i++)
      copy_vector_async(to + a_to + i * A_STEP * Shape::DEPTH, a_from + i * a_step,
                        i * A_STEP < a_rows ? a_bytes : 0);
    const int b_rows = k_here - (int)threadIdx.x / B_ACROSS;
#pragma unroll
    for (int i = B_COUNT * part / PARTS; i < B_COUNT * (part + 1) / PARTS; i++)
      copy_vector_async(to + b_to + i * B_STEP * ROW_BYTES, b_from + i * b_step,
                        i * B_STEP < b_rows ? b_bytes : 0);
  }

  /* To the next tile along k. */
  __device__ __forceinline__ void advance() {
    a_from += BK;
    b_from += B_COUNT * b_step;
    k_left -= BK;
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
  int64_t k_left;         /* from the tile on */
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
  if (count == WIDTH) return *reinterpret_cast<const Run<T, WIDTH> *>(from);
  Run<T, WIDTH> run = {};
#pragma unroll
  for (int e = 0; e < WIDTH - 1; e++)
    if (e < count) run.at[e] = from[e];
  return run;
}
template <int WIDTH, class T>
__device__ __forceinline__ void store_run(T *to, const Run<T, WIDTH> &run, int count) {
  if (count == WIDTH) {
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
  constexpr int ACROSS = COLS / WIDTH, COUNT = 16 * ACROSS / 32;
  typedef Run<Sum, WIDTH> Vector;
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  Vector old[COUNT];

  const auto for_vectors =
      [&](int i, auto function) { /* of this thread in rows 16 i ... */
#pragma unroll
                                  for (int v = 0; v < COUNT; v++) {
                                    const int y = (v * 32 + lane) / ACROSS,
                                              x = (v * 32 + lane) % ACROSS * WIDTH;
                                    const int64_t r = row + i * 16 + y, c = col + x;
                                    if (r < p.c.rows && c < p.c.cols)
                                      function(v, patch + y * STRIDE + x, &p.c.at(r, c),
                                               (int)min(p.c.cols - c, (int64_t)WIDTH));
                                  }
      };
  const auto load_old = [&](int i) {
    if (p.accumulate)
      for_vectors(i, [&](int v, const Sum *, const Sum *from, int count) {
        old[v] = load_run<WIDTH>(from, count);
      });
  };

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
    load_old(i); /* in place of the sums that lie in PATCH now */
    __syncwarp();
    for_vectors(i, [&](int v, const Sum *from, Sum *to, int count) {
      Vector values = *reinterpret_cast<const Vector *>(from);
#pragma unroll
      for (int e = 0; e < WIDTH && p.accumulate; e++)
        values.at[e] = mad(values.at[e], Sum(1), old[v].at[e]);
      store_run(to, values, count);
    });
    __syncwarp();
  }
}

template <class T, class Shape>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS) mma(Product<T> p, bool wide_c) {
  typedef typename Types<T>::Sum Sum;
  constexpr int STAGES = Shape::STAGES, STEPS = Shape::STEPS, SIZE = (int)sizeof(T);
  constexpr int M = Shape::WM / 16, N = Shape::WN / 8, ROW_BYTES = Shape::BN * SIZE;
  constexpr int TOGETHER = Tensor<T>::TOGETHER;
  extern __shared__ __align__(128) char memory[];
  const unsigned stages = (unsigned)__cvta_generic_to_shared(memory);

  const Corner corner = grouped_corner<Shape::GROUP>(p.c, Shape::BM, Shape::BN);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / Shape::WARPS_ACROSS * Shape::WM;
  const int warp_col = warp % Shape::WARPS_ACROSS * Shape::WN;

  Copier<T, Shape> copier(p, corner);
  for (int s = 0; s < STAGES - 1; s++) {
    copier.template copy<1>(stages + s * Shape::STAGE_BYTES, 0);
    copier.advance();
    commit_copies();
  }

  const int a_row = warp_row + lane % 16; /* which this lane names to ldmatrix */
  const unsigned a_at = a_row * Shape::DEPTH + a_piece<Shape::DEPTH>(a_row, lane / 16) * 16;
  const unsigned b_at = Shape::A_BYTES + Tensor<T>::offset(lane, ROW_BYTES, warp_col * SIZE / 16);
  uint32_t a[2][4], b[N][2]; /* of 16 rows and of the next; of all columns */
  const auto load_a = [&](int i, int stage, int step) {
    const unsigned at = stages + stage * Shape::STAGE_BYTES + a_at;
    load_matrices(a[i % 2], (at ^ (step * 32)) + i * 16 * Shape::DEPTH);
  };
  const auto load_b = [&](int j, int stage, int step) {
    const unsigned at = stages + stage * Shape::STAGE_BYTES + b_at;
    Tensor<T>::load(b + j, at + step * (32 / SIZE) * ROW_BYTES, j, ROW_BYTES);
  };
  wait_for_copies<STAGES - 2>();
  __syncthreads();
  load_a(0, 0, 0);
#pragma unroll
  for (int j = 0; j < N; j += TOGETHER) load_b(j, 0, 0);
  Tensor<T>::finish_a(a[0]);

  Sum sums[M][N][4] = {};
  int now = 0, free_stage = STAGES - 1;
  const auto copy_part = [&](int part) {
    copier.template copy<STEPS>(stages + free_stage * Shape::STAGE_BYTES, part);
  };
  copy_part(0);
  for (int64_t k = 0; k < p.a.cols; k += Shape::DEPTH / SIZE) {
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
      for (int i = 0; i < M; i++) {
        const bool last = s == STEPS - 1 && i == M - 1;
        if (last) { /* the next stage has arrived, and this one is read */
          copier.advance();
          commit_copies();
          wait_for_copies<STAGES - 2>();
          __syncthreads();
          free_stage = now;
          now = now + 1 == STAGES ? 0 : now + 1;
        }
        load_a((i + 1) % M, now, i < M - 1 ? s : (s + 1) % STEPS);
        if (last || (i == 0 && s < STEPS - 1)) copy_part((s + 1) % STEPS);
#pragma unroll
        for (int j = 0; j < N; j++) {
          if (i == 0 && j % 2 == 0) Tensor<T>::finish_b(b[j], b[j + 1]);
          Tensor<T>::multiply(sums[i][j], a[i % 2], b[j]);
          if (i == M - 1 && (j + 1) % TOGETHER == 0) load_b(j + 1 - TOGETHER, now, (s + 1) % STEPS);
        }
        Tensor<T>::finish_a(a[(i + 1) % 2]);
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

/* Large tiles where they keep two thirds of the multiprocessors busy. */
template <class T> cudaError_t launch_fitting(const dm_product *product) {
  const int64_t tiles =
      divide_up(product->c.rows, Large::BM) * divide_up(product->c.cols, Large::BN);
  return 3 * tiles >= 2 * product->processors ? launch<T, Large>(product)
                                              : launch<T, Small>(product);
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
