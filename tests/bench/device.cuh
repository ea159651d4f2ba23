/* device: common code of the kernels' benchmark programs. */
#ifndef DM_BENCH_DEVICE_CUH
#define DM_BENCH_DEVICE_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

/* Exits if CALL, of CUDA, cuBLAS, MPI or NCCL, fails. */
#define OK(call)                                                                                   \
  do {                                                                                             \
    const int error_ = (int)(call);                                                                \
    if (error_) {                                                                                  \
      fprintf(stderr, "FAILED %s:%d: %s: %d\n", __FILE__, __LINE__, #call, error_);                \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* COUNT elements in GPU memory, set to 0. */
template <class T> struct Device {
  T *p = nullptr;
  explicit Device(int64_t count) {
    OK(cudaMalloc(&p, std::max<int64_t>(count, 1) * sizeof(T)));
    OK(cudaMemset(p, 0, std::max<int64_t>(count, 1) * sizeof(T)));
  }
  ~Device() {
    cudaFree(p);
  }
  Device(const Device &) = delete;
};

template <class T> static std::vector<T> fetch(const T *from, int64_t count) {
  std::vector<T> v(count);
  OK(cudaMemcpy(v.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

static inline double median(std::vector<float> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : 0.5 * (v[v.size() / 2 - 1] + v[v.size() / 2]);
}

__device__ static double unit(uint64_t n) {
  uint64_t z = n * 0x9e3779b97f4a7c15ull + 1;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

/* Normal numbers times exp (normal / 2). */
template <class T> __global__ void generate(T *to, int64_t count, uint64_t seed) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += (int64_t)gridDim.x * blockDim.x) {
    const double r = sqrt(-2.0 * log(unit(4 * i + seed))), a = 2.0 * unit(4 * i + 1 + seed);
    const double s = sqrt(-2.0 * log(unit(4 * i + 2 + seed))), b = 2.0 * unit(4 * i + 3 + seed);
    to[i] = (T)(r * cospi(a) * exp(0.5 * s * cospi(b)));
  }
}

#endif
