/* center: TO = FROM less the means of its lines, times factors and weights, missing elements
 * replaced.
 *
 * No element is reused, so memory bandwidth is the limit: a thread has a few neighbouring columns,
 * whose numbers stay in registers, and reads several rows before it writes them. */
#include "kernels/helpers/few.cuh"
#include "kernels/helpers/matrix.cuh"
#include "kernels/helpers/rounding.cuh"
#include "kernels/helpers/run.cuh"
#include "kernels/line_kernels.h"

namespace {

constexpr int COLS = 32, ROWS = 8; /* threads of a block */
constexpr int DEPTH = 4;           /* rows of a thread at once */

__device__ __forceinline__ double squared(double a) {
  return a * a;
}
__device__ __forceinline__ Complex128 squared(Complex128 a) { /* part by part, as on the host */
  return {a.re * a.re, a.im * a.im};
}

__device__ __forceinline__ double present(double a) {
  return is_nan(a) ? 0.0 : 1.0;
}
__device__ __forceinline__ Complex128 present(Complex128 a) {
  return {present(a.re), present(a.im)};
}

/* What is done to a line's elements. */
template <class Number> struct Change {
  Number shift, fill;
  double factor, power;
};

template <class Number>
__device__ __forceinline__ Change<Number> change_of(const dm_centering &c, int64_t line) {
  const Number *shift = reinterpret_cast<const Number *>(c.shift);
  const Number *fill = reinterpret_cast<const Number *>(c.fill);
  return {shift ? shift[line] : Number(), fill ? fill[line] : missing<Number>(),
          c.factor ? c.factor[line] : 1.0, c.power ? c.power[line] : 1.0};
}

__device__ __forceinline__ double weight_of(const dm_centering &c, int64_t line) {
  return c.weight ? c.weight[line] : 1.0;
}

template <class Number>
__device__ __forceinline__ Number changed(const dm_centering &c, Number x,
                                          const Change<Number> &change, double weight) {
  if (weight < 0.0) return Number(); /* left out */
  if (c.role == DM_ROLE_PRESENT) return scaled(present(x), weight);
  x = scaled(x, change.power);
  if (c.fill && is_nan(x)) x = change.fill;
  x = scaled(scaled(minus(x, change.shift), change.factor), weight);
  return c.role == DM_ROLE_SQUARES ? squared(x) : x;
}

/* BY_ROWS: lines are rows; else columns. */
template <class To, class Number, int COUNT, bool BY_ROWS>
__global__ void __launch_bounds__(COLS *ROWS) center(dm_center_work work) {
  const dm_view &from = work.from;
  const dm_centering &c = work.centering;
  const int64_t col = ((int64_t)blockIdx.x * COLS + threadIdx.x) * COUNT;
  const int64_t step = (int64_t)gridDim.y * ROWS;
  if (col >= from.cols) return;
  const int width = from.cols - col < COUNT ? (int)(from.cols - col) : COUNT;
  const bool weighs_rows = c.weight_lines == DM_ROW_LINES;
  Change<Number> changes[COUNT] = {};
  double weights[COUNT];
#pragma unroll
  for (int v = 0; v < COUNT; v++) {
    if (!BY_ROWS && v < width) changes[v] = change_of<Number>(c, col + v);
    weights[v] = !weighs_rows && v < width ? weight_of(c, col + v) : 1.0;
  }
  for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < from.rows;
       row += step * DEPTH) {
    Number x[DEPTH][COUNT];
    int count[DEPTH];
#pragma unroll
    for (int u = 0; u < DEPTH; u++) count[u] = row + u * step < from.rows ? width : 0;
    load_few(x, from.dtype, from.base, row * from.row_stride + col, step * from.row_stride, count);
#pragma unroll
    for (int u = 0; u < DEPTH; u++) {
      if (count[u] == 0) break;
      const int64_t at = row + u * step;
      const Change<Number> of_row = BY_ROWS ? change_of<Number>(c, at) : Change<Number>();
      const double weight = weighs_rows ? weight_of(c, at) : 1.0;
      To *to = static_cast<To *>(work.to.base) + at * work.to.row_stride + col;
      Few<To, COUNT> rounded;
#pragma unroll
      for (int v = 0; v < COUNT; v++)
        round_to(&rounded.at[v], changed(c, without_gaps(work.gaps, x[u][v]),
                                         BY_ROWS ? of_row : changes[v], weights[v] * weight));
      if (width == COUNT)
        *reinterpret_cast<Few<To, COUNT> *>(to) = rounded;
      else
        for (int v = 0; v < width; v++) to[v] = rounded.at[v];
    }
  }
}

template <class To, class Number, int COUNT> cudaError_t launch(const dm_center_work &work) {
  const int64_t across = divide_up(divide_up(work.from.cols, COUNT), COLS);
  const dim3 grid(blocks_for(across), blocks_for(divide_up(work.from.rows, ROWS * DEPTH), 65535));
  const bool by_rows = work.centering.lines == DM_ROW_LINES;
  (by_rows ? center<To, Number, COUNT, true>
           : center<To, Number, COUNT, false>)<<<grid, dim3(COLS, ROWS), 0, work.stream>>>(work);
  return cudaGetLastError();
}

/* ---- the same type, nothing missing, no weights: 16 bytes at once, and few registers ---- */

constexpr int THREADS = COLS * ROWS, BLOCKS = 2048;

