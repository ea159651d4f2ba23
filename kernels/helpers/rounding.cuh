/* rounding: rounds f64 once to the types of matrices, as dm_store_wide (core/copy.c) does. */
#ifndef DM_KERNELS_ROUNDING_CUH
#define DM_KERNELS_ROUNDING_CUH

#include "core/elementary.h"
#include "kernels/helpers/number.cuh"

static __device__ __forceinline__ void round_to(double *to, double v) {
  *to = v;
}
static __device__ __forceinline__ void round_to(float *to, double v) {
  *to = (float)v;
}
/* The instructions have another NaN. */
static __device__ __forceinline__ void round_to(__half *to, double v) {
  *to = v == v ? __double2half(v) : __ushort_as_half(dm_f64_to_f16(v));
}
static __device__ __forceinline__ void round_to(__nv_bfloat16 *to, double v) {
  *to = v == v ? __double2bfloat16(v) : __ushort_as_bfloat16(dm_f64_to_bf16(v));
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
