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

__device__ __forceinline__ Complex128 scaled(Complex128 a, double f) {
  return {a.re * f, a.im * f};
}
__device__ __forceinline__ double scaled(double a, double f) {
  return a * f;
}

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
  double factor;
};

template <class Number>
__device__ __forceinline__ Change<Number> change_of(const dm_centering &c, int64_t line) {
  const Number *shift = reinterpret_cast<const Number *>(c.shift);
  const Number *fill = reinterpret_cast<const Number *>(c.fill);
  return {shift ? shift[line] : Number(), fill ? fill[line] : missing<Number>(),
          c.factor ? c.factor[line] : 1.0};
}

__device__ __forceinline__ double weight_of(const dm_centering &c, int64_t line) {
  return c.weight ? c.weight[line] : 1.0;
}

template <class Number>
__device__ __forceinline__ Number changed(const dm_centering &c, Number x,
                                          const Change<Number> &change, double weight) {
  if (c.role == DM_ROLE_PRESENT) return present(x);
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

template <class To, class Number> cudaError_t launch_any(const dm_center_work &work) {
  constexpr int COUNT = FEW<Number>;
  return has_few(work.from, COUNT) && has_few(work.to, COUNT) ? launch<To, Number, COUNT>(work)
                                                              : launch<To, Number, 1>(work);
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
    return launch_any<double, double>(work);
  case DM_F32:
    return launch_any<float, double>(work);
  case DM_F16:
    return launch_any<__half, double>(work);
  case DM_BF16:
    return launch_any<__nv_bfloat16, double>(work);
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
