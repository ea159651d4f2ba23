/* few: reads some elements of any type at once as numbers, f64 or two f64, and marks those that are
 * missing. The type is looked up when the kernel runs: all threads take the same way, and one
 * kernel serves all types. */
#ifndef DM_KERNELS_FEW_CUH
#define DM_KERNELS_FEW_CUH

#include "core/centering.h"
#include "core/view.h"
#include "kernels/helpers/number.cuh"

/* COUNT elements side by side, read 16 bytes at once if there are so many. */
template <class T, int COUNT>
constexpr int alignment_of = COUNT * sizeof(T) < 16 ? COUNT * sizeof(T) : 16;
template <class T, int COUNT> struct alignas(alignment_of<T, COUNT>) Few { T at[COUNT]; };

/* ---- numbers ---- */

template <class Number> constexpr int parts_of = sizeof(Number) / sizeof(double);

static __device__ __forceinline__ bool is_nan(double a) {
  return a != a;
}
static __device__ __forceinline__ bool is_nan(Complex128 a) {
  return a.re != a.re || a.im != a.im;
}
static __device__ __forceinline__ double minus(double a, double b) {
  return a - b;
}
static __device__ __forceinline__ Complex128 minus(Complex128 a, Complex128 b) {
  return {a.re - b.re, a.im - b.im};
}
/* a + f b */
static __device__ __forceinline__ double plus(double a, double f, double b) {
  return fma(f, b, a);
}
static __device__ __forceinline__ Complex128 plus(Complex128 a, double f, Complex128 b) {
  return {fma(f, b.re, a.re), fma(f, b.im, a.im)};
}

static __device__ __forceinline__ double scaled(double a, double f) {
  return a * f;
}
static __device__ __forceinline__ Complex128 scaled(Complex128 a, double f) {
  return {a.re * f, a.im * f};
}

/* ---- missing elements ---- */

template <class Number> static __device__ __forceinline__ Number missing();
template <> __device__ __forceinline__ double missing() {
  return nan("");
}
template <> __device__ __forceinline__ Complex128 missing() {
  return {nan(""), nan("")};
}

static __device__ __forceinline__ double without_gaps(const dm_gaps &gaps, double x) {
  const double instead = gaps.zero ? 0.0 : missing<double>();
  if (gaps.nan && is_nan(x)) return instead;
  for (int i = 0; i < gaps.count; i++)
    if (x == gaps.values[i]) return instead;
  return x;
}
static __device__ __forceinline__ Complex128 without_gaps(const dm_gaps &gaps, Complex128 x) {
  if (!gaps.nan || !is_nan(x)) return x;
  const double instead = gaps.zero ? 0.0 : missing<double>();
  return {instead, instead};
}

/* ---- loads ---- */

/* x[u][v] = element base[at + u * step + v] if v < count[u], for u < RUNS and v < COUNT; others are
 * 0. All of these places are aligned for COUNT elements. */
template <class Element, class Number, int RUNS, int COUNT>
static __device__ __forceinline__ void load_as(Number (&x)[RUNS][COUNT], const void *base,
                                               int64_t at, int64_t step, const int (&count)[RUNS]) {
  const Element *p = static_cast<const Element *>(base) + at;
  Few<Element, COUNT> few[RUNS];
  bool full = true;
#pragma unroll
  for (int u = 0; u < RUNS; u++) full &= count[u] >= COUNT;
  if (full) {
#pragma unroll
    for (int u = 0; u < RUNS; u++)
      few[u] = *reinterpret_cast<const Few<Element, COUNT> *>(p + u * step);
  } else {
#pragma unroll
    for (int u = 0; u < RUNS; u++)
#pragma unroll
      for (int v = 0; v < COUNT; v++) few[u].at[v] = v < count[u] ? p[u * step + v] : Element();
  }
#pragma unroll
  for (int u = 0; u < RUNS; u++)
#pragma unroll
    for (int v = 0; v < COUNT; v++) x[u][v] = widen<Number>(few[u].at[v]);
}

template <int RUNS, int COUNT>
static __device__ __forceinline__ void load_few(double (&x)[RUNS][COUNT], dm_dtype dtype,
                                                const void *base, int64_t at, int64_t step,
                                                const int (&count)[RUNS]) {
  switch (dtype) {
  case DM_F64:
    return load_as<double>(x, base, at, step, count);
  case DM_F32:
    return load_as<float>(x, base, at, step, count);
  case DM_F16:
    return load_as<__half>(x, base, at, step, count);
  case DM_BF16:
    return load_as<__nv_bfloat16>(x, base, at, step, count);
  case DM_I8:
    return load_as<int8_t>(x, base, at, step, count);
  default:
    return load_as<int32_t>(x, base, at, step, count);
  }
}

template <int RUNS, int COUNT>
static __device__ __forceinline__ void load_few(Complex128 (&x)[RUNS][COUNT], dm_dtype dtype,
                                                const void *base, int64_t at, int64_t step,
                                                const int (&count)[RUNS]) {
  if (dtype == DM_C64) return load_as<Complex64>(x, base, at, step, count);
  load_as<Complex128>(x, base, at, step, count);
}

/* Whether rows of M can be read or written COUNT elements at once. */
static inline bool has_few(dm_view m, int count) {
  const int64_t size = size_of(m.dtype), bytes = size * count < 16 ? size * count : 16;
  return m.col_stride == 1 && (uintptr_t)m.base % bytes == 0 &&
         (m.rows == 1 || m.row_stride * size % bytes == 0);
}

/* Elements of a wide access, at most 32 bytes of numbers. */
template <class Number> constexpr int FEW = 4 / parts_of<Number>;

#endif
