/* The largest number and the sum of squares of each row, by which it is scaled.  Both are whole
 * numbers that take any order of the work; so threads meet by atomic operations. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/residue_kernels.h"

namespace {

typedef unsigned long long Bits;

constexpr int THREADS = 256, BATCH = 8, BATCHES = 16; /* numbers a thread loads at a time; times */

struct NormWork {
  const double *from;
  int64_t rows, depth, row_stride, col_stride;
  const double *largest;
  Bits *result;
  unsigned down; /* blocks along rows */
};

/* A double's size orders like its bits. */
struct Largest {
  __device__ __forceinline__ Largest(const NormWork &, int64_t) {
  }
  __device__ __forceinline__ Bits of(double number) const {
    return (Bits)__double_as_longlong(fabs(number));
  }
  static __device__ __forceinline__ Bits both(Bits a, Bits b) {
    return a > b ? a : b;
  }
  static __device__ __forceinline__ void add(Bits *to, Bits value) {
    if (value != 0) atomicMax(to, value);
  }
};

struct Squares {
  dm_power power;

  /* Rows of zeros and those that hold infinite numbers get 0. */
  __device__ __forceinline__ Squares(const NormWork &work, int64_t row) {
    const double largest = work.largest[row];
    int top = 0;
    if (largest > 0.0 && isfinite(largest)) {
      frexp(largest, &top);
      power = dm_power_of(DM_SQUARE_BITS / 2 - top);
    } else {
      power.by = power.then = 0.0;
    }
  }
  __device__ __forceinline__ Bits of(double number) const {
    return power.by == 0.0 ? 0 : (Bits)dm_square(number, power);
  }
  static __device__ __forceinline__ Bits both(Bits a, Bits b) {
    return a + b;
  }
  static __device__ __forceinline__ void add(Bits *to, Bits value) {
    if (value != 0) atomicAdd(to, value);
  }
};

/* Of numbers STEP apart along k from K on, below END. */
template <class Norm>
__device__ __forceinline__ Bits norm_of(const NormWork &work, const Norm &norm, int64_t row,
                                        int64_t k, int step, int64_t end) {
  const double *from = work.from + row * work.row_stride;
  Bits sum = 0;
  for (; k + (BATCH - 1) * step < end; k += BATCH * step) {
    double numbers[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) numbers[i] = from[(k + i * step) * work.col_stride];
#pragma unroll
    for (int i = 0; i < BATCH; i++) sum = Norm::both(sum, norm.of(numbers[i]));
  }
  for (; k < end; k += step) sum = Norm::both(sum, norm.of(from[k * work.col_stride]));
  return sum;
}

/* Numbers along k lie side by side: a warp for a part of a row. */
template <class Norm> __global__ void __launch_bounds__(THREADS) norms_along(const NormWork work) {
  constexpr int64_t DEEP = 32 * BATCH * BATCHES;
  const int64_t row = (int64_t)(blockIdx.x % work.down) * (THREADS / 32) + threadIdx.x / 32;
  const int64_t k = blockIdx.x / work.down * DEEP;
  if (row >= work.rows) return; /* a whole warp */
  const Norm norm(work, row);
  Bits sum = norm_of(work, norm, row, k + threadIdx.x % 32, 32, min(k + DEEP, work.depth));
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
    sum = Norm::both(sum, __shfl_xor_sync(~0u, sum, lanes));
  if (threadIdx.x % 32 == 0) Norm::add(work.result + row, sum);
}

/* Rows lie side by side, or anyhow: a thread for a part of a row. */
template <class Norm> __global__ void __launch_bounds__(THREADS) norms_beside(const NormWork work) {
  constexpr int64_t DEEP = BATCH * BATCHES;
  const int64_t row = (int64_t)(blockIdx.x % work.down) * THREADS + threadIdx.x;
  const int64_t k = blockIdx.x / work.down * DEEP;
  if (row >= work.rows) return;
  const Norm norm(work, row);
  Norm::add(work.result + row, norm_of(work, norm, row, k, 1, min(k + DEEP, work.depth)));
}

template <class Norm>
cudaError_t start(dm_view from, const double *largest, void *result, cudaStream_t stream) {
  if (from.dtype != DM_F64) return cudaErrorInvalidValue;
  const bool along = from.col_stride == 1;
  const int64_t down = divide_up(from.rows, along ? THREADS / 32 : THREADS);
  const int64_t blocks = down * divide_up(from.cols, BATCH * BATCHES * (along ? 32 : 1));
  if (blocks > INT32_MAX) return cudaErrorInvalidValue;
  const NormWork work = {static_cast<const double *>(from.base),
                         from.rows,
                         from.cols,
                         from.row_stride,
                         from.col_stride,
                         largest,
                         static_cast<Bits *>(result),
                         (unsigned)down};
  if (along)
    norms_along<Norm><<<(unsigned)blocks, THREADS, 0, stream>>>(work);
  else
    norms_beside<Norm><<<(unsigned)blocks, THREADS, 0, stream>>>(work);
  return cudaGetLastError();
}

/* As dm_exponent does it. */
__device__ int32_t exponent_of(double room_for, double largest, int64_t squares, int64_t count) {
  if (!(largest > 0.0)) return 0;
  int top, of_sum, of_bound;
  frexp(largest, &top);
  const double sum = frexp((double)(squares + count) * (1.0 + 0x1p-50), &of_sum);
  const double bound = frexp(room_for, &of_bound);
  const int room = of_bound - of_sum - (bound < sum ? 1 : 0) + DM_SQUARE_BITS;
  return (room - (room & 1)) / 2 - top;
}

__global__ void exponents_of(double room_for, int64_t rows, const double *largest,
                             const int64_t *squares, int64_t count, int32_t *exponents) {
  const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (row < rows) exponents[row] = exponent_of(room_for, largest[row], squares[row], count);
}

} // namespace

cudaError_t dm_kernels_residue_largest(dm_view from, double *largest, cudaStream_t stream) {
  return start<Largest>(from, nullptr, largest, stream);
}

cudaError_t dm_kernels_residue_squares(dm_view from, const double *largest, int64_t *squares,
                                       cudaStream_t stream) {
  return start<Squares>(from, largest, squares, stream);
}

cudaError_t dm_kernels_residue_exponents(const dm_moduli *moduli, int64_t rows,
                                         const double *largest, const int64_t *squares,
                                         int64_t count, int32_t *exponents, cudaStream_t stream) {
  const int64_t blocks = divide_up(rows, THREADS);
  if (blocks > INT32_MAX) return cudaErrorInvalidValue;
  exponents_of<<<(unsigned)blocks, THREADS, 0, stream>>>(moduli->squares, rows, largest, squares,
                                                         count, exponents);
  return cudaGetLastError();
}
