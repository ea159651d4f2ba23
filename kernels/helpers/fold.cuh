/* fold: the second stage of a sum whose parts were computed by different blocks.  Parts are added
 * in ascending order by one thread each: the same bits in every run, which atomic additions do not
 * give. */
#ifndef DM_KERNELS_FOLD_CUH
#define DM_KERNELS_FOLD_CUH

#include <stdint.h>

/* KERNEL is loaded now, where it would be at its first launch. */
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
