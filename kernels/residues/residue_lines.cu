/* The data that determine the exponents of rows and columns, as in backend/host_lines.c: integer
 * sums and extremes, which do not depend on the order, so threads combine them atomically. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/residue_kernels.h"

namespace {

typedef unsigned long long Bits;

constexpr int THREADS = 256, BATCH = 8, BATCHES = 16; /* numbers per batch and thread; batches */
constexpr int DEPTHS = DM_RESIDUE_LINE_SUMS - 1;
constexpr Bits INFINITE = 0x7ffull << 52;

struct LineTarget {
  const double *extremes; /* of complete lines, for sums */
  Bits *result;
  int depths[DEPTHS];
};

template <class Number> struct LineWork {
  const Number *from;
  int64_t rows, depth, row_stride, col_stride;
  unsigned down; /* blocks down the rows */
  LineTarget target;
};

/* Magnitudes of doubles order like their bits.  Finds the largest, and the largest difference of
 * INFINITE and a magnitude above 0. */
struct Extremes {
  static constexpr int COUNT = 2;
  Bits value[COUNT];

  __device__ __forceinline__ Extremes(const LineTarget &, int64_t) : value{0, 0} {
  }
  __device__ __forceinline__ void take(double number) {
    const Bits size = (Bits)__double_as_longlong(fabs(number));
    value[0] = max(value[0], min(size, INFINITE));
    if (size != 0 && size < INFINITE) value[1] = max(value[1], INFINITE - size);
  }
  __device__ __forceinline__ void join_lanes(int x, int lanes) {
    value[x] = max(value[x], __shfl_xor_sync(~0u, value[x], lanes));
  }
  __device__ __forceinline__ void add(Bits *to, int x) const {
    if (value[x] != 0) atomicMax(to + x, value[x]);
  }
};

struct Sums {
  static constexpr int COUNT = 1 + DEPTHS;
  dm_power power;
  int64_t squares;
  int least[DEPTHS]; /* smallest high words of counted numbers */
  int counts[DEPTHS];

  /* Lines of zeros and lines with infinite numbers get 0. */
  __device__ __forceinline__ Sums(const LineTarget &target, int64_t row) : squares(0) {
    const double largest = target.extremes[2 * row];
    int top = 0;
    power.by = power.then = 0.0;
    if (largest > 0.0 && isfinite(largest)) {
      frexp(largest, &top);
      power = dm_power_of(DM_SQUARE_BITS / 2 - top);
    }
#pragma unroll
    for (int d = 0; d < DEPTHS; d++) {
      least[d] = (1023 + DM_SQUARE_BITS / 2 - target.depths[d]) << 20;
      counts[d] = 0;
    }
  }
  __device__ __forceinline__ void take(double number) {
    const double size = fabs(number) * power.by * power.then;
    squares += (int64_t)(size * size);
    const int high = __double2hiint(size);
#pragma unroll
    for (int d = 0; d < DEPTHS; d++) counts[d] += high >= least[d];
  }
  __device__ __forceinline__ void join_lanes(int x, int lanes) {
    if (x == 0)
      squares += __shfl_xor_sync(~0u, squares, lanes);
    else
      counts[x - 1] += __shfl_xor_sync(~0u, counts[x - 1], lanes);
  }
  __device__ __forceinline__ void add(Bits *to, int x) const {
    const Bits value = x == 0 ? (Bits)squares : (Bits)counts[x - 1];
    if (value != 0) atomicAdd(to + x, value);
  }
};

/* Processes numbers STEP apart along k, from K to below END. */
template <class Line, class Number>
__device__ __forceinline__ void take_numbers(const LineWork<Number> &work, Line &line, int64_t row,
                                             int64_t k, int step, int64_t end) {
  const Number *from = work.from + row * work.row_stride;
  for (; k + (BATCH - 1) * step < end; k += BATCH * step) {
    Number numbers[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) numbers[i] = from[(k + i * step) * work.col_stride];
#pragma unroll
    for (int i = 0; i < BATCH; i++) line.take(numbers[i]);
  }
  for (; k < end; k += step) line.take(from[k * work.col_stride]);
}

/* If numbers along k are contiguous: a warp for a part of a row. */
template <class Line, class Number>
__global__ void __launch_bounds__(THREADS) contiguous_lines(const LineWork<Number> work) {
  constexpr int64_t DEEP = 32 * BATCH * BATCHES;
  const int64_t row = (int64_t)(blockIdx.x % work.down) * (THREADS / 32) + threadIdx.x / 32;
  const int64_t k = blockIdx.x / work.down * DEEP;
  if (row >= work.rows) return; /* for the whole warp */
  Line line(work.target, row);
  take_numbers(work, line, row, k + threadIdx.x % 32, 32, min(k + DEEP, work.depth));
#pragma unroll
  for (int x = 0; x < Line::COUNT; x++) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) line.join_lanes(x, lanes);
    if (threadIdx.x % 32 == 0) line.add(work.target.result + Line::COUNT * row, x);
  }
}

/* For any other strides: a thread for a part of a row. */
template <class Line, class Number>
__global__ void __launch_bounds__(THREADS) strided_lines(const LineWork<Number> work) {
  constexpr int64_t DEEP = BATCH * BATCHES;
  const int64_t row = (int64_t)(blockIdx.x % work.down) * THREADS + threadIdx.x;
  const int64_t k = blockIdx.x / work.down * DEEP;
  if (row >= work.rows) return;
  Line line(work.target, row);
  take_numbers(work, line, row, k, 1, min(k + DEEP, work.depth));
#pragma unroll
  for (int x = 0; x < Line::COUNT; x++) line.add(work.target.result + Line::COUNT * row, x);
}

template <class Line, class Number>
cudaError_t start_on(const LineTarget &target, dm_view from, cudaStream_t stream) {
  const bool along = from.col_stride == 1;
  const int64_t down = divide_up(from.rows, along ? THREADS / 32 : THREADS);
  const int64_t blocks = down * divide_up(from.cols, BATCH * BATCHES * (along ? 32 : 1));
  if (blocks > INT32_MAX) return cudaErrorInvalidValue;
  const LineWork<Number> work = {static_cast<const Number *>(from.base),
                                 from.rows,
                                 from.cols,
                                 from.row_stride,
                                 from.col_stride,
                                 (unsigned)down,
                                 target};
  if (along)
    contiguous_lines<Line, Number><<<(unsigned)blocks, THREADS, 0, stream>>>(work);
  else
    strided_lines<Line, Number><<<(unsigned)blocks, THREADS, 0, stream>>>(work);
  return cudaGetLastError();
}

template <class Line>
cudaError_t start(const LineTarget &target, dm_view from, cudaStream_t stream) {
  return with_one_of<float, double>(from.dtype, [&](auto number) {
    return start_on<Line, decltype(number)>(target, from, stream);
  });
}

} // namespace

cudaError_t dm_kernels_residue_extremes(dm_view from, uint64_t *extremes, cudaStream_t stream) {
  LineTarget target = {};
  target.result = reinterpret_cast<Bits *>(extremes);
  return start<Extremes>(target, from, stream);
}

cudaError_t dm_kernels_residue_sums(dm_view from, const double *extremes, const int *depths,
                                    int64_t *sums, cudaStream_t stream) {
  LineTarget target = {};
  target.extremes = extremes;
  target.result = reinterpret_cast<Bits *>(sums);
  for (int d = 0; d < DEPTHS; d++) target.depths[d] = depths[d];
  return start<Sums>(target, from, stream);
}
