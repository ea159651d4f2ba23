/* number: all element types on the device: accumulators, wide types, and dispatch from a
 * dm_dtype. */
#ifndef DM_KERNELS_NUMBER_CUH
#define DM_KERNELS_NUMBER_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/dtype.h"
#include "kernels/gemm.h"

template <class Part> struct Complex { Part re, im; };
typedef Complex<float> Complex64;
typedef Complex<double> Complex128;

/* The type that holds sums of elements for verification. */
template <class Element> struct WideOf { typedef double Type; };
template <> struct WideOf<int8_t> { typedef int64_t Type; };
template <> struct WideOf<int32_t> { typedef int64_t Type; };
template <class Part> struct WideOf<Complex<Part>> { typedef Complex128 Type; };

/* ---- widening: exact ---- */

template <class To> static __device__ __forceinline__ To widen(__half v) {
  return __half2float(v);
}
template <class To> static __device__ __forceinline__ To widen(__nv_bfloat16 v) {
  return __bfloat162float(v);
}
template <class To, class Part> static __device__ __forceinline__ To widen(Complex<Part> v) {
  return To{v.re, v.im};
}

/* ---- a * b + c ---- */

static __device__ __forceinline__ int64_t mad(int64_t a, int64_t b, int64_t c) { /* wraps */
  return (int64_t)((uint64_t)a * (uint64_t)b + (uint64_t)c);
}

template <class Part>
static __device__ __forceinline__ Complex<Part> mad(Complex<Part> a, Complex<Part> b,
                                                    Complex<Part> c) {
  return {mad(-a.im, b.im, mad(a.re, b.re, c.re)), mad(a.im, b.re, mad(a.re, b.im, c.im))};
}

/* ---- a + b ---- */

static __device__ __forceinline__ float plus(float a, float b) {
  return a + b;
}
static __device__ __forceinline__ double plus(double a, double b) {
  return a + b;
}
static __device__ __forceinline__ int64_t plus(int64_t a, int64_t b) { /* wraps */
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static __device__ __forceinline__ Complex128 plus(Complex128 a, Complex128 b) {
  return {a.re + b.re, a.im + b.im};
}

/* ---- |a|^2 + c ---- */

static __device__ __forceinline__ double mad_square(double a, double c) {
  return fma(a, a, c);
}
static __device__ __forceinline__ double mad_square(Complex128 a, double c) {
  return fma(a.im, a.im, fma(a.re, a.re, c));
}
static __device__ __forceinline__ double mad_square(int64_t a, double c) {
  return fma((double)a, (double)a, c);
}

/* ---- |a size|^2 + c ---- */

template <class Wide>
static __device__ __forceinline__ double add_sized(Wide m, double size, double c) {
  return mad_square((double)m * size, c);
}
static __device__ __forceinline__ double add_sized(Complex128 m, double size, double c) {
  return mad_square(Complex128{m.re * size, m.im * size}, c);
}

/* ---- zero ---- */

template <class T> static __device__ __forceinline__ bool is_zero(T v) {
  return v == 0;
}
template <class Part> static __device__ __forceinline__ bool is_zero(Complex<Part> v) {
  return v.re == 0 && v.im == 0;
}

/* ---- from a dm_dtype to a type ---- */

template <class T> constexpr dm_dtype dtype_of = DM_DTYPE_NONE;
template <> constexpr dm_dtype dtype_of<double> = DM_F64;
template <> constexpr dm_dtype dtype_of<float> = DM_F32;
template <> constexpr dm_dtype dtype_of<__half> = DM_F16;
template <> constexpr dm_dtype dtype_of<__nv_bfloat16> = DM_BF16;
template <> constexpr dm_dtype dtype_of<Complex64> = DM_C64;
template <> constexpr dm_dtype dtype_of<Complex128> = DM_C128;
template <> constexpr dm_dtype dtype_of<int8_t> = DM_I8;
template <> constexpr dm_dtype dtype_of<int32_t> = DM_I32;

/* Calls FUNCTION with a value of DTYPE's type, which must be one of TS. */
template <class... Ts, class Function>
static cudaError_t with_one_of(dm_dtype dtype, Function function) {
  cudaError_t error = cudaErrorInvalidValue;
  (void)((dtype == dtype_of<Ts> && (error = function(Ts()), true)) || ...);
  return error;
}

template <class Function> static cudaError_t with_type(dm_dtype dtype, Function function) {
  return with_one_of<double, float, __half, __nv_bfloat16, Complex64, Complex128, int8_t, int32_t>(
      dtype, function);
}

/* The same for types of additions and dot products. */
template <class Function> static cudaError_t with_sum(dm_dtype dtype, Function function) {
  return with_one_of<double, float, int32_t>(dtype, function);
}

/* Bytes of one element. */
static inline int64_t size_of(dm_dtype dtype) {
  int64_t size = 0;
  with_type(dtype, [&](auto element) {
    size = sizeof element;
    return cudaSuccess;
  });
  return size;
}

#endif