template <class T, bool BY_ROWS, bool SCALES>
__global__ void __launch_bounds__(THREADS) center_plain(dm_center_work work) {
  constexpr int COUNT = 16 / sizeof(T);
  const dm_view &from = work.from, &to = work.to;
  const dm_centering &c = work.centering;
  const int64_t col = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * COUNT;
  const int64_t step = (int64_t)gridDim.y * blockDim.y;
  if (col >= from.cols) return;
  const int width = from.cols - col < COUNT ? (int)(from.cols - col) : COUNT;
  double shift[COUNT] = {}, factor[COUNT];
#pragma unroll
  for (int v = 0; v < COUNT; v++) {
    const bool is = !BY_ROWS && v < width;
    if (is && c.shift) shift[v] = c.shift[col + v];
    factor[v] = SCALES && is ? c.factor[col + v] : 1.0;
  }
  const auto changed = [&](const Run<T, true> &x, int64_t row) {
    const double of_row = BY_ROWS && c.shift ? c.shift[row] : 0.0;
    const double by = BY_ROWS && SCALES ? c.factor[row] : 1.0;
    Few<T, COUNT> rounded;
#pragma unroll
    for (int v = 0; v < COUNT; v++) {
      const double d = widen<double>(x.at[v]) - (BY_ROWS ? of_row : shift[v]);
      round_to(&rounded.at[v], SCALES ? d * (BY_ROWS ? by : factor[v]) : d);
    }
    return rounded;
  };
  int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
  const T *p = static_cast<const T *>(from.base) + row * from.row_stride + col;
  T *q = static_cast<T *>(to.base) + row * to.row_stride + col;
  const int64_t stride = step * from.row_stride, to_stride = step * to.row_stride;
  /* Loads without conditions: the compiler puts other instructions between conditional ones. */
  for (; width == COUNT && row + (DEPTH - 1) * step < from.rows; row += DEPTH * step) {
    Run<T, true> x[DEPTH];
#pragma unroll
    for (int u = 0; u < DEPTH; u++, p += stride) x[u] = load_run<T, true>(p);
#pragma unroll
    for (int u = 0; u < DEPTH; u++, q += to_stride)
      *reinterpret_cast<Few<T, COUNT> *>(q) = changed(x[u], row + u * step);
  }
  for (; row < from.rows; row += step, p += stride, q += to_stride) {
    const Few<T, COUNT> rounded = changed(load_run<T, true>(p, width), row);
    for (int v = 0; v < width; v++) q[v] = rounded.at[v];
  }
}

template <class T, bool SCALES> cudaError_t launch_plain(const dm_center_work &work) {
  const int64_t few = divide_up(work.from.cols, 16 / sizeof(T));
  int lanes = COLS;
  while (lanes > 1 && lanes / 2 >= few) lanes /= 2;
  const dim3 block(lanes, THREADS / lanes);
  const int64_t across = divide_up(few, lanes), most = BLOCKS / across;
  const dim3 grid(
      blocks_for(across),
      blocks_for(divide_up(work.from.rows, (int64_t)block.y * DEPTH), most > 1 ? most : 1));
  const bool by_rows = work.centering.lines == DM_ROW_LINES;
  (by_rows ? center_plain<T, true, SCALES>
           : center_plain<T, false, SCALES>)<<<grid, block, 0, work.stream>>>(work);
  return cudaGetLastError();
}

bool is_plain(const dm_center_work &work) {
  const dm_centering &c = work.centering;
  const int count = 16 / (int)size_of(work.to.dtype);
  return work.from.dtype == work.to.dtype && c.role == DM_ROLE_VALUES && !c.fill && !c.weight &&
         !c.power && work.gaps.count == 0 && !work.gaps.zero && has_few(work.from, count) &&
         has_few(work.to, count);
}

template <class To, class Number> cudaError_t launch_any(const dm_center_work &work) {
  constexpr int COUNT = FEW<Number>;
  return has_few(work.from, COUNT) && has_few(work.to, COUNT) ? launch<To, Number, COUNT>(work)
                                                              : launch<To, Number, 1>(work);
}

template <class T> cudaError_t launch_real(const dm_center_work &work) {
  return !is_plain(work)         ? launch_any<T, double>(work)
         : work.centering.factor ? launch_plain<T, true>(work)
                                 : launch_plain<T, false>(work);
}

dm_lines turned(dm_lines lines) {
  return lines == DM_ROW_LINES ? DM_COLUMN_LINES : DM_ROW_LINES;
}

} // namespace

cudaError_t dm_kernels_center(const dm_center_work *given) {
  dm_center_work work = *given;
  if (work.from.col_stride != 1 || work.to.col_stride != 1) {
    work.from = turned(work.from);
    work.to = turned(work.to);
    work.centering.lines = turned(work.centering.lines);
    work.centering.weight_lines = turned(work.centering.weight_lines);
  }
  if (work.from.col_stride != 1 || work.to.col_stride != 1) return cudaErrorInvalidValue;
  switch (work.to.dtype) {
  case DM_F64:
    return launch_real<double>(work);
  case DM_F32:
    return launch_real<float>(work);
  case DM_F16:
    return launch_real<__half>(work);
  case DM_BF16:
    return launch_real<__nv_bfloat16>(work);
  case DM_I8:
    return launch_any<int8_t, double>(work);
  case DM_C64:
    return launch_any<Complex64, Complex128>(work);
  case DM_C128:
    return launch_any<Complex128, Complex128>(work);
  default:
    return cudaErrorInvalidValue;
  }
}
