/* rounding: rounds f64 once to the types of matrices, as dm_store_wide (core/copy.c) does. */
#ifndef DM_KERNELS_ROUNDING_CUH
#define DM_KERNELS_ROUNDING_CUH

#include "kernels/helpers/number.cuh"

static __device__ __forceinline__ void round_to(double *to, double v) {
  *to = v;
}
static __device__ __forceinline__ void round_to(float *to, double v) {
  *to = (float)v;
}
/* BITS, or if they are NaN, of which the instructions make another, QUIET with the sign of V:
 * without a branch, so that conversions overlap. INFINITE: bits of infinity. */
static __device__ __forceinline__ unsigned short with_nan(unsigned short bits, double v,
                                                          unsigned infinite, unsigned quiet) {
  const unsigned sign = (unsigned)__double2hiint(v) >> 16 & 0x8000u;
  return (bits & 0x7fffu) > infinite ? (unsigned short)(sign | quiet) : bits;
}
static __device__ __forceinline__ void round_to(__half *to, double v) {
  *to = __ushort_as_half(with_nan(__half_as_ushort(__double2half(v)), v, 0x7c00, 0x7e00));
}
static __device__ __forceinline__ void round_to(__nv_bfloat16 *to, double v) {
  const unsigned short bits = __bfloat16_as_ushort(__double2bfloat16(v));
  *to = __ushort_as_bfloat16(with_nan(bits, v, 0x7f80, 0x7fc0));
}

template <class Part>
static __device__ __forceinline__ void round_to(Complex<Part> *to, Complex128 v) {
  *to = {(Part)v.re, (Part)v.im};
}

static __device__ __forceinline__ double clamp(double v, double low, double high) {
  return v < low ? low : v > high ? high : v;
}
static __device__ __forceinline__ void round_to(int8_t *to, double v) {
  *to = (int8_t)clamp(nearbyint(v), -128, 127);
}
static __device__ __forceinline__ void round_to(int32_t *to, double v) {
  *to = (int32_t)clamp(nearbyint(v), -2147483648.0, 2147483647.0);
}

#endif
