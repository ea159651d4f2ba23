/* device_memory: blocks of GPU and host memory that tests of kernels fill and compare. */
#ifndef DM_TESTS_DEVICE_MEMORY_H
#define DM_TESTS_DEVICE_MEMORY_H

#include "core/element.h"
#include "cuda_test.h"

enum { UNTOUCHED = 0x55 }; /* a byte that was never written */

/* BYTES of zeroed host memory, which the caller frees. */
static inline void *zeros(int64_t bytes) {
  void *memory = calloc((size_t)bytes + 1, 1);
  assert_non_null(memory);
  return memory;
}

/* BYTES of GPU memory, each set to BYTE; freed by cudaFree. */
static inline void *on_gpu(int64_t bytes, int byte) {
  void *device;
  cuda_ok(cudaMalloc(&device, (size_t)bytes + 1));
  cuda_ok(cudaMemset(device, byte, (size_t)bytes + 1));
  return device;
}

static inline void *uploaded(const void *host, int64_t bytes) {
  void *device = on_gpu(bytes, 0);
  cuda_ok(cudaMemcpy(device, host, (size_t)bytes, cudaMemcpyHostToDevice));
  return device;
}

static inline void *downloaded(const void *device, int64_t bytes) {
  void *host = zeros(bytes);
  cuda_ok(cudaMemcpy(host, device, (size_t)bytes, cudaMemcpyDeviceToHost));
  return host;
}

/* Reproducible random bits. */
static inline uint64_t bits_at(int64_t i) {
  return dm_mix((uint64_t)i * 0x9e3779b97f4a7c15u + 99);
}

#endif
