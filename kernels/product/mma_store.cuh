/* mma_store: the epilogue of mma: stores the sums of a warp to C. */
#ifndef DM_KERNELS_MMA_STORE_CUH
#define DM_KERNELS_MMA_STORE_CUH

#include "kernels/product/tensor_core.cuh"
#include "kernels/product/thread_tile.cuh"

/* WIDTH adjacent elements, of which the first COUNT exist. */
template <class T, int WIDTH> struct alignas(WIDTH * sizeof(T)) Run { T at[WIDTH]; };
template <int WIDTH, class T>
static __device__ __forceinline__ Run<T, WIDTH> load_run(const T *from, int count) {
  if (count >= WIDTH) return *reinterpret_cast<const Run<T, WIDTH> *>(from);
  Run<T, WIDTH> run = {};
#pragma unroll
  for (int e = 0; e < WIDTH - 1; e++)
    if (e < count) run.at[e] = from[e];
  return run;
}
template <int WIDTH, class T>
static __device__ __forceinline__ void store_run(T *to, const Run<T, WIDTH> &run, int count) {
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
static __device__ __forceinline__ void store(const Product<T> &p, const Sum (&sums)[M][N][4],
                                             Sum *patch, int64_t row, int64_t col) {
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
static __device__ __forceinline__ void prefetch(const Matrix<Sum> &c, Corner corner) {
  constexpr int LENGTH = 128 / (int)sizeof(Sum), ACROSS = Shape::BN / LENGTH;
  for (int i = threadIdx.x; i < Shape::BM * ACROSS; i += Shape::THREADS) {
    const int64_t row = corner.row + i / ACROSS, col = corner.col + i % ACROSS * LENGTH;
    if (row < c.rows && col < c.cols)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(&c.at(row, col)));
  }
}

#endif
