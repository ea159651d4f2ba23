/* fold: the second stage of sums whose parts come from different blocks.  One thread adds the parts
 * of a sum in ascending order: the same bits in every run, unlike atomic additions. */
#ifndef DM_KERNELS_FOLD_CUH
#define DM_KERNELS_FOLD_CUH

#include <stdint.h>

/* Loads KERNEL now instead of at its first launch. */
template <class Kernel> static cudaError_t load_now(Kernel kernel) {
  cudaFuncAttributes unused;
  return cudaFuncGetAttributes(&unused, kernel);
}

/* to[i] += sum over p < parts of values[p * count + i]. */
template <class T> __global__ void fold(T *to, const T *values, int64_t count, int64_t parts) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  T sum = values[i];
#pragma unroll 8
  for (int64_t p = 1; p < parts; p++) sum += values[p * count + i];
  to[i] += sum;
}

template <class T>
static cudaError_t launch_fold(T *to, const T *values, int64_t count, int64_t parts,
                               cudaStream_t stream) {
  const int64_t blocks = (count + 127) / 128;
  fold<<<(unsigned)blocks, 128, 0, stream>>>(to, values, count, parts);
  return cudaGetLastError();
}

#endif
