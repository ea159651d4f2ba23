/* number: all element types on the device: their accumulators, their wide types, and how to get
 * from a dm_dtype to one of them. */
#ifndef DM_KERNELS_NUMBER_CUH
#define DM_KERNELS_NUMBER_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/dtype.h"
#include "kernels/helpers/real.cuh"

template <class Part> struct Complex { Part re, im; };
typedef Complex<float> Complex64;
typedef Complex<double> Complex128;

template <> struct Types<__half> {
  typedef float Sum;
  typedef double Wide;
};
template <> struct Types<__nv_bfloat16> {
  typedef float Sum;
  typedef double Wide;
};
template <> struct Types<Complex64> {
  typedef Complex64 Sum;
  typedef Complex128 Wide;
};
template <> struct Types<Complex128> { typedef Complex128 Sum, Wide; };
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

template <class Part>
static __device__ __forceinline__ Complex<Part> mad(Complex<Part> a, Complex<Part> b,
                                                    Complex<Part> c) {
  return {mad(-a.im, b.im, mad(a.re, b.re, c.re)), mad(a.im, b.re, mad(a.re, b.im, c.im))};
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

/* ---- zero ---- */

template <class T> static __device__ __forceinline__ bool is_zero(T v) {
  return v == 0;
}
template <class Part> static __device__ __forceinline__ bool is_zero(Complex<Part> v) {
  return v.re == 0 && v.im == 0;
}

/* FUNCTION called with a value of the C++ type that DTYPE names. */
template <class Function> static cudaError_t with_type(dm_dtype dtype, Function function) {
  switch (dtype) {
  case DM_F64:
    return function(double());
  case DM_F32:
    return function(float());
  case DM_F16:
    return function(__half());
  case DM_BF16:
    return function(__nv_bfloat16());
  case DM_C64:
    return function(Complex64());
  case DM_C128:
    return function(Complex128());
  case DM_I8:
    return function(int8_t());
  case DM_I32:
    return function(int32_t());
  case DM_DTYPE_COUNT:
    break;
  }
  return cudaErrorInvalidValue;
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
