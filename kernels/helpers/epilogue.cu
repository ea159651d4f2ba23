/* epilogue: C = alpha (S_0 + S_1 + ...) + beta OLD, what is left to do when products are summed.
 *
 * The idea: a thread adds up one element of all sums, in their order and in f64, so C has the same
 * bits in every run and is rounded once.  Neighbouring threads read neighbouring sums; C may be by
 * columns, then its elements are scattered.  Multiplications and additions are not fused: the host
 * rounds alike.  Limits: elements are loaded one at a time. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/helpers/rounding.cuh"

namespace {

constexpr int COLS = 32, ROWS = 8; /* threads of a block */

__device__ __forceinline__ double widened(float v) {
  return v;
}
__device__ __forceinline__ double widened(double v) {
  return v;
}
__device__ __forceinline__ double widened(int32_t v) { /* exact */
  return v;
}
__device__ __forceinline__ double widened(__half v) {
  return __half2float(v);
}
__device__ __forceinline__ double widened(__nv_bfloat16 v) {
  return __bfloat162float(v);
}
template <class Part> __device__ __forceinline__ Complex128 widened(Complex<Part> v) {
  return {v.re, v.im};
}

template <class Sum> using Widened = decltype(widened(Sum()));

__device__ __forceinline__ double unfused_sum(double a, double b) {
  return __dadd_rn(a, b);
}
__device__ __forceinline__ Complex128 unfused_sum(Complex128 a, Complex128 b) {
  return {__dadd_rn(a.re, b.re), __dadd_rn(a.im, b.im)};
}
__device__ __forceinline__ double unfused_product(double a, double b) {
  return __dmul_rn(a, b);
}
__device__ __forceinline__ Complex128 unfused_product(Complex128 a, Complex128 b) {
  return {__dsub_rn(__dmul_rn(a.re, b.re), __dmul_rn(a.im, b.im)),
          __dadd_rn(__dmul_rn(a.re, b.im), __dmul_rn(a.im, b.re))};
}

/* A factor of C; 1 is left out, as infinite parts times zero would be NaN. */
template <class Wide> struct Scalar {
  Wide value;
  bool is_one, is_zero;

  __device__ __forceinline__ Wide operator()(Wide v) const {
    return is_one ? v : unfused_product(v, value);
  }
};

double scalar(const double v[2], double) {
  return v[0];
}
Complex128 scalar(const double v[2], Complex128) {
  return {v[0], v[1]};
}

template <class Wide> Scalar<Wide> scalar_of(const double v[2]) {
  return {scalar(v, Wide()), v[0] == 1.0 && v[1] == 0.0, v[0] == 0.0 && v[1] == 0.0};
}

template <class T> struct Strided {
  T *base;
  int64_t down, across;

  __device__ __forceinline__ T *at(int64_t row, int64_t col) const {
    return base + row * down + col * across;
  }
};

template <class T> Strided<T> strided_of(dm_view v) {
  return {static_cast<T *>(v.base), v.row_stride, v.col_stride};
}

template <class T, class Sum>
__global__ void __launch_bounds__(COLS *ROWS)
    epilogue(Strided<T> c, Strided<const T> old, Matrix<const Sum> sums, int64_t count,
             int64_t step, bool lower, Scalar<Widened<Sum>> alpha, Scalar<Widened<Sum>> beta) {
  typedef Widened<Sum> Wide;
  for (int64_t col = (int64_t)blockIdx.x * COLS + threadIdx.x; col < sums.cols;
       col += (int64_t)gridDim.x * COLS)
    for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < sums.rows;
         row += (int64_t)gridDim.y * ROWS) {
      if (lower && col > row) continue;
      const Sum *from = &sums.at(row, col);
      Wide sum = widened(*from);
#pragma unroll 4
      for (int64_t i = 1; i < count; i++) sum = unfused_sum(sum, widened(from[i * step]));
      sum = alpha(sum);
      if (!beta.is_zero) sum = unfused_sum(sum, beta(widened(*old.at(row, col))));
      round_to(c.at(row, col), sum);
    }
}

template <class T, class Sum> cudaError_t launch(const dm_epilogue *p) {
  typedef Widened<Sum> Wide;
  const dim3 grid(blocks_for(divide_up(p->sums.cols, COLS)),
                  blocks_for(divide_up(p->sums.rows, ROWS), 65535));
  epilogue<T, Sum><<<grid, dim3(COLS, ROWS), 0, p->stream>>>(
      strided_of<T>(p->c), strided_of<const T>(p->old), matrix_of<const Sum>(p->sums), p->count,
      p->step, p->lower, scalar_of<Wide>(p->alpha), scalar_of<Wide>(p->beta));
  return cudaGetLastError();
}

template <class Sum> cudaError_t launch_real(const dm_epilogue *p) {
  return with_one_of<double, float, __half, __nv_bfloat16>(
      p->c.dtype, [&](auto element) { return launch<decltype(element), Sum>(p); });
}

template <class Sum> cudaError_t launch_complex(const dm_epilogue *p) {
  return with_one_of<Complex64, Complex128>(
      p->c.dtype, [&](auto element) { return launch<decltype(element), Sum>(p); });
}

} // namespace

cudaError_t dm_kernels_epilogue(const dm_epilogue *p) {
  switch (p->sums.dtype) {
  case DM_F32:
    return launch_real<float>(p);
  case DM_F64:
    return launch_real<double>(p);
  case DM_I32: /* as they are */
    return launch<int32_t, int32_t>(p);
  case DM_C64:
    return launch_complex<Complex64>(p);
  case DM_C128:
    return launch_complex<Complex128>(p);
  default:
    return cudaErrorInvalidValue;
  }
}
