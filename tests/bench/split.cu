/* Products of f32 from f16 (kernels/split) beside cublasSgemm on one H200, resident: 10 alternating
 * pairs of each size, and the error of both.
 *
 * From the root of the repository:
 *   nvcc -O3 -std=c++17 -fmad=false -gencode arch=compute_90a,code=sm_90a -I. -Isrc \
 *     tests/bench/split.cu kernels/split/split_*.cu kernels/helpers/repack.cu \
 *     kernels/helpers/transpose_tiled.cu -lcublas -o build/bench_split && build/bench_split [N ...]
 * Without arguments: 4096 8192 16384 (about 10 s).  docs/results/split.txt is what it wrote. */
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/split_kernels.h"
#include "tests/bench/device.cuh"

struct Product {
  int64_t n;
  Device<uint16_t> parts;
  Device<int32_t> exponents, few;
  Device<dm_split_line> lines;
  Device<dm_split_count> count;
  cudaEvent_t event[5];
  int processors;

  Product(int64_t n, int processors)
      : n(n), parts(4 * n * n), exponents(2 * n), few(2 * n), lines(n), count(1),
        processors(processors) {
    for (auto &e : event) OK(cudaEventCreate(&e));
  }
  ~Product() {
    for (auto &e : event) cudaEventDestroy(e);
  }
  dm_split_parts parts_of(int matrix) const {
    uint16_t *high = parts.p + 2 * matrix * n * n;
    return {high, high + n * n, n, n, n, exponents.p + matrix * n};
  }
  static dm_view view_of(float *base, int64_t n) {
    return {base, DM_F32, DM_DEVICE, n, n, n, 1};
  }
  /* Milliseconds: split A, split B, product, native lines; all. */
  void run(float *a, float *b, float *c, float *ms) {
    const dm_view va = view_of(a, n), vb = view_of(b, n), vc = view_of(c, n);
    const dm_split of_a = {parts_of(0), va, nullptr, count.p, 0};
    const dm_split of_b = {parts_of(1), vb, lines.p, count.p, 0};
    const dm_split_product product = {vc, of_a.to, of_b.to, false, processors, 0};
    const dm_split_native native = {
        vc, va, vb, of_a.to.exponents, of_b.to.exponents, few.p, few.p + n, count.p, 0};
    OK(cudaEventRecord(event[0]));
    OK(cudaMemsetAsync(count.p, 0, offsetof(dm_split_count, all)));
    OK(cudaMemsetAsync(lines.p, 0, n * sizeof(dm_split_line)));
    OK(dm_kernels_split_rows(&of_a));
    OK(cudaEventRecord(event[1]));
    OK(dm_kernels_split_columns(&of_b));
    OK(cudaEventRecord(event[2]));
    OK(dm_kernels_split_product(&product));
    OK(cudaEventRecord(event[3]));
    OK(dm_kernels_split_native(&native));
    OK(cudaEventRecord(event[4]));
    OK(cudaEventSynchronize(event[4]));
    for (int i = 0; i < 4; i++) OK(cudaEventElapsedTime(&ms[i], event[i], event[i + 1]));
    OK(cudaEventElapsedTime(&ms[4], event[0], event[4]));
  }
};

/* The largest |C - got| / (|A||B|) over 32 x 32 elements, in f64, which has 29 bits more. */
static double error_of(const float *a, const float *b, const float *c, int64_t n) {
  constexpr int SAMPLES = 32;
  std::vector<float> rows[SAMPLES], cols[SAMPLES];
  int64_t at[SAMPLES];
  for (int i = 0; i < SAMPLES; i++) {
    at[i] = (n / SAMPLES * i + 37 * i + 5) % n;
    rows[i] = fetch(a + at[i] * n, n);
    cols[i].resize(n);
    OK(cudaMemcpy2D(cols[i].data(), 4, b + at[i], n * 4, 4, n, cudaMemcpyDeviceToHost));
  }
  double worst = 0;
  for (int i = 0; i < SAMPLES; i++) {
    const auto row = fetch(c + at[i] * n, n);
    for (int j = 0; j < SAMPLES; j++) {
      double sum = 0, size = 0;
      for (int64_t h = 0; h < n; h++) {
        sum += (double)rows[i][h] * cols[j][h];
        size += fabs((double)rows[i][h] * cols[j][h]);
      }
      worst = std::max(worst, fabs(sum - row[at[j]]) / size);
    }
  }
  return worst;
}

static double median(std::vector<float> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : 0.5 * (v[v.size() / 2 - 1] + v[v.size() / 2]);
}

static void bench(int64_t n, int processors, cublasHandle_t blas) {
  Device<float> a(n * n), b(n * n), c(n * n), d(n * n);
  generate<<<4096, 256>>>(a.p, n * n, 1), generate<<<4096, 256>>>(b.p, n * n, 1ull << 40);
  Product product(n, processors);
  const float one = 1, zero = 0;
  std::vector<float> pass[5], native, ratio;
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  for (int i = -2; i < 10; i++) {
    float ms[5], other;
    product.run(a.p, b.p, c.p, ms);
    OK(cudaEventRecord(begin));
    OK(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b.p, n, a.p, n, &zero, d.p, n));
    OK(cudaEventRecord(end));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&other, begin, end));
    if (i < 0) continue; /* warm-up */
    for (int p = 0; p < 5; p++) pass[p].push_back(ms[p]);
    native.push_back(other), ratio.push_back(other / ms[4]);
  }
  const double flop = 2.0 * n * n * n, total = median(pass[4]), blas_ms = median(native);
  const auto lines = fetch(product.count.p, 1);
  printf("N %5ld | f32:f16 %8.3f ms %6.1f TFLOP/s | cuBLAS %8.3f ms %6.1f TFLOP/s | ratio %.3f "
         "(%.3f to %.3f) | error %.2g cuBLAS %.2g | native lines %llu\n",
         (long)n, total, flop / total * 1e-9, blas_ms, flop / blas_ms * 1e-9, median(ratio),
         *std::min_element(ratio.begin(), ratio.end()),
         *std::max_element(ratio.begin(), ratio.end()), error_of(a.p, b.p, c.p, n),
         error_of(a.p, b.p, d.p, n), lines[0].now);
  printf("    split A %.3f ms (%.2f TB/s) | split B %.3f ms (%.2f TB/s) | product %.3f ms (%.0f "
         "TFLOP/s of f16) | native %.3f ms\n",
         median(pass[0]), 8.0 * n * n / median(pass[0]) * 1e-9, median(pass[1]),
         12.0 * n * n / median(pass[1]) * 1e-9, median(pass[2]), 3 * flop / median(pass[2]) * 1e-9,
         median(pass[3]));
  fflush(stdout);
  OK(cudaEventDestroy(begin));
  OK(cudaEventDestroy(end));
}

int main(int argc, char **argv) {
  cudaDeviceProp properties;
  OK(cudaGetDeviceProperties(&properties, 0));
  printf("%s, %d multiprocessors\n", properties.name, properties.multiProcessorCount);
  cublasHandle_t blas;
  OK(cublasCreate(&blas));
  std::vector<int64_t> sizes;
  for (int i = 1; i < argc; i++) sizes.push_back(atoll(argv[i]) / 64 * 64);
  if (sizes.empty()) sizes = {4096, 8192, 16384};
  for (const int64_t n : sizes) bench(n, properties.multiProcessorCount, blas);
  cublasDestroy(blas);
  return 0;
}
