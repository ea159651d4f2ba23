/* probe: what probes share: sums over the lanes of a warp, and elements that do not count. */
#ifndef DM_KERNELS_PROBE_CUH
#define DM_KERNELS_PROBE_CUH

#include "kernels/helpers/number.cuh"
#include "kernels/helpers/run.cuh"

constexpr int LANES = 32;

static __device__ __forceinline__ float of_lane(float v, int distance) {
  return __shfl_xor_sync(~0u, v, distance);
}
static __device__ __forceinline__ double of_lane(double v, int distance) {
  return __shfl_xor_sync(~0u, v, distance);
}
static __device__ __forceinline__ int64_t of_lane(int64_t v, int distance) {
  return (int64_t)__shfl_xor_sync(~0u, (long long)v, distance);
}
static __device__ __forceinline__ Complex128 of_lane(Complex128 v, int distance) {
  return {of_lane(v.re, distance), of_lane(v.im, distance)};
}

/* The sum of V[r] over a group of lanes, for row r = lane / (GROUP / ROWS).  At each step a lane
 * passes on half of its rows and keeps the others, so that 8 rows take 9 exchanges, not 40: with
 * short rows these would take longer than reading M. */
template <int GROUP, int ROWS, class T>
static __device__ __forceinline__ T sum_of_lanes(T (&v)[ROWS]) {
  int distance = GROUP / 2;
#pragma unroll
  for (int half = ROWS / 2; half > 0; half /= 2, distance /= 2) {
    const bool upper = threadIdx.x & distance;
#pragma unroll
    for (int r = 0; r < half; r++) {
      const T passed = of_lane(upper ? v[r] : v[r + half], distance);
      v[r] = plus(upper ? v[r + half] : v[r], passed);
    }
  }
#pragma unroll
  for (; distance > 0; distance /= 2) v[0] = plus(v[0], of_lane(v[0], distance));
  return v[0];
}

/* All bits set for elements whose x is not 0.  The other elements must not count, but may be NaN,
 * and NaN * 0 is NaN: clearing their bits makes them 0. */
struct Mask {
  uint32_t words[4];
};

template <class Element, int LENGTH, class Wide>
static __device__ __forceinline__ Mask mask_of(const Wide (&x)[LENGTH]) {
  constexpr int SIZE = sizeof(Element);
  Mask mask = {};
#pragma unroll
  for (int v = 0; v < LENGTH; v++) {
    const uint32_t ones = is_zero(x[v]) ? 0 : SIZE < 4 ? ~0u >> (32 - 8 * SIZE % 32) : ~0u;
    mask.words[v * SIZE / 4] |= ones << v * SIZE % 4 * 8;
    for (int w = 1; w < SIZE / 4; w++) mask.words[v * SIZE / 4 + w] = ones;
  }
  return mask;
}

template <class Run>
static __device__ __forceinline__ Run masked(const Run &run, const Mask &mask) {
  uint32_t words[4] = {};
  memcpy(words, &run, sizeof run);
#pragma unroll
  for (int w = 0; w < 4; w++) words[w] &= mask.words[w];
  Run result;
  memcpy(&result, words, sizeof result);
  return result;
}

#endif
