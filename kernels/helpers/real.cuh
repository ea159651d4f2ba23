/* real: the element types built into C++, on the device.  Like every header that warp_tile.cuh
 * includes, it contains only device code and includes no CUDA header, because NVRTC compiles it
 * too. */
#ifndef DM_KERNELS_REAL_CUH
#define DM_KERNELS_REAL_CUH

#include <stdint.h>

/* Sum: accumulates products of Element.  Wide: the same for verification. */
template <class Element> struct Types;
template <> struct Types<double> { typedef double Sum, Wide; };
template <> struct Types<float> {
  typedef float Sum;
  typedef double Wide;
};
template <> struct Types<int8_t> {
  typedef int32_t Sum;
  typedef int64_t Wide;
};
template <> struct Types<int32_t> {
  typedef int32_t Sum;
  typedef int64_t Wide;
};

/* ---- widening: exact ---- */

template <class To> static __device__ __forceinline__ To widen(double v) {
  return v;
}
template <class To> static __device__ __forceinline__ To widen(float v) {
  return v;
}
template <class To> static __device__ __forceinline__ To widen(int8_t v) {
  return v;
}
template <class To> static __device__ __forceinline__ To widen(int32_t v) {
  return v;
}

/* ---- a * b + c; integers wrap ---- */

static __device__ __forceinline__ double mad(double a, double b, double c) {
  return fma(a, b, c);
}
static __device__ __forceinline__ float mad(float a, float b, float c) {
  return fmaf(a, b, c);
}
static __device__ __forceinline__ int32_t mad(int32_t a, int32_t b, int32_t c) {
  return (int32_t)((uint32_t)a * (uint32_t)b + (uint32_t)c);
}
static __device__ __forceinline__ int64_t mad(int64_t a, int64_t b, int64_t c) {
  return (int64_t)((uint64_t)a * (uint64_t)b + (uint64_t)c);
}

#endif
