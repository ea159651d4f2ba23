/* add: Z = alpha X + beta Y, with a one- or two-dimensional grid.
 *
 * The idea: no element is reused, so memory bandwidth is the only limit: each thread moves 16 bytes
 * of each matrix at once, and neighbouring threads access neighbouring addresses.  add_grid_stride
 * launches a grid sized for the GPU, not for the matrix, and strides over the elements: it handles
 * any number of them and treats a matrix without gaps as one long row.  add_2d assigns each run of
 * a row to a thread, which computes its position without a division.
 *
 * Products and sums are computed in f64 and rounded once: f32 results are correctly rounded in all
 * but rare cases, and for alpha = beta = 1 they equal plain f32 sums.  This is free, because memory
 * is slower.  Limits: rows not aligned to 16 bytes are moved element by element, and add_2d leaves
 * most of a block idle if there are few columns.  Measured on an H200, on 1 GiB of each matrix,
 * relative to a copy of as many bytes: add_2d 1.03, add_grid_stride 0.98. */
#include "kernels/helpers/walk.cuh"

namespace {

constexpr int THREADS = 256, COLS = 32, ROWS = 8, UNROLLED = 1, BLOCKS_PER_PROCESSOR = 64;

template <class T> struct Factor { typedef double Type; };
template <> struct Factor<int32_t> { typedef uint32_t Type; }; /* wraps */

double factor(double v, double) {
  return v;
}
uint32_t factor(double v, uint32_t) {
  return (uint32_t)(int64_t)v;
}

template <class T> struct Addition {
  Matrix<T> z;
  Matrix<const T> x, y;
  typename Factor<T>::Type alpha, beta;
  bool alone; /* Z = alpha X */

  explicit Addition(const dm_addition &a)
      : z(matrix_of<T>(a.z)), x(matrix_of<const T>(a.x)), y(matrix_of<const T>(a.y)),
        alpha(factor(a.alpha, alpha)), beta(factor(a.beta, beta)), alone(a.beta == 0.0) {
  }

  __device__ __forceinline__ T sum(T xs, T ys) const {
    return (T)(alone ? alpha * xs : alpha * xs + beta * ys);
  }
};

template <class T, bool WIDE>
__device__ __forceinline__ void store_sum(const Addition<T> &a, int64_t row, int64_t col,
                                          const Run<T, WIDE> &x, const Run<T, WIDE> &y) {
  constexpr int LENGTH = Run<T, WIDE>::LENGTH;
  Run<T, WIDE> z;
#pragma unroll
  for (int v = 0; v < LENGTH; v++) z.at[v] = a.sum(x.at[v], y.at[v]);
  T *p = &a.z.at(row, col);
  if (WIDE && col + LENGTH <= a.z.cols) {
    uint4 bits;
    memcpy(&bits, &z, sizeof z);
    __stcs(reinterpret_cast<uint4 *>(p), bits);
    return;
  }
#pragma unroll
  for (int v = 0; v < LENGTH; v++)
    if (col + v < a.z.cols) p[v] = z.at[v];
}

template <class T, bool WIDE>
__global__ void __launch_bounds__(THREADS) grid_stride(Addition<T> a) {
  Walk<T, WIDE, UNROLLED> walk(a.z);
  while (walk.inside()) {
    const Batch<T, WIDE, UNROLLED> batch = walk.next();
    Run<T, WIDE> x[UNROLLED], y[UNROLLED] = {};
    batch.load(a.x, x);
    if (!a.alone) batch.load(a.y, y);
#pragma unroll
    for (int u = 0; u < UNROLLED; u++)
      if (u < batch.count) store_sum<T, WIDE>(a, batch.row[u], batch.col[u], x[u], y[u]);
  }
}

/* Runs per thread in a row, COLS runs apart; more if runs are single elements, to keep enough loads
 * in flight. */
template <bool WIDE> struct Across { static constexpr int RUNS = WIDE ? 1 : 4; };

template <class T, bool WIDE>
__global__ void __launch_bounds__(THREADS) two_dimensional(Addition<T> a) {
  typedef Run<T, WIDE> R;
  constexpr int RUNS = Across<WIDE>::RUNS;
  const int64_t first = ((int64_t)blockIdx.x * RUNS * COLS + threadIdx.x) * R::LENGTH;
  const int64_t step = (int64_t)gridDim.y * ROWS; /* at most 65535 blocks in y */
  for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < a.z.rows; row += step) {
    R x[RUNS], y[RUNS] = {};
#pragma unroll
    for (int u = 0; u < RUNS; u++) { /* all loads before the first use */
      const int64_t col = first + u * COLS * R::LENGTH;
      if (col >= a.z.cols) continue;
      x[u] = run_at<T, WIDE>(a.x, row, col);
      if (!a.alone) y[u] = run_at<T, WIDE>(a.y, row, col);
    }
#pragma unroll
    for (int u = 0; u < RUNS; u++) {
      const int64_t col = first + u * COLS * R::LENGTH;
      if (col < a.z.cols) store_sum<T, WIDE>(a, row, col, x[u], y[u]);
    }
  }
}

/* Avoids reading a matrix whose factor is 0: replaces it by the other one. */
dm_addition ordered(dm_addition a) {
  if (a.alpha == 0.0) {
    a.alpha = a.beta, a.beta = 0.0;
    a.x = a.y;
  }
  if (a.beta == 0.0) a.y = a.x;
  return a;
}

cudaError_t set_to_zero(const dm_addition &a) {
  const size_t size = (size_t)size_of(a.z.dtype);
  return cudaMemset2DAsync(a.z.base, (size_t)a.z.row_stride * size, 0, (size_t)a.z.cols * size,
                           (size_t)a.z.rows, a.stream);
}

template <class T, bool WIDE> cudaError_t launch_stride(const dm_addition &a) {
  int device = 0, processors = 1;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return error;
  const int64_t runs = a.z.rows * divide_up(a.z.cols, Run<T, WIDE>::LENGTH);
  const unsigned blocks =
      blocks_for(divide_up(runs, THREADS * UNROLLED), (int64_t)processors * BLOCKS_PER_PROCESSOR);
  grid_stride<T, WIDE><<<blocks, THREADS, 0, a.stream>>>(Addition<T>(a));
  return cudaGetLastError();
}

template <class T, bool WIDE> cudaError_t launch_2d(const dm_addition &a) {
  const int64_t runs = divide_up(a.z.cols, Run<T, WIDE>::LENGTH);
  const dim3 grid(blocks_for(divide_up(runs, COLS * Across<WIDE>::RUNS)),
                  blocks_for(divide_up(a.z.rows, ROWS), 65535));
  two_dimensional<T, WIDE><<<grid, dim3(COLS, ROWS), 0, a.stream>>>(Addition<T>(a));
  return cudaGetLastError();
}

bool all_wide(const dm_addition &a) {
  const int64_t size = size_of(a.z.dtype);
  return rows_are_wide(a.z, size) && rows_are_wide(a.x, size) && rows_are_wide(a.y, size);
}

} // namespace

cudaError_t dm_kernels_add_grid_stride(const dm_addition *addition) {
  dm_addition a = ordered(*addition);
  if (a.alpha == 0.0) return set_to_zero(a);
  if (rows_join(a.z) && rows_join(a.x) && rows_join(a.y))
    a.z = joined(a.z), a.x = joined(a.x), a.y = joined(a.y);
  return with_sum(a.z.dtype, [&](auto number) {
    typedef decltype(number) T;
    return all_wide(a) ? launch_stride<T, true>(a) : launch_stride<T, false>(a);
  });
}

cudaError_t dm_kernels_add_2d(const dm_addition *addition) {
  const dm_addition a = ordered(*addition);
  if (a.alpha == 0.0) return set_to_zero(a);
  return with_sum(a.z.dtype, [&](auto number) {
    typedef decltype(number) T;
    return all_wide(a) ? launch_2d<T, true>(a) : launch_2d<T, false>(a);
  });
}
